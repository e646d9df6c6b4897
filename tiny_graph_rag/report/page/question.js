// One question, opened: its mentions, its walk, its ranking, what became of each reference, the answer.

// other: the system next to this one, with what became of the same question there, where there is one.
function questionView(data, row, back, other = null) {
  const question = data.question(row);
  const beside = other?.at(question.id) ?? null;
  const k = data.head.summary?.k ?? 10;
  const wanted = new Map();
  for (const each of question.references) for (const id of each.entity_ids) wanted.set(id, each);
  const view = el("article", { class: "question", "aria-labelledby": "query", tabindex: "-1" },
    el("button", { type: "button", class: "back quiet", onclick: back }, t("← all questions")),
    el("h2", { id: "query", class: "query" }, queryMarked(question, data)),
    el("p", { class: "facts" }, el("span", {}, name(question.id)), question.tags.map((tag) => el("span", { class: "tag-word" }, name(tag, 40)))),
    el("dl", { class: "scores" }, Object.entries(question.metrics).map(([measure, value]) => el("div", {}, el("dt", {}, measure), el("dd", {}, figure(value), beside && el("span", { class: "other" }, ` → ${figure(beside.metrics[measure])}`))))),
    beside && besideView(question, beside, other, k),
    asked(question),
    el("div", { class: "walk-place" }),
    question.walks_cut && el("p", { class: "small" }, t("The search stopped after {hops} hops: the next hop would exceed {limit} ({most}).", { hops: count(question.walks_cut.hops), limit: `running.${question.walks_cut.limit}`, most: count(question.walks_cut.most) })),
    data.isExternal ? null : linkedElsewhere(question),
    rankingTable(question, data, wanted, k, (id) => picture?.choose(id)),
    referenceTable(question, data),
    answerView(question.answer, data));
  let picture = null;
  // The picture is laid out for the width it gets, so it is drawn once the view stands in the page.
  const draw = () => {
    const place = view.querySelector(".walk-place");
    picture = walkPicture(question, data, Math.max(300, Math.floor(place.clientWidth) || 640));
    place.replaceChildren(...(picture ? [el("h3", {}, t("The paths")), picture.element] : [el("p", { class: "nothing" }, question.ranked.length ? t("These results hold no paths, so there is no picture to draw.") : t("No entity in the question was recognised, so there is no path to show."))]));
  };
  return { view, draw };
}

// What came before the question, and the answer that the gold set gives.
function asked({ context, ground_truth: truth }) {
  const lines = (words, texts) => texts.length ? el("div", {}, el("dt", {}, words), texts.map((each) => el("dd", {}, el("bdi", {}, cut(each, 2000))))) : null;
  const known = [lines(t("earlier turns"), context ?? []), lines(t("ground truth"), [truth ?? []].flat())].filter(Boolean);
  return known.length ? el("dl", { class: "asked" }, known) : null;
}

// Two systems on one question: their first k side by side, and what became of each reference.
function besideView(question, beside, other, k) {
  const wanted = new Set(question.references.flatMap((each) => each.entity_ids));
  const list = (ranked) => el("ol", { class: "first" }, ranked.slice(0, k).map((each) => el("li", { class: wanted.has(each.id) ? "hit" : "" }, name(each.name, 60), wanted.has(each.id) && " ✓")));
  const verdicts = new Map(beside.references.map((each) => [each.name, each]));
  const moved = question.references.map((each) => ({ each, now: verdicts.get(each.name) })).filter(({ each, now }) => now && (now.verdict !== each.verdict || now.rank !== each.rank));
  const place = ({ verdict, rank }) => [badge(verdict), rank ? el("span", { class: "small" }, ` ${t("rank {n}", { n: rank })}`) : null];
  return el("section", { class: "compared-with" }, el("h3", {}, t("Compared with {system}", { system: cut(other.name, 60) })),
    el("div", { class: "two" },
      el("div", {}, el("h4", {}, t("this result")), list(question.ranked)),
      el("div", {}, el("h4", {}, name(other.name, 60)), list(beside.ranked))),
    moved.length
      ? el("ul", { class: "moved" }, moved.map(({ each, now }) => el("li", {}, name(each.name, 60), ": ", place(each), " → ", place(now))))
      : el("p", { class: "small" }, t("Every reference has the same outcome in both.")));
}

