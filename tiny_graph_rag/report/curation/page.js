// The annotation page. Text only ever becomes text; a decision stays in this window's queue until the server
// has it on disk, and a queue that a closed window left is sent by the next one.
"use strict";

const token = new URLSearchParams(location.search).get("token") ?? "";
const $ = (id) => document.getElementById(id);
const POLL = 2000;
const GRADES = [2, 1, 0];

const now = { meta: null, questions: [], id: null, view: null, at: 0, last: 0, by: "", editing: null, matches: [], picked: 0, relations: new Map(), searched: new Set(), askedOf: new Set() };
let queue = [];
let sending = false, sent = Promise.resolve(); // sent ends when the queue is empty, or nobody takes it

function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}
const name = (text) => el("bdi", {}, text);

// Words of the page in its reader's language: English as it stands here, others from the server.
let words = {};
const t = (text, values = {}) => (words[text] ?? text).replace(/\{(\w+)\}/g, (_, key) => values[key]);
const NO_ANSWER = "the server doesn't respond";
const failed = (error) => t(error.status ? error.message : NO_ANSWER);
function translate() {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.data.trim();
    if (words[text]) texts.currentNode.data = texts.currentNode.data.replace(text, () => words[text]);
  }
  for (const element of document.querySelectorAll("[aria-label]")) element.setAttribute("aria-label", t(element.getAttribute("aria-label")));
}

async function ask(path, body) {
  const reply = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "X-Token": token, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
  });
  const answer = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(answer.error ?? reply.statusText), { status: reply.status });
  return answer;
}

const banners = new Map();
function banner(kind, text) {
  if (text) banners.set(kind, text); else banners.delete(kind);
  $("banner").textContent = [...banners.values()].join(" · ");
  $("banner").hidden = !banners.size;
}
const say = (text) => { $("saved").textContent = text; };

// Decisions: into the queue, onto the screen, to the server, in this order.

const storage = () => `curate:${now.meta.draft}`;
function keep() {
  try { localStorage.setItem(storage(), JSON.stringify(queue)); } catch { /* a window without storage keeps them in memory */ }
}
function decide(event) {
  queue.push({ by: now.by, question: now.id, seen: now.at, key: crypto.randomUUID(), ...event });
  keep();
  flush();
}
function flush() {
  if (!sending) { sending = true; sent = send(); }
  return sent;
}
async function send() {
  while (queue.length) {
    const event = queue[0];
    try {
      const { taken, view } = await ask("/api/event", event);
      queue.shift();
      keep();
      banner("server");
      if (event.question === now.id) {
        now.view = { ...now.view, ...view };
        now.at = Math.max(now.at, taken.n);
        markQueued();
        if (!queue.some((event) => event.question === now.id)) drawQuestion();
      }
      noteDone(event.question, view);
      say(t("saved, decision {n}", { n: taken.n }));
    } catch (error) {
      if (error.status === undefined || error.status === 403 || error.status >= 500) {
        const why = error.status === 403 ? t("the server was restarted: open its new address, nothing is lost") : failed(error);
        const waiting = queue.length === 1 ? t("1 decision isn't saved yet") : t("{n} decisions aren't saved yet", { n: queue.length });
        banner("server", `${waiting}: ${why}`);
        setTimeout(flush, POLL);
        break;
      }
      queue.shift();
      keep();
      const mine = event.query ?? event.note ?? (event.tags ?? []).join(", ");
      banner("refused", error.status === 409 ? `${failed(error)}; ${t("your text: “{text}”", { text: mine })}` : failed(error));
      if (event.question === now.id && opening === now.id) await load(now.id);
    }
  }
  sending = false;
}
function noteDone(id, view) {
  const row = now.questions.find((question) => question.id === id);
  if (!row) return;
  row.query = view.query;
  row.tags = view.tags;
  row.done = view.done;
  row.judged = Object.fromEntries(Object.entries(view.grades).map(([by, grades]) => [by, Object.keys(grades).length]));
  drawList();
}

// Which questions.

