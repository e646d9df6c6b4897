// One question, opened: its mentions, its walk, its ranking, what became of each reference, the answer.

// other: the system next to this one, with what became of the same question there, where there is one.
function questionView(data, row, back, other = null) {
  const question = data.question(row);
  const beside = other?.at(question.id) ?? null;
  const k = data.head.summary?.k ?? 10;
  const wanted = new Map();
  for (const reference of question.references) for (const id of reference.entity_ids) wanted.set(id, reference);
  const view = el("article", { class: "question", "aria-labelledby": "query", tabindex: "-1" },
    el("button", { type: "button", class: "back quiet", onclick: back }, t("← all questions")),
    el("h2", { id: "query", class: "query" }, queryMarked(question, data)),
    el("p", { class: "facts" }, el("span", {}, name(question.id)), question.tags.map((tag) => el("span", { class: "tag-word" }, name(tag, 40)))),
    el("dl", { class: "scores" }, Object.entries(question.metrics).map(([measure, value]) => el("div", {}, el("dt", {}, measure), el("dd", {}, figure(value), beside && el("span", { class: "other" }, ` → ${figure(beside.metrics[measure])}`))))),
    beside && besideView(question, beside, other, k),
    asked(question),
    el("div", { class: "walk-place" }),
    data.isExternal ? null : linkedElsewhere(question),
    rankingTable(question, data, wanted, k, (id) => picture?.choose(id)),
    referenceTable(question, data),
    answerView(question.answer, data));
  let picture = null;
  // The picture is laid out for the width it gets, so it is drawn once the view stands in the page.
  const draw = () => {
    const frame = view.querySelector(".walk-place");
    picture = walkPicture(question, data, Math.max(300, Math.floor(frame.clientWidth) || 640));
    frame.replaceChildren(...(picture ? [el("h3", {}, t("The paths")), picture.element] : [el("p", { class: "nothing" }, question.ranked.length ? t("These results hold no paths, so there is no picture to draw.") : t("No entity in the question was recognised, so there is no path to show."))]));
  };
  return { view, draw };
}

// What came before the question, and the answer that the gold set gives.
function asked({ context, ground_truth: truth }) {
  const lines = (words, texts) => texts.length ? el("div", {}, el("dt", {}, words), texts.map((text) => el("dd", {}, el("bdi", {}, cut(text, 2000))))) : null;
  const known = [lines(t("earlier turns"), context ?? []), lines(t("ground truth"), [truth ?? []].flat())].filter(Boolean);
  return known.length ? el("dl", { class: "asked" }, known) : null;
}

// Two systems on one question: their first k side by side, and what became of each reference.
function besideView(question, beside, other, k) {
  const wanted = new Set(question.references.flatMap((reference) => reference.entity_ids));
  const list = (ranked) => el("ol", { class: "first" }, ranked.slice(0, k).map((entity) => el("li", { class: wanted.has(entity.id) ? "hit" : "" }, name(entity.name, 60), wanted.has(entity.id) && " ✓")));
  const verdicts = new Map(beside.references.map((reference) => [reference.name, reference]));
  const moved = question.references.map((reference) => ({ reference, now: verdicts.get(reference.name) })).filter(({ reference, now }) => now && (now.verdict !== reference.verdict || now.rank !== reference.rank));
  const outcome = ({ verdict, rank }) => [badge(verdict), rank ? el("span", { class: "small" }, ` ${t("rank {n}", { n: rank })}`) : null];
  return el("section", { class: "compared-with" }, el("h3", {}, t("Compared with {system}", { system: cut(other.name, 60) })),
    el("div", { class: "two" },
      el("div", {}, el("h4", {}, t("this result")), list(question.ranked)),
      el("div", {}, el("h4", {}, name(other.name, 60)), list(beside.ranked))),
    moved.length
      ? el("ul", { class: "moved" }, moved.map(({ reference, now }) => el("li", {}, name(reference.name, 60), ": ", outcome(reference), " → ", outcome(now))))
      : el("p", { class: "small" }, t("Every reference has the same outcome in both.")));
}

