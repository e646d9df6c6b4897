// The upper half of the page: what was measured, how it went, and where recall was lost.

const STEPS = {
  "in graph": "the reference is an entity of the graph",
  "recognised by name": "an entity that its question names was recognised",
  reachable: "a path leads to it from such an entity",
  "past filters": "not removed by a filter option",
  "within --hops of a named entity": "near enough to be reached by a path",
  returned: "found by a path within the hops or by another part of the retriever",
  "above min-score": "its score is not below retrieval.min_score",
  "within depth": "among the entities returned",
  "in run": "returned at all",
  "room in --top-k": "there are no more references than ranks",
};

function masthead(data) {
  const { head } = data;
  const asked = head.kind === "score" ? null : head.config?.retrieval;  // an external run was not made by these settings
  const facts = [
    head.graph && [t("graph"), " ", name(head.graph.name)],
    head.run?.name && [t("run"), " ", name(head.run.name)],
    head.summary && [plural(head.summary.questions, "question")],
    head.summary && asked?.retriever && [head.walked ? `${asked.retriever}, ${plural(asked.hops, "hop")}` : asked.retriever],
    head.summary && head.walked && asked?.linker && [t("linked by {linker}", { linker: asked.linker })],
    head.summary?.k && [`k = ${head.summary.k}`],
    head.made?.label && [name(head.made.label, 60)],
    head.made?.at && [head.made.at.replace("T", " ").replace("Z", " UTC")],
  ].filter(Boolean);
  return el("header", { class: "masthead" },
    el("div", {},
      el("h1", {}, name(head.dataset?.name ?? t("Results"))),
      el("p", { class: "facts" }, facts.map((fact) => el("span", {}, fact))),
      settings(head)),
    themeButton());
}

// How these results were made: the command, and every setting that is not the default.
function settings(head) {
  const changed = head.kind === "score" ? [] : Object.entries(head.changed ?? {});
  if (!changed.length && !head.made?.command) return null;
  return el("details", { class: "made" }, el("summary", {}, t("How these results were made")),
    head.made?.command && el("pre", {}, el("code", {}, cut(head.made.command, 2000))),
    head.kind === "score" ? null : changed.length
      ? el("dl", { class: "settings" }, changed.map(([key, value]) => el("div", {}, el("dt", {}, key), el("dd", {}, el("bdi", {}, cut(typeof value === "string" ? value : JSON.stringify(value), 400))))))
      : el("p", { class: "small" }, t("Every setting is the default.")));
}

function themeButton() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = el("button", { class: "quiet", type: "button", onclick: () => {
    root.dataset.theme = dark() ? "light" : "dark";
    say();
  } });
  const say = () => { button.textContent = dark() ? t("Light") : t("Dark"); button.setAttribute("aria-label", dark() ? t("Switch to light colours") : t("Switch to dark colours")); };
  say();
  return button;
}

function summarySection(data) {
  const { summary } = data.head;
  const answers = Object.entries(summary.answers?.scores ?? {});
  const stats = [...Object.entries(summary.measures), ...answers].map(([measure, mean]) =>
    el("div", { class: "stat" },
      el("dt", {}, measure),
      el("dd", {},
        el("span", { class: "large" }, figure(mean.mean), topOf(data, measure) === 1 ? null : el("span", { class: "small" }, ` / ${topOf(data, measure)}`)),
        intervalBar(mean, topOf(data, measure)),
        el("span", { class: "small" }, intervalWords(mean)))));
  return el("section", { "aria-labelledby": "summary" },
    el("h2", { id: "summary" }, t("Summary")),
    el("dl", { class: "stats" }, stats),
    el("p", { class: "counts" }, data.extra.counts.map((sentence) => el("span", {}, sentence))));
}

function intervalWords({ low, high, n, reliable, failed }) {
  const range = low === undefined || low === null ? "" : `${figure(low)} – ${figure(high)}, `;
  return `${range}n = ${count(n)}${reliable === false && n ? " ?" : ""}${failed ? `, ${t("{n} failed (worst value)", { n: count(failed) })}` : ""}`;
}

