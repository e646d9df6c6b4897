// The list of questions: thousands of them, of which only those in sight exist as elements.

const ROW = 62;      // px, as in page.css
const AROUND = 6;    // rows kept above and below what is seen

// What the list is filtered and sorted by, as columns: tags, verdicts (a bit each) and measures of every question.
function indexOf(data) {
  const { results, questions } = data;
  const rows = Array.from({ length: questions }, (_, row) => row);
  const [tagsOf, idOf, queryOf] = ["tags", "id", "query"].map(data.field);
  const tags = rows.map(tagsOf);
  const names = [];
  const verdicts = new Uint32Array(questions);
  const counts = new Uint16Array(questions);
  results.forEach(({ references }, row) => {
    counts[row] = references.length;
    for (const { verdict } of references) {
      if (!verdict) continue;
      let bit = names.indexOf(verdict);
      if (bit < 0) bit = names.push(verdict) - 1;
      verdicts[row] |= 1 << bit;
    }
  });
  const measured = [...new Set(results.flatMap(({ metrics }) => Object.keys(metrics)))];
  const measures = Object.fromEntries(measured.map((measure) => [measure, rows.map((row) => results[row].metrics[measure] ?? null)]));
  const answerOf = data.field("answer");
  for (const score of Object.keys(data.head.summary.answers?.scores ?? {})) {
    measures[score] ??= rows.map((row) => { const value = answerOf(row)?.scores?.[score]; return typeof value === "number" ? value : null; });
  }
  let texts = null;
  const haystack = () => texts ??= rows.map((row) => `${idOf(row)}\n${queryOf(row)}\n${tags[row].join("\n")}`.normalize("NFC").toLowerCase());
  return { questions, tags, verdictNames: names, verdicts, counts, measures, topOf: (measure) => topOf(data, measure), haystack, idOf, queryOf };
}

// What flipped between this result and another: for each question "won", "lost", "mixed" or "" of the other.
function flipsOf(data, other) {
  const [idOf, referencesOf] = ["id", "references"].map(data.field);
  return Array.from({ length: data.questions }, (_, row) => {
    const beside = other.at(idOf(row));
    if (!beside) return "";
    const now = new Map(beside.references.map((reference) => [reference.name, reference.verdict === "hit"]));
    let won = false, lost = false;
    for (const reference of referencesOf(row)) {
      const before = reference.verdict === "hit", after = now.get(reference.name) ?? before;
      if (after && !before) won = true;
      if (before && !after) lost = true;
    }
    return won && lost ? "mixed" : won ? "won" : lost ? "lost" : "";
  });
}

const CHANGES = { won: "better there", lost: "worse there", mixed: "mixed" };

function matching(index, state, flips) {
  const bit = state.verdict ? 1 << index.verdictNames.indexOf(state.verdict) : 0;
  const values = index.measures[state.measure] ?? [];
  const wanted = state.search.trim().normalize("NFC").toLowerCase();
  const haystack = wanted ? index.haystack() : null;
  const top = index.topOf(state.measure);
  const score = { "": () => true, zero: (v) => v === 0, low: (v) => v !== null && v < top / 2, high: (v) => v !== null && v >= top / 2, full: (v) => v === top, none: (v) => v === null }[state.score];
  const rows = [];
  for (let row = 0; row < index.questions; row++) {
    if (bit && !(index.verdicts[row] & bit)) continue;
    if (state.tag && !index.tags[row].includes(state.tag)) continue;
    if (state.score && !score(values[row] ?? null)) continue;
    if (state.flip && !(state.flip === "any" ? flips[row] : flips[row] === state.flip)) continue;
    if (wanted && !haystack[row].includes(wanted)) continue;
    rows.push(row);
  }
  const last = (row) => values[row] ?? 2;  // undefined comes last
  if (state.sort === "worst") rows.sort((a, b) => last(a) - last(b) || a - b);
  if (state.sort === "best") rows.sort((a, b) => (values[b] ?? -1) - (values[a] ?? -1) || a - b);
  if (state.sort === "references") rows.sort((a, b) => index.counts[b] - index.counts[a] || a - b);
  return rows;
}

function choice(label, value, options, changed) {
  const select = el("select", { onchange: (event) => changed(event.target.value) },
    options.map(([key, words]) => el("option", { value: key, selected: key === value }, words)));
  return { select, element: el("label", {}, el("span", {}, label), select) };
}