const isDone = (row) => Object.hasOwn(row.done, now.by);
function listed() {
  const filter = $("filter").value, tag = $("tag").value;
  const rows = now.questions.filter((row) => (!tag || row.tags.includes(tag)) && (
    filter === "all" || (filter === "open" && !isDone(row)) || (filter === "done" && isDone(row)) ||
    (filter === "differs" && row.differs && isDone(row)) || (filter === "first" && row.first !== null) || (filter === "empty" && row.done[now.by] === true) || row.id === now.id));
  return filter === "first" ? rows.sort((one, other) => (one.first ?? 1e9) - (other.first ?? 1e9)) : rows;
}
function drawList() {
  const done = now.questions.filter(isDone).length;
  $("progress").max = now.questions.length;
  $("progress").value = done;
  $("progress-text").textContent = t("{done} of {n} done", { done, n: now.questions.length });
  $("list").replaceChildren(...listed().map((row) => el("li", {}, el("button", {
    type: "button", "aria-current": String(row.id === now.id), onclick: () => open(row.id),
  }, name(row.query), el("span", { class: "state" }, [
    isDone(row) ? t("done") : row.judged[now.by] ? t("{n} judged", { n: row.judged[now.by] }) : "",
    row.differs && isDone(row) ? t("annotators differ") : "", row.like.length ? t("like {ids}", { ids: row.like.join(", ") }) : "", row.seedless ? t("names no entity") : "",
  ].filter(Boolean).join(" · "))))));
  $("list").querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
}
function drawTags() {
  const known = [...new Set(now.questions.flatMap((row) => row.tags))].sort();
  const chosen = $("tag").value;
  $("tag").replaceChildren(el("option", { value: "" }, t("any")), ...known.map((tag) => el("option", { value: tag }, tag)));
  $("tag").value = known.includes(chosen) ? chosen : "";
}
function step(by) {
  const rows = listed();
  const at = rows.findIndex((row) => row.id === opening);
  const next = rows[at + by];
  if (next) open(next.id); else say(by > 0 ? t("that was the last one here") : t("that was the first one here"));
}

// One question. Until the server has sent it, the one on the screen is the one that keys judge.

