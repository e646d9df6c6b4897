// Several results of one gold set side by side: which to take, and their means.

function systemSection(data) {
  const compared = data.extra.systems;
  if (!compared) return null;
  const chosen = { measure: compared.measure };
  const body = el("div", { class: "systems" });
  const draw = () => body.replaceChildren(meansTable(compared, chosen.measure));
  const measures = Object.keys(compared.means);
  const control = choice(t("compared by"), chosen.measure, measures.map((measure) => [measure, measure]), (measure) => { chosen.measure = measure; draw(); });
  draw();
  return el("section", { "aria-labelledby": "systems" },
    el("h2", { id: "systems" }, t("Which system to choose")),
    (compared.advice ?? []).map((line, at) => el("p", { class: "advice-line" }, at ? line : el("strong", {}, line))),
    el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, control.element),
    body);
}

const systemName = (compared, at, most = 30) => [name(compared.names[at], most), at === compared.mine && el("span", { class: "small" }, t("this one"))];
const lettersOf = (systems) => systems.map((at) => String.fromCharCode(97 + at)).join("");

function meansTable(compared, measure) {
  const top = Math.max(1, ...compared.means[measure].map((mean) => mean.high ?? mean.mean ?? 0));
  const table = el("table", { class: "by-tag side" },
    el("tbody", {}, compared.means[measure].map((mean, at) => el("tr", {},
      el("td", { class: "letter" }, String.fromCharCode(97 + at)), el("th", { scope: "row" }, systemName(compared, at)),
      el("td", { class: "bar" }, intervalBar(mean, top)),
      el("td", { class: "number" }, figure(mean.mean), compared.better[measure][at].length > 0 && el("sup", {}, lettersOf(compared.better[measure][at]))),
      el("td", { class: "number small" }, intervalWords(mean))))));
  return el("div", {}, scrolling(t("Systems side by side"), table),
    el("p", { class: "small" }, t("{measure}: mean with its 95 % interval. A letter marks a system that is significantly worse (all pairs tested, p < .05 after Holm's correction).", { measure })));
}