function listSection(data, state) {
  const index = indexOf(data);
  const measures = Object.keys(index.measures);
  const tags = Object.keys(data.head.summary.by_tag ?? {});
  state.first.measure = state.measure = measures.find((measure) => measure.startsWith("ndcg")) ?? measures[0] ?? "";
  state.first.beside = state.beside = data.peers[0]?.name ?? "";
  const search = el("input", { type: "search", placeholder: t("words, a name, an id"), autocomplete: "off", spellcheck: "false", oninput: () => state.set({ search: search.value }) });
  const any = ["", t("any")];
  const controls = {
    verdict: choice(t("verdict"), "", [any, ...index.verdictNames.map((verdict) => [verdict, verdictWords(verdict)])], (verdict) => state.set({ verdict })),
    tag: choice(t("tag"), "", [any, ...tags.map((tag) => [tag, cut(tag, 40)])], (tag) => state.set({ tag })),
    measure: choice(t("measure"), state.measure, measures.map((measure) => [measure, measure]), (measure) => state.set({ measure })),
    score: choice(t("score"), "", [any, ["zero", "0"], ["low", t("below half")], ["high", t("half or more")], ["full", t("the best")], ["none", t("undefined")]], (score) => state.set({ score })),
    sort: choice(t("sorted"), "file", [["file", t("as in the file")], ["worst", t("worst first")], ["best", t("best first")], ["references", t("most references")]], (sort) => state.set({ sort })),
  };
  if (data.peers.length) {
    controls.beside = choice(t("compare with"), state.beside, data.peers.map((system) => [system.name, cut(system.name, 40)]), (beside) => state.set({ beside }));
    controls.flip = choice(t("flipped"), "", [any, ["any", t("every flip")], ...Object.entries(CHANGES).map(([key, change]) => [key, t(change)])], (flip) => state.set({ flip }));
  }
  const changes = new Map();
  const other = () => data.peers.find((system) => system.name === state.beside) ?? null;
  const flips = () => {
    const system = other();
    if (!system) return [];
    if (!changes.has(system)) changes.set(system, flipsOf(data, system));
    return changes.get(system);
  };
  const save = el("button", { type: "button", class: "quiet", onclick: () => download(`${data.head.dataset?.name ?? "results"}-questions.csv`, questionsCsv(data, index, matches, other(), flips())) }, t("Save as CSV"));
  const matchCount = el("p", { class: "shown", role: "status" });
  const spacer = el("div", { class: "spacer" });
  const box = el("div", { class: "rows", role: "listbox", tabindex: "0", "aria-label": t("Questions") }, spacer);
  const nothing = () => el("p", { class: "nothing" }, t("Choose a question."));
  const pane = el("div", { class: "open" }, nothing());
  let matches = [], active = -1;

  const row = (at) => {
    const number = matches[at];
    const value = index.measures[state.measure]?.[number] ?? null;
    const mine = index.verdictNames.filter((_, bit) => index.verdicts[number] & (1 << bit));
    const option = el("div", { class: "row", role: "option", id: `row-${at}`, "aria-selected": String(at === active), "aria-setsize": matches.length, "aria-posinset": at + 1, onclick: () => open(at, true) },
      el("span", { class: "asked" }, el("bdi", {}, cut(index.queryOf(number) || index.idOf(number), 200))),
      el("span", { class: "of" }, flips()[number] && el("span", { class: `flip ${flips()[number]}` }, t(CHANGES[flips()[number]])), mine.map((verdict) => el("span", { class: `dot-word ${verdictClass(verdict)}` }, verdictWords(verdict))), mine.length ? null : cut(index.tags[number].join(", "), 60)),
      el("span", { class: `value ${value === null ? "" : value === 0 ? "zero" : value === index.topOf(state.measure) ? "full" : ""}` }, figure(value)));
    option.style.top = `${at * ROW}px`;
    return option;
  };
  const draw = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - AROUND);
    const last = Math.min(matches.length, Math.ceil((box.scrollTop + (box.clientHeight || 600)) / ROW) + AROUND);
    spacer.replaceChildren(...Array.from({ length: Math.max(0, last - first) }, (_, at) => row(first + at)));
    if (active >= first && active < last) box.setAttribute("aria-activedescendant", `row-${active}`);
    else box.removeAttribute("aria-activedescendant");
  };
  const filter = () => {
    const before = matches[active];
    matches = matching(index, state, flips());
    active = before === undefined ? -1 : matches.indexOf(before);
    spacer.style.height = `${matches.length * ROW}px`;
    box.scrollTop = 0;
    matchCount.textContent = matches.length === index.questions ? plural(index.questions, "question") : t("{n} of {all} questions", { n: count(matches.length), all: count(index.questions) });
    if (before !== undefined && active < 0) close();
    draw();
  };
  // A filter that hides the open question closes it.
  const close = () => {
    active = -1;
    state.q = "";
    pane.replaceChildren(nothing());
    redraw = () => {};
    document.body.classList.remove("reading");
  };
  const open = (at, read = false) => {
    active = at;
    state.q = index.idOf(matches[at]);
    opened = `${state.q}\n${state.beside}`;
    state.keep();
    const top = at * ROW;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
    draw();
    if (read) document.body.classList.add("reading");
    const { view, draw: drawPicture } = questionView(data, matches[at], () => { document.body.classList.remove("reading"); box.focus(); box.scrollIntoView({ block: "center" }); }, other());
    pane.replaceChildren(view);
    drawPicture();
    redraw = drawPicture;
    if (read && matchMedia("(max-width: 860px)").matches) { view.focus({ preventScroll: true }); scrollTo(0, 0); }
  };
  let redraw = () => {};
  let opened = "";
  let width = innerWidth;
  addEventListener("resize", () => { draw(); if (innerWidth !== width) { width = innerWidth; redraw(); } });
  box.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  box.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(box.clientHeight / ROW) - 1);
    const move = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: matches.length - 1 }[event.key];
    if (event.key === "Enter" && active >= 0) { open(active, true); pane.querySelector("article").focus(); event.preventDefault(); }
    if (move === undefined || !matches.length) return;
    event.preventDefault();
    open(Math.max(0, Math.min(matches.length - 1, move)));
  });
  state.listeners.push(() => {
    for (const [key, { select }] of Object.entries(controls)) {
      if (![...select.options].some((option) => option.value === state[key])) state[key] = state.first[key];
      select.value = state[key];
    }
    if (search.value !== state.search) search.value = state.search;
    filter();
    const at = state.q ? matches.findIndex((row) => index.idOf(row) === state.q) : -1;
    if (at >= 0 && `${state.q}\n${state.beside}` !== opened) open(at, true);
  });
  const section = el("section", { "aria-labelledby": "questions", class: "questions" },
    el("h2", { id: "questions" }, t("Questions")),
    el("form", { class: "controls", role: "search", onsubmit: (event) => event.preventDefault() },
      el("label", { class: "grow" }, el("span", {}, t("search")), search), Object.values(controls).filter((control) => control.select.options.length > 1).map((control) => control.element)),
    el("div", { class: "list-head" }, matchCount, save),
    el("div", { class: "panes" }, box, pane));
  const start = () => {
    state.read();
    if (state.q && active < 0) state.set({ search: "", verdict: "", tag: "", score: "", flip: "" });  // a link shows its question
    if (state.q) section.scrollIntoView({ block: "start", behavior: "instant" });
    if (state.q && active < 0) pane.replaceChildren(el("p", { class: "nothing", role: "status" }, t("No question here has the id {id}.", { id: cut(state.q, 80) })));
    else if (!state.q && matches.length && !matchMedia("(max-width: 860px)").matches) { open(0); state.q = ""; state.keep(); }
  };
  return { section, start };
}

// The questions shown, one a row, with the measures and what became of their references.
function questionsCsv(data, index, rows, other, flips) {
  const measures = Object.keys(index.measures);
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;  // no spreadsheet takes it for a formula
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const heads = ["id", "query", "tags", ...measures, "references", "verdicts", ...(other ? ["flip", "compare with", ...measures.map((measure) => `${measure} (${other.name})`)] : [])];
  const lines = rows.map((row) => {
    const question = data.question(row);
    const beside = other?.at(question.id);
    return [question.id, question.query, question.tags.join(" "), ...measures.map((measure) => index.measures[measure][row]),
      question.references.map((reference) => reference.name).join("; "), question.references.map((reference) => reference.verdict ?? "").join("; "),
      ...(other ? [flips[row], other.name, ...measures.map((measure) => beside?.metrics[measure])] : [])];
  });
  return [heads, ...lines].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
}

function download(file, text) {
  const address = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
  el("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
