// The annotation page. Text only ever becomes text; a decision stays in this window's queue until the server
// has it on disk, and a queue that a closed window left is sent by the next one.
"use strict";

const token = new URLSearchParams(location.search).get("token") ?? "";
const $ = (id) => document.getElementById(id);
const POLL = 2000;
const GRADES = [2, 1, 0];

const now = { meta: null, questions: [], id: null, view: null, at: 0, last: 0, by: "", editing: null, found: [], picked: 0, relations: new Map(), searched: new Set(), askedOf: new Set() };
let queue = [];
let sending = false;

function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== false));
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
  for (const each of document.querySelectorAll("[aria-label]")) each.setAttribute("aria-label", t(each.getAttribute("aria-label")));
}

async function ask(path, body) {
  const reply = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "X-Token": token, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
  });
  const found = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(found.error ?? reply.statusText), { status: reply.status });
  return found;
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
async function flush() {
  if (sending) return;
  sending = true;
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
        if (!queue.some((each) => each.question === now.id)) drawQuestion();
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
  const row = now.questions.find((each) => each.id === id);
  if (!row) return;
  row.query = view.query;
  row.tags = view.tags;
  row.done = view.done;
  row.judged = Object.fromEntries(Object.entries(view.grades).map(([by, grades]) => [by, Object.keys(grades).length]));
  drawList();
}

// Which questions.

