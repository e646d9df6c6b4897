// Sweeps and comparisons: the page of one, or sections in the page of the results that they belong to.

function studies(data) {
  return [data.head, ...data.others].flatMap((each) =>
    each.kind === "sweep" ? sweepSection(each) : each.kind === "comparison" ? comparisonSection(each) : each.kind === "fixes" ? fixSections(each) : []);
}

function sweepSection(sweep) {
  const { settings, recommended } = sweep;
  const measures = [...new Set(settings.flatMap((each) => Object.keys(each.measures)))];
  const tags = [...new Set(settings.flatMap((each) => Object.keys(each.by_tag ?? {})))];
  const chosen = { measure: measures.includes(sweep.decide_by) ? sweep.decide_by : measures[0], tag: "" };
  const body = el("div");
  const draw = () => {
    const best = chosen.tag ? recommended?.by_tag?.[chosen.tag] : recommended?.overall;
    const seen = new Set();
    // A measure without a cutoff stands in the settings of every k; it is shown once.
    const rows = settings.map((each, at) => ({ each, at, part: chosen.tag ? each.by_tag?.[chosen.tag] : each }))
      .filter(({ each, part }) => part?.measures?.[chosen.measure] && !seen.has(`${each.system}\n${each.hops}`) && seen.add(`${each.system}\n${each.hops}`));
    const curve = (name, mine, value, dashed = false) => ({ name, dashed, points: mine.map(({ each, part }) => ({ x: each.hops, ...value(part) })).filter(({ x, y }) => x !== null && y !== null && y !== undefined) });
    const systems = [...new Set(rows.map(({ each }) => each.system))];
    const first = rows.filter(({ each }) => each.system === systems[0]);
    const lines = [
      ...systems.map((system) => curve(cut(system, 40), rows.filter(({ each }) => each.system === system), (part) => { const { mean, low, high } = part.measures[chosen.measure]; return { y: mean, low, high }; })),
      curve(t("oracle recall"), first, (part) => ({ y: part.oracle_recall }), true),
      curve(t("all reachable"), first, (part) => ({ y: part.oracle_all }), true),
    ].filter((line) => line.points.length);
    body.replaceChildren(...[
      lines.length ? lineChart(lines, t("hops")) : null,
      best?.reason ? el("p", { class: "advice-line" }, Number.isInteger(best.hops) ? el("strong", {}, systems.length > 1 && best.system ? `${cut(best.system, 40)}, ` : null, `${plural(best.hops, "hop")}: `) : null, adviceWords({ text: best.reason, said: best.said, values: best.values })) : null,
      el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("Settings") }, settingTable(rows, chosen.measure, best)),
      sweep.rule ? el("p", { class: "small note" }, adviceWords({ text: sweep.rule, ...sweep.rule_told })) : null,
    ].filter(Boolean));
  };
  const controls = [
    choice(t("measure"), chosen.measure, measures.map((each) => [each, each]), (measure) => { chosen.measure = measure; draw(); }),
    tags.length && choice(t("tag"), "", [["", t("all questions")], ...tags.map((each) => [each, cut(each, 40)])], (tag) => { chosen.tag = tag; draw(); }),
  ].filter(Boolean);
  draw();
  return [el("section", { "aria-labelledby": "sweep" },
    el("h2", { id: "sweep" }, t("By hops")), el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, controls.map((each) => each.element)), body)];
}

function settingTable(rows, measure, best) {
  const share = (value) => el("td", { class: "number" }, figure(value));
  const size = (value) => el("td", { class: "number" }, value === null || value === undefined ? "–" : count(Math.round(value)));
  return el("table", { class: "by-tag" },
    el("thead", {}, el("tr", {}, ["system", "hops", measure, "oracle recall", "all reachable", "reached, mean", "reached, p95"].map((each, at) => el("th", { scope: "col", class: at ? "number" : "" }, t(each))))),
    el("tbody", {}, rows.map(({ each, part }) => el("tr", { class: best && Number.isInteger(best.hops) && best.hops === each.hops && (best.system ?? each.system) === each.system ? "best" : "" },
      el("th", { scope: "row" }, name(each.system, 40)), el("td", { class: "number" }, each.hops === null ? "–" : String(each.hops)),
      el("td", { class: "number" }, figure(part.measures[measure].mean), el("span", { class: "small" }, intervalWords(part.measures[measure]))),
      share(part.oracle_recall), share(part.oracle_all), size(each.subgraph?.mean), size(each.subgraph?.p95)))));
}