let opening = null; // the id asked for last; the question on the screen again when that fails
async function open(id) {
  cancel();
  banner("refused");
  banner("empty");
  await load(id);
  focusCandidate();
}
async function load(id) {
  opening = id;
  let view;
  try {
    view = await ask(`/api/question?id=${encodeURIComponent(id)}`);
  } catch (error) {
    if (id === opening) { opening = now.id; banner("server", failed(error)); }
    return;
  }
  if (id !== opening) return;
  if (id !== now.id) now.current = 0;
  now.id = id;
  now.view = view;
  now.at = now.view.at;
  markQueued();
  drawQuestion();
  drawList();
}
function mark({ by = now.by, entity, grade }) {
  const grades = (now.view.grades[by] ??= {});
  if (grade === null) delete grades[entity]; else grades[entity] = grade;
}
// A view from the server holds no decision that is still on its way there.
function markQueued() {
  for (const event of queue.filter((event) => event.question === now.id && event.what === "judge")) mark(event);
}
function drawQuestion() {
  const view = now.view;
  $("question").hidden = false;
  $("nothing").hidden = true;
  $("meta").textContent = [view.id, view.first ? t("judge first: {n}", { n: view.first }) : "", view.like.length ? t("looks like {ids}", { ids: view.like.join(", ") }) : "",
    view.seeds.length ? t("names {names}", { names: view.seeds.join(", ") }) : view.seedless ? t("names no entity of the graph") : ""].filter(Boolean).join(" · ");
  $("context").replaceChildren(...view.context.map((turn) => el("li", {}, turn)));
  $("query").replaceChildren(name(view.query));
  $("tags").textContent = view.tags.length ? `${t("tags")}: ${view.tags.join(", ")}` : "";
  $("note").textContent = view.note ? `${t("note")}: ${view.note}` : "";
  $("sources").replaceChildren(...sources(t("answer"), view.answers), ...sources(t("evidence"), view.evidence));
  $("candidates").replaceChildren(...view.candidates.map(candidate));
}
function sources(title, texts) {
  return texts.length ? [el("dt", { class: "soft" }, title), ...texts.map((text) => el("dd", {}, name(text)))] : [];
}
function named(mention) {
  return el("div", {}, `${t(mention.in)}: `, mention.before, el("mark", {}, mention.words), mention.after);
}
function candidate(entity, at) {
  const grades = now.view.grades, mine = grades[now.by]?.[entity.id] ?? null;
  // Judged without seeing another's grades: they show once one's own question is done.
  const others = !Object.hasOwn(now.view.done, now.by) ? [] : Object.entries(grades).filter(([by, row]) => by !== now.by && Object.hasOwn(row, entity.id)).map(([by, row]) => `${by}: ${row[entity.id]}`);
  const given = now.view.given[entity.name];
  const ranks = Object.entries(entity.by ?? {}).map(([by, rank]) => `${by} ${rank}`).join(", ");
  return el("li", {
    id: `candidate-${at}`, tabindex: "-1", "aria-current": String(at === now.current), onclick: () => { now.current = at; current(); },
  },
  el("div", {}, el("span", { class: "name" }, name(entity.name)), " ", el("span", { class: "soft" }, entity.type)),
  el("div", { class: "grades", role: "group", "aria-label": t("grade of {name}", { name: entity.name }) }, GRADES.map((grade) => el("button", {
    type: "button", "data-grade": grade, "aria-pressed": String(mine === grade),
    onclick: (event) => { event.stopPropagation(); now.current = at; judge(grade); },
  }, String(grade)))),
  el("div", { class: "why" }, entity.description ?? ""),
  el("div", { class: "why" },
    entity.walk?.length ? el("div", {}, walk(entity.walk)) : null,
    ...(entity.named ?? []).map(named),
    entity.words?.length ? el("div", {}, `${t("words")}: `, el("b", {}, entity.words.join(", "))) : null,
    entity.aliases?.length ? el("div", {}, `${t("also")}: ${entity.aliases.join(", ")}`) : null,
    ranks ? el("div", {}, t("ranked by {ranks}", { ranks })) : null,
    given !== undefined ? el("div", {}, t("already judged: {grade}", { grade: given })) : null,
    others.length ? el("div", { class: "others" }, t("judged by {names}", { names: others.join(", ") })) : null,
    now.relations.has(entity.id) ? relationList(now.relations.get(entity.id)) : null));
}
function relationList({ relations, left }) {
  if (!relations.length) return el("p", { class: "soft" }, t("This entity has no relations in the graph."));
  return el("ul", { class: "relations" }, relations.map((relation) => el("li", {}, walk([relation]), relation.description ? el("span", { class: "soft" }, ` ${relation.description}`) : null)),
    left ? el("li", { class: "soft" }, t("… and {n} more", { n: left })) : null);
}
async function relations() {
  const entity = now.view.candidates[now.current];
  if (!entity) return;
  if (!now.relations.delete(entity.id)) {
    try { now.relations.set(entity.id, await ask(`/api/relations?id=${encodeURIComponent(entity.id)}`)); } catch (error) { say(failed(error)); return; }
  }
  drawQuestion();
  focusCandidate();
}
function walk(steps) {
  return [name(steps[0].from), ...steps.flatMap((step) => [step.forward ? ` —${step.relation}→ ` : ` ←${step.relation}— `, name(step.to)])];
}
function current() {
  for (const row of $("candidates").children) row.setAttribute("aria-current", String(row.id === `candidate-${now.current}`));
}
function focusCandidate() {
  current();
  const row = $(`candidate-${now.current}`);
  if (row) { row.focus({ preventScroll: true }); row.scrollIntoView({ block: "nearest" }); }
}
function move(by) {
  now.current = Math.min(Math.max(now.current + by, 0), Math.max(now.view.candidates.length - 1, 0));
  focusCandidate();
}
function judge(grade) {
  const entity = now.view.candidates[now.current];
  if (!entity) return;
  const before = now.view.grades[now.by]?.[entity.id];
  const event = { what: "judge", entity: entity.id, grade: before === grade ? null : grade };
  mark(event);
  decide(event);
  drawQuestion();
  move(event.grade === null ? 0 : 1);
}
function done(noAnswer = false) {
  const grades = now.view.grades[now.by] ?? {}, mine = Object.values(grades);
  const judgedNow = new Set(now.view.candidates.filter((entity) => Object.hasOwn(grades, entity.id)).map((entity) => entity.name));
  const cameRelevant = Object.entries(now.view.given).some(([name, grade]) => grade > 0 && !judgedNow.has(name));
  const relevant = mine.some((grade) => grade > 0);
  if (!noAnswer && !relevant && !cameRelevant) {
    say(mine.length ? t("nothing judged relevant: press X if the graph has no answer") : t("nothing judged yet: press N to skip this question"));
    return;
  }
  if (noAnswer && relevant) { say(t("some entities are judged relevant: undo that first")); return; }
  if (noAnswer && cameRelevant) { say(t("this question came with references: grade them 0 first")); return; }
  if (noAnswer && !now.searched.has(now.id) && !now.askedOf.has(now.id)) {
    now.askedOf.add(now.id);
    banner("empty", t("Without a reference this question leaves every mean, which raises it. Press / and search all entities for the answer; press X again if the graph has none."));
    return;
  }
  decide({ what: "done", done: true, no_answer: noAnswer });
  now.view.done = { ...now.view.done, [now.by]: noAnswer };
  const row = now.questions.find((row) => row.id === now.id);
  const rows = listed(), at = rows.findIndex((row) => row.id === now.id);
  if (row) row.done = now.view.done;
  const next = rows.slice(at + 1).find((row) => !isDone(row)) ?? rows.find((row) => !isDone(row));
  if (next) open(next.id); else { drawList(); say(t("all done here: write the gold set")); }
}