// The entities that were linked are marked; another program's retriever did not link them.
function queryMarked(question, data) {
  const query = question.query || question.id;
  const places = (data.isExternal ? [] : question.linked).filter((each) => each.start !== null && each.end > each.start).sort((a, b) => a.start - b.start);
  // Offsets count characters as Python does (code points); JavaScript counts UTF-16 units.
  const signs = Array.from(query);
  const parts = [];
  let at = 0;
  for (const each of places) {
    if (each.start < at) continue;
    parts.push(signs.slice(at, each.start).join(""), el("mark", { title: t("linked to {name} {rule}", { name: cut(each.name), rule: ruleWords(each.rule) }) }, signs.slice(each.start, each.end).join("")));
    at = each.end;
  }
  parts.push(signs.slice(at).join(""));
  return el("bdi", {}, parts.filter((each) => each !== ""));
}

function linkedElsewhere(question) {
  const byText = question.linked.filter((each) => each.rule === "text");
  const elsewhere = question.linked.filter((each) => each.start === null && each.rule !== "text");
  const list = (words, seeds, about) => seeds.length > 0 && el("p", { class: "small" }, words, " ", seeds.map((each, at) => [at ? ", " : "", name(each.name), ` (${about(each)})`]));
  return [
    byText.length === question.linked.length && el("p", { class: "nothing" }, t("No entity in the question was recognised by name.")),
    list(t("Linked from outside the question:"), elsewhere, (each) => t(each.rule)),
    list(t("Seeds by text:"), byText, (each) => cut(each.mention, 60)),
  ];
}

// "OTHER" is the type of what has none.
const typeOf = ({ type }) => (!type || type === "OTHER" ? "" : type);

function rankingTable(question, data, wanted, k, choose) {
  if (!question.ranked.length) return null;
  const costs = question.ranked.some((each) => each.cost);
  const hops = question.ranked.some((each) => each.hop >= 0 && each.hop !== null);
  const scores = question.ranked.some((each, at) => Math.abs(each.score - 1 / (at + 1)) > 1e-9);  // 1 / rank stands where a retriever gives none
  const rows = question.ranked.map((each, at) => {
    const hit = wanted.has(each.id);
    const seed = hops && seedOf(each, question.linked);
    return el("tr", { class: `${hit ? "hit" : ""} ${at === k ? "border" : ""}` },
      el("td", { class: "number" }, String(at + 1)),
      el("th", { scope: "row" },
        el("button", { type: "button", class: "link", onclick: () => choose(each.id) }, name(each.name)),
        hit && el("span", { class: "check" }, " ✓", el("span", { class: "hidden" }, " ", t("reference"))),
        el("span", { class: "small" }, cut(typeOf(data.entity(each.id)), 40))),
      hops && el("td", { class: "number" }, each.hop === null || each.hop < 0 ? "–" : String(each.hop)),
      scores && el("td", { class: "number" }, figure(each.score)),
      costs && el("td", { class: "cost" }, each.cost && [costFigure(each.cost.total), el("span", { class: "small" }, costParts(each.cost))]),
      hops && el("td", { class: "seed-of" }, seed && [name(seed.name, 40), el("span", { class: `small ${seed.rule === "text" ? "by-text" : ""}` }, ruleWords(seed.rule))]),
      hops && el("td", { class: "way" }, walkWords(each.walk ?? [], data.nameOf)));
  });
  const absent = { hop: !hops, score: !scores, cost: !costs, seed: !hops, path: !hops };
  const head = ["rank", "entity", "hop", "score", "cost", "seed", "path"];
  const kinds = { entity: "", cost: "cost", seed: "seed-of", path: "way" };
  return el("section", {}, el("h3", {}, t("Ranking")),
    el("table", { class: "ranking" }, el("thead", {}, el("tr", {}, head.filter((each) => !absent[each]).map((each) => el("th", { scope: "col", class: kinds[each] ?? "number" }, t(each))))), el("tbody", {}, rows)),
    costs && el("p", { class: "small" }, t(COST_LEGEND)),
    question.ranked.length > k && el("p", { class: "small" }, t("The line marks the cutoff (k = {k}).", { k })));
}

const COST_LEGEND = "cost = link + path + text + neighbour + PageRank; score = 1 / (1 + cost). link: the path starts at a seed found by text; path: its relations and the question's words that they don't explain; text, neighbour, PageRank: how far the entity's text score, the best text score of a neighbour and its personalised PageRank are below the best";

