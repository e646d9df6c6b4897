// Results over time: for each gold set a line by result, and the table that says the same in figures.

function historySection(group, at) {
  const measures = [...new Set(group.results.flatMap((result) => Object.keys(result.measures)))];
  const tags = [...new Set(group.results.flatMap((result) => Object.keys(result.by_tag)))];
  const chosen = { measure: measures.find((measure) => measure.startsWith("ndcg")) ?? measures[0], tag: "" };
  const of = (result) => (chosen.tag ? result.by_tag[chosen.tag] : result.measures)?.[chosen.measure] ?? { mean: null, n: 0 };
  const body = el("div");
  const draw = () => {
    const points = group.results.map((result, at) => ({ x: at + 1, y: of(result).mean, low: of(result).low, high: of(result).high })).filter(({ y }) => y !== null);
    body.replaceChildren(...[
      points.length > 1 ? lineChart([{ name: chosen.measure, dashed: false, points }], t("result")) : null,
      el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("Results") }, historyTable(group.results, of, chosen.measure)),
    ].filter(Boolean));
  };
  const controls = [
    choice(t("measure"), chosen.measure, measures.map((measure) => [measure, measure]), (measure) => { chosen.measure = measure; draw(); }),
    tags.length && choice(t("tag"), "", [["", t("all questions")], ...tags.map((tag) => [tag, cut(tag, 40)])], (tag) => { chosen.tag = tag; draw(); }),
  ].filter(Boolean);
  draw();
  return el("section", { "aria-labelledby": `history-${at}` }, el("h2", { id: `history-${at}` }, name(group.dataset || t("Results"))),
    el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, controls.map((control) => control.element)), body);
}

function historyTable(results, of, measure) {
  const heads = [["number", "#"], ["", t("made")], ["", t("result")], ["", t("settings that differ")], ["number", measure], ["number", t("questions")]];
  const before = (at) => (at ? of(results[at - 1]).mean : null);
  return el("table", { class: "by-tag" },
    el("thead", {}, el("tr", {}, heads.map(([kind, head]) => el("th", { scope: "col", class: kind }, head)))),
    el("tbody", {}, results.map((result, at) => {
      const mean = of(result);
      const moved = mean.mean === null || before(at) === null ? null : mean.mean - before(at);
      return el("tr", {},
        el("td", { class: "number" }, String(at + 1)), el("td", { class: "date" }, result.at.slice(0, 16).replace("T", " ")),
        el("th", { scope: "row" }, name(result.name, 60), result.label && el("span", { class: "small" }, name(result.label, 80))),
        el("td", {}, Object.entries(result.differs).map(([key, value]) => `${key} ${value}`).join(", ") || "–"),
        el("td", { class: "number" }, figure(mean.mean), moved ? el("span", { class: moved < 0 ? "lost small" : "small" }, `${moved > 0 ? "+" : ""}${figure(moved)}`) : null, el("span", { class: "small" }, intervalWords(mean))),
        el("td", { class: "number" }, count(result.questions)));
    })));
}

async function main() {
  const page = document.getElementById("page");
  const data = await embedded();
  words = data.words ?? {};
  page.replaceChildren(
    el("header", { class: "masthead" }, el("div", {}, el("h1", {}, t("Results over time")), el("p", { class: "facts" }, el("span", {}, name(data.name)))), themeButton()),
    ...data.groups.map(historySection));
  page.removeAttribute("aria-busy");
}

main();
