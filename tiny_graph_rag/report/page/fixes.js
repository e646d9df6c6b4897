// What would fix retrieval: four blocks; a row opens the questions that it moves, before and after.

const QUESTIONS_OPENED = 50;

function fixSections(fixes) {
  const summary = el("section", {}, el("p", { class: "advice-line" },
    t("{measure} {today} now, over {questions} in {groups}; measured with {evaluations}", {
      measure: fixes.measure, today: figure(fixes.today), questions: plural(fixes.questions, "question"),
      groups: plural(fixes.groups, "group"), evaluations: plural(Math.round(fixes.evaluations), "evaluation"),
    })), fixes.stopped && el("p", { class: "small note" }, t(fixes.stopped)));
  return [summary, ...fixes.blocks.map((block, at) => fixBlock(block, fixes.changes, `fixes-${at}`))];
}

function fixBlock({ head, rows }, changes, id) {
  return el("section", { "aria-labelledby": id }, el("h2", { id }, t(head)),
    rows.length ? rows.map((row) => fixRow(row, changes)) : el("p", { class: "small" }, t("nothing")));
}

function fixRow(row, changes) {
  const sentence = [name(row.what, 300), row.gain && el("strong", { class: "number" }, ` ${row.gain}`), row.control && el("span", { class: "small" }, ` ${t(row.control)}`)].filter(Boolean);
  const note = row.note && el("p", { class: "small" }, name(row.note, 600));
  const moved = (changes[row.kind] ?? []).filter((question) => !row.ids.length || row.ids.includes(question.id));
  if (!moved.length) return el("div", { class: "advice-line" }, sentence, note);
  return el("details", { class: "fix" }, el("summary", {}, sentence), note, movedTable(moved));
}

function movedTable(moved) {
  const list = (names) => el("td", {}, el("ol", { class: "small" }, names.map((entity) => el("li", {}, name(entity, 60)))));
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("before and after") },
    el("table", { class: "by-tag" },
      el("thead", {}, el("tr", {}, ["question", "before", "after", "ranked before", "ranked after"].map((head, at) => el("th", { scope: "col", class: at === 1 || at === 2 ? "number" : "" }, t(head))))),
      el("tbody", {}, moved.slice(0, QUESTIONS_OPENED).map((question) => el("tr", {},
        el("th", { scope: "row" }, name(question.query, 200), el("div", { class: "small" }, name(question.id, 60))),
        el("td", { class: "number" }, figure(question.before)),
        el("td", { class: question.after < question.before ? "number lost" : "number" }, figure(question.after)),
        list(question.ranked_before), list(question.ranked_after))))),
    moved.length > QUESTIONS_OPENED && el("p", { class: "small" }, t("The first {n}; the file has them all.", { n: QUESTIONS_OPENED })));
}