const isDone = (row) => Object.hasOwn(row.done, now.by);
function shown() {
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
  $("list").replaceChildren(...shown().map((row) => el("li", {}, el("button", {
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
  const rows = shown();
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
  if (id !== now.id) now.place = 0;
  now.id = id;
  now.view = view;
  now.at = now.view.at;
  for (const event of queue.filter((each) => each.question === id && each.what === "judge")) mark(event);
  drawQuestion();
  drawList();
}
function mark({ entity, grade }) {
  const mine = (now.view.grades[now.by] ??= {});
  if (grade === null) delete mine[entity]; else mine[entity] = grade;
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
function named(place) {
  return el("div", {}, `${t(place.in)}: `, place.before, el("mark", {}, place.words), place.after);
}
function candidate(each, place) {
  const grades = now.view.grades, mine = grades[now.by]?.[each.id] ?? null;
  // Judged without seeing another's grades: they show once one's own question is done.
  const others = !Object.hasOwn(now.view.done, now.by) ? [] : Object.entries(grades).filter(([by, row]) => by !== now.by && Object.hasOwn(row, each.id)).map(([by, row]) => `${by}: ${row[each.id]}`);
  const given = now.view.given[each.name];
  const ranks = Object.entries(each.by ?? {}).map(([by, rank]) => `${by} ${rank}`).join(", ");
  return el("li", {
    id: `candidate-${place}`, tabindex: "-1", "aria-current": String(place === now.place), onclick: () => { now.place = place; current(); },
  },
  el("div", {}, el("span", { class: "name" }, name(each.name)), " ", el("span", { class: "soft" }, each.type)),
  el("div", { class: "grades", role: "group", "aria-label": t("grade of {name}", { name: each.name }) }, GRADES.map((grade) => el("button", {
    type: "button", "data-grade": grade, "aria-pressed": String(mine === grade),
    onclick: (event) => { event.stopPropagation(); now.place = place; judge(grade); },
  }, String(grade)))),
  el("div", { class: "why" }, each.description ?? ""),
  el("div", { class: "why" },
    each.walk?.length ? el("div", {}, walk(each.walk)) : null,
    ...(each.named ?? []).map(named),
    each.words?.length ? el("div", {}, `${t("words")}: `, el("b", {}, each.words.join(", "))) : null,
    each.aliases?.length ? el("div", {}, `${t("also")}: ${each.aliases.join(", ")}`) : null,
    ranks ? el("div", {}, t("ranked by {ranks}", { ranks })) : null,
    given !== undefined ? el("div", {}, t("already judged: {grade}", { grade: given })) : null,
    others.length ? el("div", { class: "others" }, t("judged by {names}", { names: others.join(", ") })) : null,
    now.relations.has(each.id) ? said(now.relations.get(each.id)) : null));
}
function said({ relations, left }) {
  if (!relations.length) return el("p", { class: "soft" }, t("This entity has no relations in the graph."));
  return el("ul", { class: "relations" }, relations.map((one) => el("li", {}, walk([one]), one.description ? el("span", { class: "soft" }, ` ${one.description}`) : null)),
    left ? el("li", { class: "soft" }, t("… and {n} more", { n: left })) : null);
}
async function relations() {
  const each = now.view.candidates[now.place];
  if (!each) return;
  if (!now.relations.delete(each.id)) {
    try { now.relations.set(each.id, await ask(`/api/relations?id=${encodeURIComponent(each.id)}`)); } catch (error) { say(failed(error)); return; }
  }
  drawQuestion();
  focusCandidate();
}
function walk(steps) {
  return [name(steps[0].from), ...steps.flatMap((one) => [one.forward ? ` —${one.relation}→ ` : ` ←${one.relation}— `, name(one.to)])];
}
function current() {
  for (const each of $("candidates").children) each.setAttribute("aria-current", String(each.id === `candidate-${now.place}`));
}
function focusCandidate() {
  current();
  const at = $(`candidate-${now.place}`);
  if (at) { at.focus({ preventScroll: true }); at.scrollIntoView({ block: "nearest" }); }
}
function move(by) {
  now.place = Math.min(Math.max(now.place + by, 0), Math.max(now.view.candidates.length - 1, 0));
  focusCandidate();
}
function judge(grade) {
  const each = now.view.candidates[now.place];
  if (!each) return;
  const before = now.view.grades[now.by]?.[each.id];
  const event = { what: "judge", entity: each.id, grade: before === grade ? null : grade };
  mark(event);
  decide(event);
  drawQuestion();
  move(event.grade === null ? 0 : 1);
}
function done(noAnswer = false) {
  const grades = now.view.grades[now.by] ?? {}, mine = Object.values(grades);
  const judgedNow = new Set(now.view.candidates.filter((each) => Object.hasOwn(grades, each.id)).map((each) => each.name));
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
  const row = now.questions.find((each) => each.id === now.id);
  const rows = shown(), at = rows.findIndex((each) => each.id === now.id);
  if (row) row.done = now.view.done;
  const next = rows.slice(at + 1).find((each) => !isDone(each)) ?? rows.find((each) => !isDone(each));
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
  if (!typed.trim()) { drawFound([]); return; }
  try {
    const { found } = await ask(`/api/search?q=${encodeURIComponent(typed)}`);
    now.searched.add(question);
    if (mine === asked) drawFound(found);
  } catch (error) { if (mine === asked) { drawFound([]); say(failed(error)); } }
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
function drawFound(found) {
  now.found = found;
  now.picked = 0;
  $("search").setAttribute("aria-expanded", String(found.length > 0));
  $("found").replaceChildren(...found.map((each, place) => el("li", {
    role: "option", id: `found-${place}`, "aria-selected": "false", onclick: () => add(place, 1),
  }, name(each.name), " ", el("span", { class: "soft" }, [each.type, each.aliases?.join(", "), each.description].filter(Boolean).join(" · ").slice(0, 160)))));
  pick(0);
}
function pick(place) {
  if (!now.found.length) { $("search").removeAttribute("aria-activedescendant"); return; }
  now.picked = (place + now.found.length) % now.found.length;
  for (const each of $("found").children) each.setAttribute("aria-selected", String(each.id === `found-${now.picked}`));
  $("search").setAttribute("aria-activedescendant", `found-${now.picked}`);
  $(`found-${now.picked}`).scrollIntoView({ block: "nearest" });
}
function add(place, grade) {
  const each = now.found[place];
  if (!each) return;
  if (!now.view.candidates.some((one) => one.id === each.id)) now.view.candidates.push(each);
  const event = { what: "judge", entity: each.id, grade };
  mark(event);
  decide(event);
  clearSearch();
  drawQuestion();
  now.place = now.view.candidates.findIndex((one) => one.id === each.id);
  focusCandidate();
  say(t("{name} added as {grade}", { name: each.name, grade }));
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
    el("thead", {}, el("tr", {}, [t("tag"), t("judged by both"), t("equal"), "κ", t("κ weighted")].map((each) => el("th", { scope: "col" }, each)))),
    el("tbody", {}, by_tag.map((row) => el("tr", {}, [row.tag === "all" ? t("all") : row.tag, row.judged, row.same, figure(row.kappa), figure(row.weighted)].map((each) => el("td", {}, String(each)))))))
    : el("p", {}, t("No entity has been judged by two annotators yet.")));
  $("differing").replaceChildren(...(differing.length ? differing.map((each) => el("li", {},
    el("span", {}, name(each.query), " ", el("b", {}, name(each.name)), " ", el("span", { class: "soft" }, Object.entries(each.grades).map(([by, grade]) => `${by}: ${grade}`).join(", "))),
    el("span", { class: "grades", role: "group", "aria-label": t("decide the grade of {name}", { name: each.name }) }, GRADES.map((grade) => el("button", {
      type: "button", "data-grade": grade, "aria-pressed": String(each.agreed === grade),
      onclick: async () => { decide({ by: "agreed", question: each.question, what: "judge", entity: each.entity, grade }); await flush(); await agreement(); },
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
$("filter").addEventListener("change", () => { drawList(); const first = shown()[0]; if (first && !shown().some((row) => row.id === now.id)) open(first.id); });
$("tag").addEventListener("change", drawList);
$("show-help").addEventListener("click", () => $("help").showModal());
$("show-agreement").addEventListener("click", () => agreement().catch((error) => say(failed(error))));
$("export").addEventListener("click", async () => {
  try {
    await flush();
    const { path, questions, left, unsettled, empty } = await ask("/api/export", {});
    const differ = unsettled ? `, ${t("{n} judgments differ", { n: unsettled })}` : "";
    const without = empty.length ? `, ${t("{n} without a reference", { n: empty.length })}` : "";
    say(path ? `${path}: ${t("{n} questions, {left} left", { n: questions, left })}${without}${differ}` : t("no question is done yet"));
  } catch (error) { banner("server", failed(error)); }
});
window.addEventListener("beforeunload", (event) => { if (queue.length) event.preventDefault(); });

async function poll() {
  try {
    const { last, events, draft_changed } = await ask(`/api/changes?since=${now.last}`);
    banner("server", queue.length ? banners.get("server") : "");
    banner("draft", draft_changed ? t("the draft file has changed: your judgments are kept; restart `curate` to see its new questions") : "");
    const foreign = events.filter((each) => each.by !== now.by);
    now.last = last;
    if (foreign.length) await refresh(foreign);
  } catch (error) {
    banner("server", error.status === 403 ? t("the server was restarted: open its new address") : error.status ? failed(error) : t("the server doesn't respond; your decisions are kept in this window"));
  }
  setTimeout(poll, POLL);
}
async function refresh(events) {
  const { questions } = await ask("/api/questions");
  now.questions = questions;
  drawTags();
  drawList();
  if (events.some((each) => each.question === now.id) && !now.editing && !queue.length) {
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
  const first = shown()[0];
  if (first) await open(first.id); else $("nothing").hidden = false;
  document.querySelector("main").removeAttribute("aria-busy");
  flush();
  setTimeout(poll, POLL);
}
begin();