// Editing question, tags and note.

function edit(what) {
  now.editing = what;
  $("editing").textContent = { query: t("the question"), tags: t("tags, separated by commas"), note: t("note") }[what];
  $("text").value = what === "tags" ? now.view.tags.join(", ") : now.view[what];
  $("editor").hidden = false;
  $("text").focus();
}
function cancel() {
  now.editing = null;
  $("editor").hidden = true;
}
function save() {
  const what = now.editing, text = $("text").value.trim();
  if (what === "query" && !text) { say(t("a question can't be empty")); return; }
  const value = what === "tags" ? [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))] : text;
  now.view[what] = value;
  decide({ what, [what]: value });
  cancel();
  drawQuestion();
  focusCandidate();
}

// Searching all entities.

let asked = 0, answered = Promise.resolve(); // answered ends when the list belongs to what was typed last
async function search() {
  const typed = $("search").value, question = now.id, mine = ++asked;
  if (!typed.trim()) { drawMatches([]); return; }
  try {
    const { found: matches } = await ask(`/api/search?q=${encodeURIComponent(typed)}`);
    now.searched.add(question);
    if (mine === asked) drawMatches(matches);
  } catch (error) { if (mine === asked) { drawMatches([]); say(failed(error)); } }
}
async function addPicked(grade) {
  const typed = $("search").value, question = now.id;
  await answered;
  if (typed === $("search").value && question === now.id) add(now.picked, grade);
}
function clearSearch() {
  $("search").value = "";
  search();
}
function drawMatches(matches) {
  now.matches = matches;
  now.picked = 0;
  $("search").setAttribute("aria-expanded", String(matches.length > 0));
  $("found").replaceChildren(...matches.map((entity, at) => el("li", {
    role: "option", id: `found-${at}`, "aria-selected": "false", onclick: () => add(at, 1),
  }, name(entity.name), " ", el("span", { class: "soft" }, [entity.type, entity.aliases?.join(", "), entity.description].filter(Boolean).join(" · ").slice(0, 160)))));
  pick(0);
}
function pick(at) {
  if (!now.matches.length) { $("search").removeAttribute("aria-activedescendant"); return; }
  now.picked = (at + now.matches.length) % now.matches.length;
  for (const option of $("found").children) option.setAttribute("aria-selected", String(option.id === `found-${now.picked}`));
  $("search").setAttribute("aria-activedescendant", `found-${now.picked}`);
  $(`found-${now.picked}`).scrollIntoView({ block: "nearest" });
}
function add(at, grade) {
  const entity = now.matches[at];
  if (!entity) return;
  if (!now.view.candidates.some((candidate) => candidate.id === entity.id)) now.view.candidates.push(entity);
  const event = { what: "judge", entity: entity.id, grade };
  mark(event);
  decide(event);
  clearSearch();
  drawQuestion();
  now.current = now.view.candidates.findIndex((candidate) => candidate.id === entity.id);
  focusCandidate();
  say(t("{name} added as {grade}", { name: entity.name, grade }));
}
$("search").addEventListener("input", () => { answered = search(); });
$("search").addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "ArrowDown") { event.preventDefault(); pick(now.picked + 1); }
  else if (event.key === "ArrowUp") { event.preventDefault(); pick(now.picked - 1); }
  else if (event.key === "Enter") { event.preventDefault(); addPicked(event.shiftKey ? 2 : 1); }
  else if (event.key === "Escape") { event.preventDefault(); clearSearch(); focusCandidate(); }
});

