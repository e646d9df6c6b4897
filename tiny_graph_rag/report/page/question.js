// One question, opened: its mentions, its walk, its ranking, what became of each reference, the answer.

function questionView(data, row, back) {
  const question = data.question(row);
  const k = data.head.summary?.k ?? 10;
  const wanted = new Map();
  for (const each of question.references) for (const id of each.entity_ids) wanted.set(id, each);
  const view = el("article", { class: "question", "aria-labelledby": "query", tabindex: "-1" },
    el("button", { type: "button", class: "back quiet", onclick: back }, "← all questions"),
    el("h2", { id: "query", class: "query" }, queryMarked(question)),
    el("p", { class: "facts" }, el("span", {}, name(question.id)), question.tags.map((tag) => el("span", { class: "tag-word" }, name(tag, 40)))),
    el("dl", { class: "scores" }, Object.entries(question.metrics).map(([measure, value]) => el("div", {}, el("dt", {}, measure), el("dd", {}, figure(value))))),
    el("div", { class: "walk-place" }),
    linkedElsewhere(question, data.head.kind === "score"),
    rankingTable(question, data, wanted, k, (id) => picture?.choose(id)),
    referenceTable(question, data),
    answerView(question.answer, data));
  let picture = null;
  // The picture is laid out for the width it gets, so it is drawn once the view stands in the page.
  const draw = () => {
    const place = view.querySelector(".walk-place");
    picture = walkPicture(question, data, Math.max(300, Math.floor(place.clientWidth) || 640));
    place.replaceChildren(...(picture ? [el("h3", {}, "The walk"), picture.element] : [el("p", { class: "nothing" }, question.ranked.length ? "This run came without walks: there is no picture to draw." : "Nothing was linked or retrieved: there is no walk to draw.")]));
  };
  return { view, draw };
}

function queryMarked(question) {
  const query = question.query || question.id;
  const places = question.linked.filter((each) => each.start !== null && each.end > each.start).sort((a, b) => a.start - b.start);
  // Offsets count characters as Python does (code points); JavaScript counts UTF-16 units.
  const signs = Array.from(query);
  const parts = [];
  let at = 0;
  for (const each of places) {
    if (each.start < at) continue;
    parts.push(signs.slice(at, each.start).join(""), el("mark", { title: `linked to ${cut(each.name)} by ${each.rule}` }, signs.slice(each.start, each.end).join("")));
    at = each.end;
  }
  parts.push(signs.slice(at).join(""));
  return el("bdi", {}, parts.filter((each) => each !== ""));
}

function linkedElsewhere(question, walkless) {
  if (walkless) return null;
  const others = question.linked.filter((each) => each.start === null);
  if (question.linked.length === 0) return el("p", { class: "nothing" }, "No entity of the graph was found in the question.");
  if (!others.length) return null;
  return el("p", { class: "small" }, "Linked from outside the question: ", others.map((each, at) => [at ? ", " : "", name(each.name), ` (${each.rule})`]));
}

function rankingTable(question, data, wanted, k, choose) {
  if (!question.ranked.length) return null;
  const rows = question.ranked.map((each, at) => {
    const hit = wanted.has(each.id);
    return el("tr", { class: `${hit ? "hit" : ""} ${at === k ? "border" : ""}` },
      el("td", { class: "number" }, String(at + 1)),
      el("th", { scope: "row" },
        el("button", { type: "button", class: "link", onclick: () => choose(each.id) }, name(each.name)),
        hit && el("span", { class: "check" }, " ✓", el("span", { class: "hidden" }, " reference")),
        el("span", { class: "small" }, cut(data.entity(each.id).type ?? "", 40))),
      el("td", { class: "number" }, each.hop === null || each.hop < 0 ? "–" : String(each.hop)),
      el("td", { class: "number" }, figure(each.score)),
      el("td", { class: "way" }, walkWords(each.walk ?? [], data.nameOf)));
  });
  const head = ["rank", "entity", "hop", "score", "walk"];
  return el("section", {}, el("h3", {}, "Ranking"),
    el("table", { class: "ranking" }, el("thead", {}, el("tr", {}, head.map((each) => el("th", { scope: "col", class: ["entity", "walk"].includes(each) ? (each === "walk" ? "way" : "") : "number" }, each)))), el("tbody", {}, rows)),
    question.ranked.length > k && el("p", { class: "small" }, `The line stands below rank ${k}, where the measures cut.`));
}

