// Sweeps and comparisons: the page of one, or sections in the page of the results that they belong to.

function studies(data) {
  return [data.head, ...data.others].flatMap((each) =>
    each.kind === "sweep" ? sweepSection(each) : each.kind === "comparison" ? comparisonSection(each) : []);
}

function sweepSection(sweep) {
  const { settings, recommended } = sweep;
  const measures = [...new Set(settings.flatMap((each) => Object.keys(each.measures)))];
  const tags = [...new Set(settings.flatMap((each) => Object.keys(each.by_tag ?? {})))];
  const cutoffs = [...new Set(settings.map((each) => each.top_k))];
  const chosen = { measure: measures.find((each) => each.startsWith("ndcg")) ?? measures[0], tag: "", k: String(cutoffs[0]) };
  const body = el("div");
  const part = (each) => (chosen.tag ? each.by_tag?.[chosen.tag] : each);
  const draw = () => {
    const best = chosen.tag ? recommended?.by_tag?.[chosen.tag] : recommended?.overall;
    const mine = settings.map((each, at) => ({ each, at, part: part(each) })).filter(({ each, part }) => part && String(each.top_k) === chosen.k);
    const curve = (name, rows, value, dashed = false) => ({ name, dashed, points: rows.map(({ each, part }) => ({ x: each.hops, ...value(part) })).filter(({ y }) => y !== null && y !== undefined) });
    const retrievers = [...new Set(mine.map(({ each }) => each.retriever))];
    const lines = retrievers.map((retriever) => curve(retriever, mine.filter(({ each }) => each.retriever === retriever), (part) => { const mean = part.measures?.[chosen.measure]; return { y: mean?.mean, low: mean?.low, high: mean?.high }; }));
    const first = mine.filter(({ each }) => each.retriever === retrievers[0]);
    lines.push(curve("oracle recall", first, (part) => ({ y: part.oracle_recall }), true), curve("oracle, all found", first, (part) => ({ y: part.oracle_all }), true));
    const drawn = lines.filter((line) => line.points.length);
    body.replaceChildren(...[
      drawn.length ? lineChart(drawn, "hops") : null,
      best ? el("p", { class: "advice-line" }, `Recommended: ${settingWords(settings, best)}. `, best.reason ?? "") : null,
      el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Settings" }, settingTable(mine, measures, best)),
    ].filter(Boolean));
  };
  const controls = [
    choice("measure", chosen.measure, measures.map((each) => [each, each]), (measure) => { chosen.measure = measure; draw(); }),
    tags.length && choice("tag", "", [["", "all questions"], ...tags.map((each) => [each, cut(each, 40)])], (tag) => { chosen.tag = tag; draw(); }),
    cutoffs.length > 1 && choice("k", chosen.k, cutoffs.map((each) => [String(each), String(each)]), (k) => { chosen.k = k; draw(); }),
  ].filter(Boolean);
  draw();
  return [el("section", { "aria-labelledby": "sweep" },
    el("h2", { id: "sweep" }, "By hops"), el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, controls.map((each) => each.element)), body)];
}

function settingWords(settings, best) {
  const found = settings[best.setting] ?? best;
  return [found.retriever, found.hops !== undefined && found.hops !== null && plural(found.hops, "hop")].filter(Boolean).join(", ");
}

function settingTable(rows, measures, best) {
  return el("table", { class: "by-tag" },
    el("thead", {}, el("tr", {}, ["retriever", "hops", ...measures, "oracle recall", "retrieved"].map((each, at) => el("th", { scope: "col", class: at ? "number" : "" }, each)))),
    el("tbody", {}, rows.map(({ each, at, part }) => el("tr", { class: best && (best.setting === at || (best.setting === undefined && best.hops === each.hops)) ? "best" : "" },
      el("th", { scope: "row" }, each.retriever), el("td", { class: "number" }, each.hops === null ? "–" : String(each.hops)),
      measures.map((measure) => el("td", { class: "number" }, figure(part.measures?.[measure]?.mean), el("span", { class: "small" }, part.measures?.[measure] ? intervalWords(part.measures[measure]) : ""))),
      el("td", { class: "number" }, figure(part.oracle_recall)),
      el("td", { class: "number" }, each.subgraph?.mean === undefined || each.subgraph?.mean === null ? "–" : `${each.subgraph.mean.toFixed(0)}`)))));
}

function comparisonSection(comparison) {
  const tables = Object.entries(comparison.measures).map(([measure, rows]) => {
    const most = Math.max(0.02, ...rows.flatMap((each) => [each.low, each.high, each.difference]).map((value) => Math.abs(value ?? 0)));
    return el("table", { class: "by-tag compared" }, el("caption", {}, measure),
      el("thead", {}, el("tr", {}, ["system", "mean", "difference", "", "p (Holm)", "won / tied / lost"].map((each, at) => el("th", { scope: "col", class: at ? "number" : "" }, each || el("span", { class: "hidden" }, "interval"))))),
      el("tbody", {}, rows.map((each) => el("tr", {},
        el("th", { scope: "row" }, name(each.system)), el("td", { class: "number" }, figure(each.mean)),
        el("td", { class: "number" }, each.difference === null || each.difference === undefined ? "baseline" : `${each.difference > 0 ? "+" : ""}${figure(each.difference)}`, el("span", { class: "small" }, each.low === null || each.low === undefined ? "" : `${figure(each.low)} – ${figure(each.high)}`)),
        el("td", {}, differenceBar(each, most)),
        el("td", { class: "number" }, each.p_holm === null || each.p_holm === undefined ? "–" : each.p_holm < 0.001 ? "< 0.001" : figure(each.p_holm)),
        el("td", { class: "number" }, each.wins === null || each.wins === undefined ? "–" : `${each.wins} / ${each.ties} / ${each.losses}`)))));
  });
  return [el("section", { "aria-labelledby": "comparison" }, el("h2", { id: "comparison" }, "Compared"),
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-labelledby": "comparison" }, tables))];
}