// The entities that were linked are marked; another program's retriever did not link them.
function queryMarked(question, data) {
  const query = question.query || question.id;
  const mentions = (data.isExternal ? [] : question.linked).filter((seed) => seed.start !== null && seed.end > seed.start).sort((a, b) => a.start - b.start);
  // Offsets count characters as Python does (code points); JavaScript counts UTF-16 units.
  const signs = Array.from(query);
  const parts = [];
  let at = 0;
  for (const seed of mentions) {
    if (seed.start < at) continue;
    parts.push(signs.slice(at, seed.start).join(""), el("mark", { title: t("linked to {name} {rule}", { name: cut(seed.name), rule: ruleWords(seed.rule) }) }, signs.slice(seed.start, seed.end).join("")));
    at = seed.end;
  }
  parts.push(signs.slice(at).join(""));
  return el("bdi", {}, parts.filter((part) => part !== ""));
}

function linkedElsewhere(question) {
  const byText = question.linked.filter((seed) => seed.rule === "text");
  const elsewhere = question.linked.filter((seed) => seed.start === null && seed.rule !== "text");
  const list = (words, seeds, about) => seeds.length > 0 && el("p", { class: "small" }, words, " ", seeds.map((seed, at) => [at ? ", " : "", name(seed.name), ` (${about(seed)})`]));
  return [
    byText.length === question.linked.length && el("p", { class: "nothing" }, t("No entity in the question was recognised by name.")),
    list(t("Linked from outside the question:"), elsewhere, (seed) => t(seed.rule)),
    list(t("Seeds by text:"), byText, (seed) => cut(seed.mention, 60)),
  ];
}

// "OTHER" is the type of what has none.
const typeOf = ({ type }) => (!type || type === "OTHER" ? "" : type);

function rankingTable(question, data, wanted, k, choose) {
  if (!question.ranked.length) return null;
  const costs = question.ranked.some((entity) => entity.cost);
  const hops = question.ranked.some((entity) => entity.hop >= 0 && entity.hop !== null);
  const scores = question.ranked.some((entity, at) => Math.abs(entity.score - 1 / (at + 1)) > 1e-9);  // 1 / rank stands where a retriever gives none
  const rows = question.ranked.map((entity, at) => {
    const hit = wanted.has(entity.id);
    const seed = hops && seedOf(entity, question.linked);
    return el("tr", { class: `${hit ? "hit" : ""} ${at === k ? "border" : ""}` },
      el("td", { class: "number" }, String(at + 1)),
      el("th", { scope: "row" },
        el("button", { type: "button", class: "link", onclick: () => choose(entity.id) }, name(entity.name)),
        hit && el("span", { class: "check" }, " ✓", el("span", { class: "hidden" }, " ", t("reference"))),
        el("span", { class: "small" }, cut(typeOf(data.entity(entity.id)), 40))),
      hops && el("td", { class: "number" }, entity.hop === null || entity.hop < 0 ? "–" : String(entity.hop)),
      scores && el("td", { class: "number" }, figure(entity.score)),
      costs && el("td", { class: "cost", "data-label": t("cost") }, entity.cost && [costFigure(entity.cost.total), el("span", { class: "small" }, costParts(entity.cost))]),
      hops && el("td", { class: "seed-of", "data-label": t("seed") }, seed && [name(seed.name, 40), el("span", { class: `small ${seed.rule === "text" ? "by-text" : ""}` }, ruleWords(seed.rule))]),
      hops && el("td", { class: "way" }, walkWords(entity.walk ?? [], data.nameOf)));
  });
  const absent = { hop: !hops, score: !scores, cost: !costs, seed: !hops, path: !hops };
  const head = ["rank", "entity", "hop", "score", "cost", "seed", "path"];
  const kinds = { entity: "", cost: "cost", seed: "seed-of", path: "way" };
  return el("section", {}, el("h3", {}, t("Ranking")),
    el("div", { class: "wide" }, el("table", { class: "ranking" }, el("thead", {}, el("tr", {}, head.filter((column) => !absent[column]).map((column) => el("th", { scope: "col", class: kinds[column] ?? "number" }, t(column))))), el("tbody", {}, rows))),
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
    el("ul", { class: "references" }, question.references.map((reference) =>
      el("li", {}, el("div", {}, el("strong", {}, name(reference.name)), reference.grade > 1 && el("span", { class: "small" }, t("grade {n}", { n: reference.grade }))),
        reference.verdict ? badge(reference.verdict) : el("span", { class: "small" }, rankShown(reference, question)), el("div", { class: "evidence" }, evidence(reference, question, data))))));
}