function comparisonSection(comparison) {
  const tables = Object.entries(comparison.measures).map(([measure, rows]) => {
    const most = Math.max(0.02, ...rows.flatMap((each) => [each.low, each.high, each.difference]).map((value) => Math.abs(value ?? 0)));
    return el("table", { class: "by-tag compared" }, el("caption", {}, measure),
      el("thead", {}, el("tr", {}, ["system", "mean", "difference", "", "p (Holm)", "won / tied / lost"].map((each, at) => el("th", { scope: "col", class: each ? (at ? "number" : "") : "bar" }, each ? t(each) : el("span", { class: "hidden" }, t("interval")))))),
      el("tbody", {}, rows.map((each) => el("tr", {},
        el("th", { scope: "row" }, name(each.system)), el("td", { class: "number" }, figure(each.mean), el("span", { class: "small" }, intervalWords({ low: each.mean_low, high: each.mean_high, n: each.n, reliable: each.mean_reliable }))),
        el("td", { class: "number" }, each.difference === null || each.difference === undefined ? t("baseline") : `${each.difference > 0 ? "+" : ""}${figure(each.difference)}`, el("span", { class: "small" }, each.low === null || each.low === undefined ? "" : `${figure(each.low)} … ${figure(each.high)}${each.reliable === false ? " ?" : ""}`)),
        el("td", { class: "bar" }, differenceBar(each, most)),
        el("td", { class: "number" }, each.p_holm === null || each.p_holm === undefined ? "–" : each.p_holm < 0.001 ? "<.001" : figure(each.p_holm)),
        el("td", { class: "number" }, each.wins === null || each.wins === undefined ? "–" : `${each.wins} / ${each.ties} / ${each.losses}`)))));
  });
  return [el("section", { "aria-labelledby": "comparison" }, el("h2", { id: "comparison" }, t("Compared")),
    (comparison.verdicts ?? []).map((each, at) => el("p", { class: "advice-line" }, el("strong", {}, adviceWords({ text: each, ...comparison.told?.[at] })))),
    scrolling(t("settings that differ"), differing(comparison)),
    scrolling(t("Differences"), tables),
    el("p", { class: "small note" }, t("Differences to {baseline} with 95 % intervals, not corrected for the number of tests; p (Holm) is corrected.", { baseline: cut(comparison.systems?.[0]?.name ?? t("baseline"), 60) })),
    scrolling(t("Speed"), speedTable(comparison.systems ?? [])),
    flipList(comparison.flips ?? [], (comparison.systems ?? []).length > 2))];
}

// Tables that scroll sideways where they don't fit; nothing for none.
function scrolling(said, tables) {
  return tables && el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": said }, tables);
}

// What the systems were made with, as far as it is not the same.
function differing({ differs, systems }) {
  const rows = Object.entries(differs ?? {});
  if (!rows.length) return null;
  const said = (value) => (value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value));
  return el("table", { class: "by-tag" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("differs")), systems.map((each) => el("th", { scope: "col" }, name(each.name, 40))))),
    el("tbody", {}, rows.map(([setting, values]) => el("tr", {}, el("th", { scope: "row" }, setting), values.map((value) => el("td", {}, el("bdi", {}, cut(said(value), 60))))))));
}

const SPEEDS = { "latency.mean": "seconds per question", "latency.p50": "p50", "latency.p95": "p95", throughput: "questions a second" };

function speedTable(systems) {
  const names = Object.keys(SPEEDS).filter((each) => systems.some((system) => system.speed?.[each] !== undefined));
  if (!names.length) return null;
  return el("table", { class: "by-tag" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("system")), names.map((each) => el("th", { scope: "col", class: "number" }, t(SPEEDS[each]))))),
    el("tbody", {}, systems.map((system) => el("tr", {}, el("th", { scope: "row" }, name(system.name, 40)), names.map((each) => el("td", { class: "number" }, system.speed?.[each] === undefined ? "–" : String(Number(system.speed[each].toPrecision(3)))))))));
}

const FLIPS_SHOWN = 200;

// several: systems besides the baseline, so that each flip says whose it is.
function flipList(flips, several) {
  if (!flips.length) return null;
  const rows = flips.slice(0, FLIPS_SHOWN).map((each) => el("tr", {},
    el("td", { class: each.change === "lost" ? "lost" : "" }, t(each.change)), several && el("td", {}, name(each.system, 40)),
    el("th", { scope: "row" }, name(each.query || each.id, 200), each.query && el("div", { class: "small" }, name(each.id, 60))),
    el("td", {}, each.references.map((one) => el("div", {}, name(one.name, 60), `: ${verdictWords(one.before)} → ${verdictWords(one.after)}`)))));
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("Flips") },
    el("table", { class: "by-tag flips" }, el("caption", {}, t("{n} questions flipped", { n: count(flips.length) })),
      el("thead", {}, el("tr", {}, ["change", "system", "question", "references"].filter((each) => several || each !== "system").map((each) => el("th", { scope: "col" }, t(each))))),
      el("tbody", {}, rows)),
    flips.length > FLIPS_SHOWN && el("p", { class: "small" }, t("The first {n}; the file has them all.", { n: FLIPS_SHOWN })));
}
