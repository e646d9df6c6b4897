// Results over time: for each gold set a line by result, and the table that says the same in figures.

function historySection(group, at) {
  const measures = [...new Set(group.results.flatMap((each) => Object.keys(each.measures)))];
  const tags = [...new Set(group.results.flatMap((each) => Object.keys(each.by_tag)))];
  const chosen = { measure: measures.find((each) => each.startsWith("ndcg")) ?? measures[0], tag: "" };
  const of = (each) => (chosen.tag ? each.by_tag[chosen.tag] : each.measures)?.[chosen.measure] ?? { mean: null, n: 0 };
  const body = el("div");
  const draw = () => {
    const points = group.results.map((each, place) => ({ x: place + 1, y: of(each).mean, low: of(each).low, high: of(each).high })).filter(({ y }) => y !== null);
    body.replaceChildren(...[
      points.length > 1 ? lineChart([{ name: chosen.measure, dashed: false, points }], t("result")) : null,
      el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": t("Results") }, historyTable(group.results, of, chosen.measure)),
    ].filter(Boolean));
  };
  const controls = [
    choice(t("measure"), chosen.measure, measures.map((each) => [each, each]), (measure) => { chosen.measure = measure; draw(); }),
    tags.length && choice(t("tag"), "", [["", t("all questions")], ...tags.map((each) => [each, cut(each, 40)])], (tag) => { chosen.tag = tag; draw(); }),
  ].filter(Boolean);
  draw();
  return el("section", { "aria-labelledby": `history-${at}` }, el("h2", { id: `history-${at}` }, name(group.dataset || t("Results"))),
    el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, controls.map((each) => each.element)), body);
}

function historyTable(results, of, measure) {
  const heads = [["number", "#"], ["", t("made")], ["", t("result")], ["", t("settings that differ")], ["number", measure], ["number", t("questions")]];
  const before = (place) => (place ? of(results[place - 1]).mean : null);
  return el("table", { class: "by-tag" },
    el("thead", {}, el("tr", {}, heads.map(([kind, said]) => el("th", { scope: "col", class: kind }, said)))),
    el("tbody", {}, results.map((each, place) => {
      const mean = of(each);
      const moved = mean.mean === null || before(place) === null ? null : mean.mean - before(place);
      return el("tr", {},
        el("td", { class: "number" }, String(place + 1)), el("td", { class: "date" }, each.at.slice(0, 16).replace("T", " ")),
        el("th", { scope: "row" }, name(each.name, 60), each.label && el("span", { class: "small" }, name(each.label, 80))),
        el("td", {}, Object.entries(each.differs).map(([key, value]) => `${key} ${value}`).join(", ") || "–"),
        el("td", { class: "number" }, figure(mean.mean), moved ? el("span", { class: moved < 0 ? "lost small" : "small" }, `${moved > 0 ? "+" : ""}${figure(moved)}`) : null, el("span", { class: "small" }, intervalWords(mean))),
        el("td", { class: "number" }, count(each.questions)));
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