// In a row of means over `n` questions, `unsure` all of them: the interval, and only what is not so of the whole row.
function rangeWords(mean, n, unsure) {
  if (mean.mean === null) return "";
  const range = mean.low === undefined || mean.low === null ? "" : `${figure(mean.low)} – ${figure(mean.high)}`;
  return [range, mean.n !== n && `n = ${count(mean.n)}`].filter(Boolean).join(", ") + (mean.reliable === false && !unsure ? " ?" : "");
}

// The best value of a measure: 1, but for what judges grade otherwise.
const topOf = (data, measure) => data.extra.tops?.[measure] ?? 1;

// The mean as a dot and its interval as a line, from 0 to the best; nothing where a value lies above that.
function intervalBar({ mean, low, high }, top = 1) {
  if (mean === null || Math.max(mean, high ?? mean) > top * 1.001) return svg("svg", { class: "interval", "aria-hidden": "true" });
  const at = (value) => `${Math.min(1, Math.max(0, value / top)) * 100}%`;
  const known = low !== undefined && low !== null;
  return svg("svg", { class: "interval", "aria-hidden": "true" },
    svg("line", { class: "axis", x1: 0, x2: "100%", y1: 6, y2: 6 }),
    known && svg("line", { class: "range", x1: at(low), x2: at(high), y1: 6, y2: 6 }),
    svg("circle", { class: "mean", cx: at(mean), cy: 6, r: 3.5 }));
}

// What remains and what is lost step by step, for all questions or for the tag that the list is filtered by.
function lossSection(data, state) {
  const { summary } = data.head;
  const known = (steps) => steps?.some((step) => step.recall !== null);
  if (!known(summary.waterfall) && !summary.recommendations?.length) return null;
  const body = el("div");
  const draw = () => {
    const mine = state.tag ? summary.waterfall_by_tag?.[state.tag] : summary.waterfall;
    const others = state.tag || !data.extra.goldSteps.length ? [] : [[t("gold seeds"), data.extra.goldSteps]];
    body.replaceChildren(
      ...(known(mine) ? [waterfallTable(mine, others, state.tag, summary.k)] : []));
  };
  draw();
  if (summary.waterfall_by_tag) state.listeners.push(draw);
  const advice = (summary.recommendations ?? []).map((line) =>
    el("li", {}, el("span", {}, ticked(adviceWords(line))), line.rule && el("span", { class: "small" }, t(line.rule))));
  return el("section", { "aria-labelledby": "loss" },
    el("h2", { id: "loss" }, t("Where recall is lost")),
    body, lossNotes(summary).map((note) => el("p", { class: "small note" }, note)),
    advice.length > 0 && el("div", { class: "below" }, el("h3", {}, t("Recommendations")), el("ol", { class: "advice" }, advice)));
}

// In the page's language where its words are known, else as the file has it.
function adviceWords({ text, said: template, values }) {
  if (!template || !words[template]) return text;
  return t(template, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, t(value)])));
}