// Where nothing was diagnosed: what the ranking itself shows.
function rankShown(reference, question) {
  const at = question.ranked.findIndex((row) => reference.entity_ids.includes(row.id));
  return at >= 0 ? t("rank {n}", { n: at + 1 }) : t("not among those shown");
}

function evidence(reference, question, data) {
  const parts = [];
  const list = (words, names) => el("p", {}, `${words}: `, names.map((text, at) => [at ? ", " : "", name(text, 60)]));
  const isFar = reference.verdict === "beyond_hops", isListed = ["hit", "ranked_below_k"].includes(reference.verdict);
  const hops = reference.hop > 0 || (reference.hop === 0 && !isFar) ? plural(reference.hop, "hop") : "";
  const facts = [
    reference.rank && t("rank {n}", { n: reference.rank }), reference.rank && !isListed && t("found by text"),
    hops && isFar && t("needs {hops}", { hops }), hops && isListed && hops,
  ].filter(Boolean);
  if (facts.length) parts.push(el("p", {}, facts.join(", ")));
  if (reference.tried?.length) parts.push(list(t("looked for"), reference.tried));
  if (reference.path?.length) parts.push(el("p", { class: "way" }, walkWords(reference.path, data.nameOf)));
  if (reference.nearest?.length) parts.push(list(t("nearest names"), reference.nearest));
  if (reference.above?.length) parts.push(list(t("ranked above it"), reference.above.slice(0, 5).map(data.nameOf)));
  if (typeof reference.matched === "string" && reference.matched !== reference.name) parts.push(list(t("matched by"), [reference.matched]));
  if (reference.resolved_by && !["name", "id"].includes(reference.resolved_by)) parts.push(el("p", { class: "small" }, t("resolved by {level}", { level: t(reference.resolved_by) })));
  if (reference.ambiguous) parts.push(el("p", { class: "small" }, t("ambiguous name: {n} entities have it; the first in the ranking counts", { n: count(reference.entity_ids.length) })));
  if (reference.shares_entity) parts.push(el("p", { class: "small" }, t("another reference is the same entity; they count once")));
  return parts;
}

function answerView(answer, data) {
  if (!answer) return null;
  const scores = Object.entries(answer.scores ?? {}).filter(([, value]) => value !== null);
  const spent = answer.tokens?.total_tokens;
  return el("section", {}, el("h3", {}, t("Answer")),
    answer.error && el("p", { class: "lost" }, typeof answer.error === "string" ? cut(answer.error, 500) : cut(JSON.stringify(answer.error), 500)),
    answer.text !== null && answer.text !== undefined && el("blockquote", {}, el("bdi", {}, answer.text)),
    answer.citations?.length > 0 && el("p", { class: "small" }, t("cites"), " ", answer.citations.map((citation, at) => [at ? ", " : "", name(citationName(citation, data), 60)])),
    scores.length > 0 && el("dl", { class: "scores" }, scores.map(([key, value]) => el("div", {}, el("dt", {}, cut(key, 40)), el("dd", {}, typeof value === "number" ? figure(value) : cut(typeof value === "string" ? value : JSON.stringify(value), 200))))),
    (spent || answer.cost_usd) && el("p", { class: "small" }, `${spent ? plural(spent, "token") : ""}${answer.estimated ? ` ${t("(estimated)")}` : ""}, ${dollars(answer.cost_usd)}`));
}

function citationName(citation, data) {
  if (citation !== null && typeof citation === "object") return citation.name ?? (citation.id ? data.nameOf(String(citation.id)) : JSON.stringify(citation));
  return data.entityRow.has(citation) ? data.nameOf(citation) : String(citation);
}
