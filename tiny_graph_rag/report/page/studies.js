// Sweeps and comparisons: the page of one, or sections in the page of the results that they belong to.

function studies(data) {
  return [data.head, ...data.others].flatMap((study) =>
    study.kind === "sweep" ? sweepSection(study) : study.kind === "comparison" ? comparisonSection(study) : study.kind === "fixes" ? fixSections(study) : []);
}

function sweepSection(sweep) {
  const { settings, recommended } = sweep;
  const measures = [...new Set(settings.flatMap((setting) => Object.keys(setting.measures)))];
  const tags = [...new Set(settings.flatMap((setting) => Object.keys(setting.by_tag ?? {})))];
  const chosen = { measure: measures.includes(sweep.decide_by) ? sweep.decide_by : measures[0], tag: "" };
  const body = el("div");
  const draw = () => {
    const best = chosen.tag ? recommended?.by_tag?.[chosen.tag] : recommended?.overall;
    const seen = new Set();
    // A measure without a cutoff stands in the settings of every k; it is shown once.
    const rows = settings.map((setting, at) => ({ setting, at, part: chosen.tag ? setting.by_tag?.[chosen.tag] : setting }))
      .filter(({ setting, part }) => part?.measures?.[chosen.measure] && !seen.has(`${setting.system}\n${setting.hops}`) && seen.add(`${setting.system}\n${setting.hops}`));
    const curve = (name, mine, value, dashed = false) => ({ name, dashed, points: mine.map(({ setting, part }) => ({ x: setting.hops, ...value(part) })).filter(({ x, y }) => x !== null && y !== null && y !== undefined) });
    const systems = [...new Set(rows.map(({ setting }) => setting.system))];
    const first = rows.filter(({ setting }) => setting.system === systems[0]);
    const lines = [
      ...systems.map((system) => curve(cut(system, 40), rows.filter(({ setting }) => setting.system === system), (part) => { const { mean, low, high } = part.measures[chosen.measure]; return { y: mean, low, high }; })),
      curve(t("reachable"), first, (part) => ({ y: part.oracle_recall }), true),
    ].filter((line) => line.points.length);
    body.replaceChildren(...[
      lines.length ? lineChart(lines, t("hops")) : null,
      best?.reason ? el("p", { class: "advice-line" }, t(best.setting === null ? "No recommendation: {reason}" : "Recommended: {reason}", { reason: adviceWords({ text: best.reason, said: best.said, values: best.values }) })) : null,
      el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("Settings") }, settingTable(rows, chosen.measure, best)),
      sweep.rule ? el("p", { class: "small note" }, adviceWords({ text: sweep.rule, ...sweep.rule_told })) : null,
    ].filter(Boolean));
  };
  const controls = [
    choice(t("measure"), chosen.measure, measures.map((measure) => [measure, measure]), (measure) => { chosen.measure = measure; draw(); }),
    tags.length && choice(t("tag"), "", [["", t("all questions")], ...tags.map((tag) => [tag, cut(tag, 40)])], (tag) => { chosen.tag = tag; draw(); }),
  ].filter(Boolean);
  draw();
  return [el("section", { "aria-labelledby": "sweep" },
    el("h2", { id: "sweep" }, t("By hops")), el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, controls.map((control) => control.element)), body)];
}

function settingTable(rows, measure, best) {
  return el("table", { class: "by-tag" },
    el("thead", {}, el("tr", {}, ["system", "hops", measure, "reachable"].map((head, at) => el("th", { scope: "col", class: at ? "number" : "" }, t(head))))),
    el("tbody", {}, rows.map(({ setting, part }) => el("tr", { class: best && Number.isInteger(best.hops) && best.hops === setting.hops && (best.system ?? setting.system) === setting.system ? "best" : "" },
      el("th", { scope: "row" }, name(setting.system, 40)), el("td", { class: "number" }, setting.hops === null ? "–" : String(setting.hops)),
      el("td", { class: "number" }, figure(part.measures[measure].mean), el("span", { class: "small" }, intervalWords(part.measures[measure]))),
      el("td", { class: "number" }, figure(part.oracle_recall))))));
}