// The parts of a cost that are not 0, as they add up.
function costParts(cost) {
  const parts = Object.entries(COSTS).filter(([part]) => cost[part] > 0).map(([part, words]) => `${t(words)} ${costFigure(cost[part])}`);
  return parts.length > 0 ? parts.join(" + ") : null;
}

function referenceTable(question, data) {
  if (!question.references.length) return el("p", { class: "nothing" }, t("No reference: nothing should be retrieved for this question."));
  return el("section", {}, el("h3", {}, t("References")),
    el("ul", { class: "references" }, question.references.map((each) =>
      el("li", {}, el("div", {}, el("strong", {}, name(each.name)), each.grade > 1 && el("span", { class: "small" }, t("grade {n}", { n: each.grade }))),
        each.verdict ? badge(each.verdict) : el("span", { class: "small" }, rankShown(each, question)), el("div", { class: "evidence" }, evidence(each, question, data))))));
}

// Where nothing was diagnosed: what the ranking itself shows.
function rankShown(each, question) {
  const place = question.ranked.findIndex((row) => each.entity_ids.includes(row.id));
  return place >= 0 ? t("rank {n}", { n: place + 1 }) : t("not among those shown");
}

function evidence(each, question, data) {
  const parts = [];
  const list = (words, names) => el("p", {}, `${words}: `, names.map((one, at) => [at ? ", " : "", name(one, 60)]));
  if (each.rank) parts.push(el("p", {}, `${t("rank {n}", { n: each.rank })}${each.hop >= 0 && each.hop !== null && each.hop !== undefined ? `, ${plural(each.hop, "hop")}` : ""}`));
  else if (each.verdict === "beyond_hops" && each.hop > 0) parts.push(el("p", {}, t("needs {hops}", { hops: plural(each.hop, "hop") })));
  else if (each.verdict === "unreachable") parts.push(el("p", {}, t("no path from any seed")));
  else if (each.verdict === "no_seed") parts.push(el("p", {}, t("question linked to no entity")));
  if (each.tried?.length) parts.push(list(t("looked for"), each.tried));
  if (each.path?.length) parts.push(el("p", { class: "way" }, walkWords(each.path, data.nameOf)));
  if (each.nearest?.length) parts.push(list(t("nearest names"), each.nearest));
  if (each.above?.length) parts.push(list(t("ranked above it"), each.above.slice(0, 5).map(data.nameOf)));
  if (typeof each.matched === "string" && each.matched !== each.name) parts.push(list(t("matched by"), [each.matched]));
  if (each.resolved_by && !["name", "id"].includes(each.resolved_by)) parts.push(el("p", { class: "small" }, t("resolved by {level}", { level: t(each.resolved_by) })));
  if (each.ambiguous) parts.push(el("p", { class: "small" }, t("ambiguous name: {n} entities have it; the first in the ranking counts", { n: count(each.entity_ids.length) })));
  if (each.shares_entity) parts.push(el("p", { class: "small" }, t("another reference is the same entity; they count once")));
  return parts;
}

function answerView(answer, data) {
  if (!answer) return null;
  const scores = Object.entries(answer.scores ?? {}).filter(([, value]) => value !== null);
  const spent = answer.tokens?.total_tokens;
  return el("section", {}, el("h3", {}, t("Answer")),
    answer.error && el("p", { class: "lost" }, typeof answer.error === "string" ? cut(answer.error, 500) : cut(JSON.stringify(answer.error), 500)),
    answer.text !== null && answer.text !== undefined && el("blockquote", {}, el("bdi", {}, answer.text)),
    answer.citations?.length > 0 && el("p", { class: "small" }, t("cites"), " ", answer.citations.map((each, at) => [at ? ", " : "", name(citationName(each, data), 60)])),
    scores.length > 0 && el("dl", { class: "scores" }, scores.map(([key, value]) => el("div", {}, el("dt", {}, cut(key, 40)), el("dd", {}, typeof value === "number" ? figure(value) : cut(typeof value === "string" ? value : JSON.stringify(value), 200))))),
    (spent || answer.cost_usd) && el("p", { class: "small" }, `${spent ? plural(spent, "token") : ""}${answer.estimated ? ` ${t("(estimated)")}` : ""}, ${dollars(answer.cost_usd)}`));
}

function citationName(each, data) {
  if (each !== null && typeof each === "object") return each.name ?? (each.id ? data.nameOf(String(each.id)) : JSON.stringify(each));
  return data.entityRow.has(each) ? data.nameOf(each) : String(each);
}
