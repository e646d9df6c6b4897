// What a reader who has a minute should see first: the answer in a sentence, what changed, the worst questions.

function leadSection(data) {
  const lines = data.extra.lead ?? [];
  return lines.length ? el("section", { class: "lead" }, lines.map((line) => el("p", {}, line))) : null;
}

// The worst questions, opened: what was expected and what came of it, what was retrieved instead.
function worstSection(data, state) {
  const { rows, measure } = data.extra.worst ?? { rows: [] };
  if (!rows.length) return null;
  const k = data.head.summary.k ?? 10;
  return el("section", { "aria-labelledby": "worst" },
    el("h2", { id: "worst" }, t("The worst questions")),
    el("div", { class: "worst-cards" }, rows.map((row) => worstCard(data.question(row), measure, k, data, state))));
}

function worstCard(question, measure, k, data, state) {
  const wanted = new Set(question.references.flatMap((reference) => reference.entity_ids));
  const open = () => state.set({ search: "", verdict: "", tag: "", score: "", flip: "", q: question.id }, true);
  return el("details", { class: "worst-card", open: true },
    el("summary", {}, el("span", { class: "asked" }, queryMarked(question, data)),
      el("span", { class: "value" }, `${measure} ${figure(question.metrics[measure])}`)),
    el("div", { class: "two" },
      el("div", {}, el("h3", {}, t("Expected")), el("ul", { class: "expected" }, question.references.map((reference) =>
        el("li", {}, name(reference.name, 60), " ", reference.verdict ? badge(reference.verdict) : el("span", { class: "small" }, rankShown(reference, question)),
          el("div", { class: "evidence small" }, evidence(reference, question, data)))))),
      el("div", {}, el("h3", {}, t("Retrieved")), question.ranked.length
        ? el("ol", { class: "first" }, question.ranked.slice(0, k).map((entity) => el("li", { class: wanted.has(entity.id) ? "hit" : "" }, name(entity.name, 60), wanted.has(entity.id) && " ✓")))
        : el("p", { class: "nothing" }, t("nothing")))),
    el("button", { type: "button", class: "quiet", onclick: open }, t("Show this question")));
}