// Agreement.

async function agreement() {
  const { by_tag, differing } = await ask("/api/agreement");
  const figure = (value) => (value === null ? "–" : value.toFixed(3));
  $("kappa").replaceChildren(by_tag.length ? el("table", {},
    el("thead", {}, el("tr", {}, [t("tag"), t("judged by both"), t("equal"), "κ", t("κ weighted")].map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, by_tag.map((row) => el("tr", {}, [row.tag === "all" ? t("all") : row.tag, row.judged, row.same, figure(row.kappa), figure(row.weighted)].map((cell) => el("td", {}, String(cell)))))))
    : el("p", {}, t("No entity has been judged by two annotators yet.")));
  $("differing").replaceChildren(...(differing.length ? differing.map((judged) => el("li", {},
    el("span", {}, name(judged.query), " ", el("b", {}, name(judged.name)), " ", el("span", { class: "soft" }, Object.entries(judged.grades).map(([by, grade]) => `${by}: ${grade}`).join(", "))),
    el("span", { class: "grades", role: "group", "aria-label": t("decide the grade of {name}", { name: judged.name }) }, GRADES.map((grade) => el("button", {
      type: "button", "data-grade": grade, "aria-pressed": String(judged.agreed === grade),
      onclick: async () => { decide({ by: "agreed", question: judged.question, what: "judge", entity: judged.entity, grade }); await flush(); await agreement(); },
    }, String(grade)))))) : [el("li", {}, t("None."))]));
  if (!$("agreement").open) $("agreement").showModal();
}

// Keys. Letters by their place on the keyboard, so that they work while a Korean input method is on.

const KEYS = {
  KeyS: () => move(1), KeyJ: () => move(1), ArrowDown: () => move(1), KeyK: () => move(-1), ArrowUp: () => move(-1),
  Enter: () => done(), NumpadEnter: () => done(), KeyX: () => done(true), KeyN: () => step(1), KeyP: () => step(-1),
  KeyE: () => edit("query"), KeyT: () => edit("tags"), KeyM: () => edit("note"), KeyR: () => relations(), ArrowRight: () => step(1), ArrowLeft: () => step(-1), KeyU: () => decide({ what: "undo" }),
  Slash: () => $("search").focus(),
};
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const inField = event.target.closest("input, textarea, select");
  if (event.code === "Escape" && now.editing) { cancel(); focusCandidate(); return; }
  if (inField || !now.view) return;
  if (event.key === "?") { event.preventDefault(); $("help").showModal(); return; }
  if (["Enter", "Space"].includes(event.code) && event.target.closest("button")) return;
  const grade = /^(?:Digit|Numpad)([012])$/.exec(event.code);
  const action = grade ? () => judge(Number(grade[1])) : KEYS[event.code];
  if (action) { event.preventDefault(); action(); }
});
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); save(); }
});
$("editor").addEventListener("submit", (event) => { event.preventDefault(); save(); });
const DO = { relations, edit: () => edit("query"), tags: () => edit("tags"), note: () => edit("note"), undo: () => decide({ what: "undo" }), cancel: () => { cancel(); focusCandidate(); }, done: () => done(), none: () => done(true), next: () => step(1), previous: () => step(-1) };
for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", () => DO[button.dataset.do]());
$("filter").addEventListener("change", () => { drawList(); const first = listed()[0]; if (first && !listed().some((row) => row.id === now.id)) open(first.id); });
$("tag").addEventListener("change", drawList);
$("show-help").addEventListener("click", () => $("help").showModal());
$("show-agreement").addEventListener("click", () => agreement().catch((error) => say(failed(error))));
$("export").addEventListener("click", async () => {
  try {
    await flush();
    const { path, questions, left, unsettled, empty } = await ask("/api/export", {});
    const differ = unsettled ? `, ${t("judgments that differ: {n}", { n: unsettled })}` : "";
    const without = empty.length ? `, ${t("{n} without references", { n: empty.length })}` : "";
    say(path ? `${path}: ${t("questions: {n}, left: {left}", { n: questions, left })}${without}${differ}` : t("no question is done yet"));
  } catch (error) { banner("server", failed(error)); }
});
window.addEventListener("beforeunload", (event) => { if (queue.length) event.preventDefault(); });