function comparisonSection(comparison) {
  const tables = Object.entries(comparison.measures).map(([measure, rows]) => {
    const most = Math.max(0.02, ...rows.flatMap((row) => [row.low, row.high, row.difference]).map((value) => Math.abs(value ?? 0)));
    return el("table", { class: "by-tag compared" }, el("caption", {}, measure),
      el("thead", {}, el("tr", {}, ["system", "mean", "difference", "", "p (Holm)", "won / tied / lost"].map((head, at) => el("th", { scope: "col", class: head ? (at ? "number" : "") : "bar" }, head ? t(head) : el("span", { class: "hidden" }, t("interval")))))),
      el("tbody", {}, rows.map((row) => el("tr", {},
        el("th", { scope: "row" }, name(row.system)), el("td", { class: "number" }, figure(row.mean), el("span", { class: "small" }, intervalWords({ low: row.mean_low, high: row.mean_high, n: row.n, reliable: row.mean_reliable }))),
        el("td", { class: "number" }, row.difference === null || row.difference === undefined ? t("baseline") : `${row.difference > 0 ? "+" : ""}${figure(row.difference)}`, el("span", { class: "small" }, row.low === null || row.low === undefined ? "" : `${figure(row.low)} … ${figure(row.high)}${row.reliable === false ? " ?" : ""}`)),
        el("td", { class: "bar" }, differenceBar(row, most)),
        el("td", { class: "number" }, row.p_holm === null || row.p_holm === undefined ? "–" : row.p_holm < 0.001 ? "<.001" : figure(row.p_holm)),
        el("td", { class: "number" }, row.wins === null || row.wins === undefined ? "–" : `${row.wins} / ${row.ties} / ${row.losses}`)))));
  });
  return [el("section", { "aria-labelledby": "comparison" }, el("h2", { id: "comparison" }, t("Compared")),
    (comparison.verdicts ?? []).map((verdict, at) => el("p", { class: "advice-line" }, el("strong", {}, adviceWords({ text: verdict, ...comparison.told?.[at] })))),
    scrolling(t("settings that differ"), differing(comparison)),
    scrolling(t("Differences"), tables),
    el("p", { class: "small note" }, t("Differences to {baseline} with 95 % intervals, not corrected for the number of tests; p (Holm) is corrected.", { baseline: cut(comparison.systems?.[0]?.name ?? t("baseline"), 60) })),
    scrolling(t("Speed"), speedTable(comparison.systems ?? [])),
    flipList(comparison.flips ?? [], (comparison.systems ?? []).length > 2))];
}

// Tables that scroll sideways where they don't fit; nothing for none.
function scrolling(label, tables) {
  return tables && el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, tables);
}

// What the systems were made with, as far as it is not the same.
function differing({ differs, systems }) {
  const rows = Object.entries(differs ?? {});
  if (!rows.length) return null;
  const valueWords = (value) => (value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value));
  return el("table", { class: "by-tag" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("differs")), systems.map((system) => el("th", { scope: "col" }, name(system.name, 40))))),
    el("tbody", {}, rows.map(([setting, values]) => el("tr", {}, el("th", { scope: "row" }, setting), values.map((value) => el("td", {}, el("bdi", {}, cut(valueWords(value), 60))))))));
}

const SPEEDS = { "latency.mean": "seconds per question", "latency.p50": "p50", "latency.p95": "p95", throughput: "questions per second" };

function speedTable(systems) {
  const names = Object.keys(SPEEDS).filter((measure) => systems.some((system) => system.speed?.[measure] !== undefined));
  if (!names.length) return null;
  return el("table", { class: "by-tag" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("system")), names.map((measure) => el("th", { scope: "col", class: "number" }, t(SPEEDS[measure]))))),
    el("tbody", {}, systems.map((system) => el("tr", {}, el("th", { scope: "row" }, name(system.name, 40)), names.map((measure) => el("td", { class: "number" }, system.speed?.[measure] === undefined ? "–" : String(Number(system.speed[measure].toPrecision(3)))))))));
}

const FLIPS_SHOWN = 200;

// several: systems besides the baseline, so that each flip says whose it is.
function flipList(flips, several) {
  if (!flips.length) return null;
  const rows = flips.slice(0, FLIPS_SHOWN).map((flip) => el("tr", {},
    el("td", { class: flip.change === "lost" ? "lost" : "" }, t(flip.change)), several && el("td", {}, name(flip.system, 40)),
    el("th", { scope: "row" }, name(flip.query || flip.id, 200), flip.query && el("div", { class: "small" }, name(flip.id, 60))),
    el("td", {}, flip.references.map((reference) => el("div", {}, name(reference.name, 60), `: ${verdictWords(reference.before)} → ${verdictWords(reference.after)}`)))));
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("Flips") },
    el("table", { class: "by-tag flips" }, el("caption", {}, t("questions flipped: {n}", { n: count(flips.length) })),
      el("thead", {}, el("tr", {}, ["change", "system", "question", "references"].filter((head) => several || head !== "system").map((head) => el("th", { scope: "col" }, t(head))))),
      el("tbody", {}, rows)),
    flips.length > FLIPS_SHOWN && el("p", { class: "small" }, t("The first {n}; the file has them all.", { n: FLIPS_SHOWN })));
}