function referenceTable(question, data) {
  if (!question.references.length) return el("p", { class: "nothing" }, "No reference: the gold set says that nothing should be retrieved.");
  return el("section", {}, el("h3", {}, "References"),
    el("ul", { class: "references" }, question.references.map((each) =>
      el("li", {}, el("div", {}, el("strong", {}, name(each.name)), each.grade > 1 && el("span", { class: "small" }, `grade ${each.grade}`)),
        each.verdict ? badge(each.verdict) : el("span", { class: "small" }, rankShown(each, question)), el("div", { class: "evidence" }, evidence(each, question, data))))));
}

// Where nothing was diagnosed: what the ranking itself shows.
function rankShown(each, question) {
  const place = question.ranked.findIndex((row) => each.entity_ids.includes(row.id));
  return place >= 0 ? `rank ${place + 1}` : "not among those shown";
}

function evidence(each, question, data) {
  const parts = [];
  const list = (words, names) => el("p", {}, `${words}: `, names.map((one, at) => [at ? ", " : "", name(one, 60)]));
  if (each.rank) parts.push(el("p", {}, `rank ${each.rank}${each.hop >= 0 && each.hop !== null && each.hop !== undefined ? `, ${plural(each.hop, "hop")}` : ""}`));
  else if (each.verdict === "beyond_hops" && each.hop > 0) parts.push(el("p", {}, `needs ${plural(each.hop, "hop")}`));
  else if (each.verdict === "unreachable") parts.push(el("p", {}, "no walk leads to it from the seeds"));
  else if (each.verdict === "no_seed") parts.push(el("p", {}, "the question linked to no entity to start from"));
  if (each.tried?.length) parts.push(list("looked for", each.tried));
  if (each.path?.length) parts.push(el("p", { class: "way" }, walkWords(each.path, data.nameOf)));
  if (each.nearest?.length) parts.push(list("nearest names", each.nearest));
  if (each.above?.length) parts.push(list("above it", each.above.slice(0, 5).map(data.nameOf)));
  if (typeof each.matched === "string" && each.matched !== each.name) parts.push(list("matched by", [each.matched]));
  if (each.resolved_by && !["name", "id"].includes(each.resolved_by)) parts.push(el("p", { class: "small" }, `resolved by ${each.resolved_by}`));
  if (each.ambiguous) parts.push(el("p", { class: "small" }, `${each.entity_ids.length} entities bear this name; the first in the ranking counts`));
  if (each.shares_entity) parts.push(el("p", { class: "small" }, "another reference means the same entity; they count once"));
  return parts;
}

function answerView(answer, data) {
  if (!answer) return null;
  const scores = Object.entries(answer.scores ?? {}).filter(([, value]) => value !== null);
  const spent = answer.tokens?.total_tokens;
  return el("section", {}, el("h3", {}, "Answer"),
    answer.error && el("p", { class: "lost" }, typeof answer.error === "string" ? cut(answer.error, 500) : cut(JSON.stringify(answer.error), 500)),
    answer.text !== null && answer.text !== undefined && el("blockquote", {}, el("bdi", {}, answer.text)),
    answer.citations?.length > 0 && el("p", { class: "small" }, "cites ", answer.citations.map((each, at) => [at ? ", " : "", name(citationName(each, data), 60)])),
    scores.length > 0 && el("dl", { class: "scores" }, scores.map(([key, value]) => el("div", {}, el("dt", {}, cut(key, 40)), el("dd", {}, typeof value === "number" ? figure(value) : cut(typeof value === "string" ? value : JSON.stringify(value), 200))))),
    (spent || answer.cost_usd) && el("p", { class: "small" }, `${spent ? plural(spent, "token") : ""}${answer.estimated ? " (estimated)" : ""}, ${dollars(answer.cost_usd)}`));
}

function citationName(each, data) {
  if (each !== null && typeof each === "object") return each.name ?? (each.id ? data.nameOf(String(each.id)) : JSON.stringify(each));
  return data.entityRow.has(each) ? data.nameOf(each) : String(each);
}