async function poll() {
  try {
    const { last, events } = await ask(`/api/changes?since=${now.last}`);
    banner("server", queue.length ? banners.get("server") : "");
    const foreign = events.filter((event) => event.by !== now.by);
    now.last = last;
    if (foreign.length) await refresh(foreign);
  } catch (error) {
    if (!queue.length) banner("server", error.status === 403 ? t("the server was restarted: open its new address") : error.status ? failed(error) : t("the server doesn't respond; your decisions are kept in this window"));
  }
  setTimeout(poll, POLL);
}
async function refresh(events) {
  const { questions } = await ask("/api/questions");
  now.questions = questions;
  drawTags();
  drawList();
  if (events.some((event) => event.question === now.id) && !now.editing && !queue.length) {
    const id = now.id, view = await ask(`/api/question?id=${encodeURIComponent(id)}`);
    if (id !== now.id || now.editing || queue.length) return; // a newer view comes with what was done meanwhile
    now.at = Math.max(now.at, view.at);
    now.view = view;
    const held = document.activeElement?.closest("#candidates") !== null;
    drawQuestion();
    if (held) focusCandidate();
    say(t("{name} also judged this question", { name: events.at(-1).by }));
  }
}
async function who() {
  if (now.meta.annotator) return now.meta.annotator;
  let known = null;
  try { known = localStorage.getItem("curate:annotator"); } catch { /* asked below */ }
  const asked = new URLSearchParams(location.search).get("annotator");
  if (asked || known) return asked || known;
  $("who").showModal();
  await new Promise((go) => $("who").addEventListener("close", go, { once: true }));
  const given = $("who-name").value.trim();
  if (!given || given === "agreed") return who();
  try { localStorage.setItem("curate:annotator", given); } catch { /* asked again next time */ }
  return given;
}
async function begin() {
  try {
    now.meta = await ask("/api/questions");
  } catch (error) {
    banner("server", failed(error));
    return;
  }
  words = now.meta.words;
  document.documentElement.lang = now.meta.language;
  translate();
  now.questions = now.meta.questions;
  now.last = now.meta.last;
  now.by = await who();
  document.title = `${t("Curate")} ${now.meta.draft}`;
  $("title").textContent = `${now.meta.draft} · ${now.by}`;
  if (now.meta.lost.length) banner("lost", t("judged, but no longer in the draft: {ids}; the journal keeps the judgments", { ids: now.meta.lost.slice(0, 5).join(", ") }));
  try { queue = JSON.parse(localStorage.getItem(storage()) ?? "[]"); } catch { queue = []; }
  drawTags();
  if (!now.questions.some((row) => !isDone(row))) $("filter").value = "all";
  drawList();
  const first = listed()[0];
  if (first) await open(first.id); else $("nothing").hidden = false;
  document.querySelector("main").removeAttribute("aria-busy");
  flush();
  setTimeout(poll, POLL);
}
begin();