// `words in ticks` and flags are commands.
function ticked(text) {
  return text.split(/`([^`]+)`|(--[a-z][a-z-]*[a-z])/).map((part, at) => (at % 3 && part ? el("code", {}, part) : part)).filter(Boolean);
}

// What the waterfall does not show: linking apart from expansion, ties at rank k.
function lossNotes({ linking, ties }) {
  const notes = [];
  if (linking) notes.push(t("Linking: seed precision {precision}, recall {recall}, over the questions whose seeds the gold set names ({n}).", { precision: figure(linking.seed_precision), recall: figure(linking.seed_recall), n: count(linking.questions) }));
  if (ties?.rate > 0) notes.push(t("Ties at rank {k} in {share} % of the questions: the order of names decides there.", { k: ties.k, share: points(ties.rate) }));
  return notes;
}

// others: the same from other seeds, as [name, steps]. meanings: of the steps, which speak of entities.
function waterfallTable(steps, others, tag, k, meanings = STEPS) {
  const stepWords = (words) => words === "recall@k" ? `recall@${k ?? "k"}` : t(words);
  const rows = steps.map((step) =>
    el("tr", {},
      el("th", { scope: "row" }, stepWords(step.step), meanings[step.step] && el("span", { class: "small" }, stepWords(meanings[step.step]))),
      el("td", { class: "bar" }, lossBar(step)),
      el("td", { class: "number" }, figure(step.recall)),
      el("td", { class: `number ${step.loss > 0 ? "lost" : "none"}` }, step.loss > 0 ? `−${points(step.loss)}` : "0"),
      others.map(([, column]) => el("td", { class: "number other" }, figure(column.find((other) => other.step === step.step)?.recall)))));
  return el("table", { class: "waterfall" },
    tag ? el("caption", {}, t("only"), " ", name(tag)) : null,
    el("thead", {}, el("tr", {},
      el("th", { scope: "col" }, t("step")), el("th", { scope: "col", class: "bar" }, el("span", { class: "hidden" }, t("bar"))),
      el("th", { scope: "col", class: "number" }, others.length ? t("as run") : t("recall")), el("th", { scope: "col", class: "number" }, t("points")),
      others.map(([head]) => el("th", { scope: "col", class: "number other" }, head)))),
    el("tbody", {}, rows));
}

function lossBar({ recall, loss }) {
  const share = (value) => `${Math.max(0, Math.min(1, value ?? 0)) * 100}%`;
  return svg("svg", { class: "loss-bar", "aria-hidden": "true" },
    svg("rect", { class: "back", width: "100%", height: 14, rx: 2 }),
    svg("rect", { class: "kept", width: share(recall), height: 14, rx: 2 }),
    loss > 0 && svg("rect", { class: "gone", x: share(recall), width: share(loss), height: 14, rx: 2 }));
}

// Each tag's means; a tag is a button that filters the list.
function tagSection(data, state) {
  const { summary } = data.head;
  const tags = Object.entries(summary.by_tag ?? {}).sort((a, b) => b[1].questions - a[1].questions || (a[0] < b[0] ? -1 : 1));
  if (!tags.length) return null;
  const measures = Object.keys(summary.measures);
  const buttons = [];
  const rows = tags.map(([tag, part]) => {
    const button = el("button", { type: "button", class: "tag", "aria-pressed": "false", onclick: () => state.set({ tag: state.tag === tag ? "" : tag }, true) }, name(tag, 40));
    buttons.push([tag, button]);
    const means = measures.map((measure) => part.measures[measure] ?? { mean: null, n: 0 });
    const known = means.filter((mean) => mean.mean !== null);
    const n = Math.max(0, ...known.map((mean) => mean.n)), unsure = known.length > 0 && known.every((mean) => mean.reliable === false);
    return el("tr", {},
      el("th", { scope: "row" }, button),
      el("td", { class: "number" }, count(n || part.questions), unsure && " ?", n > 0 && n < part.questions && el("span", { class: "small" }, t("of {n}", { n: count(part.questions) }))),
      known.length
        ? means.map((mean) => el("td", { class: `number ${mean.reliable === false ? "unsure" : ""}` }, figure(mean.mean), intervalBar(mean), el("span", { class: "small" }, rangeWords(mean, n, unsure))))
        : el("td", { class: "number none", colspan: measures.length }, t("no gold")));
  });
  state.listeners.push(() => { for (const [tag, button] of buttons) button.setAttribute("aria-pressed", String(state.tag === tag)); });
  const few = tags.some(([, part]) => Object.values(part.measures).some((mean) => mean.reliable === false && mean.n));
  return el("section", { "aria-labelledby": "tags" },
    el("h2", { id: "tags" }, t("By tag")),
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("Means by tag") },
      el("table", { class: "by-tag" },
        el("thead", {}, el("tr", {},
          el("th", { scope: "col" }, t("tag")), el("th", { scope: "col", class: "number" }, t("questions")),
          measures.map((measure) => el("th", { scope: "col", class: "number" }, measure)))),
        el("tbody", {}, rows))),
    few && el("p", { class: "small" }, t("? unreliable: too few questions affect this number", { n: 30 })));
}
