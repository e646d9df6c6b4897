// Several results of one gold set side by side: which to take, means, tags, questions, first hits, precision and recall.

function systemSection(data) {
  const compared = data.extra.systems;
  if (!compared) return null;
  const chosen = { measure: compared.measure };
  const body = el("div", { class: "systems" });
  const draw = () => body.replaceChildren(...[
    meansTable(compared, chosen.measure), heatTable(compared, chosen.measure), differencePictures(compared, chosen.measure),
  ].filter(Boolean));
  const measures = Object.keys(compared.means);
  const control = choice(t("compared by"), chosen.measure, measures.map((measure) => [measure, measure]), (measure) => { chosen.measure = measure; draw(); });
  draw();
  return el("section", { "aria-labelledby": "systems" },
    el("h2", { id: "systems" }, t("Which system to choose")),
    (compared.advice ?? []).map((line, at) => el("p", { class: "advice-line" }, at ? line : el("strong", {}, line))),
    el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, control.element),
    body,
    el("div", { class: "pictures" }, firstHitPicture(compared), precisionRecallPicture(compared)));
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

// Tags by systems, darker where the mean is higher.
function heatTable(compared, measure) {
  const rows = Object.entries(compared.heat[measure]);
  if (!rows.length) return null;
  const known = rows.flatMap(([, means]) => means).filter((mean) => mean !== null);
  const top = Math.max(1, ...known);
  return scrolling(t("{measure} by tag and system", { measure }), el("table", { class: "by-tag heat" },
    el("caption", {}, t("{measure} by tag and system", { measure })),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("tag")), compared.names.map((_, at) => el("th", { scope: "col" }, systemName(compared, at, 20))))),
    el("tbody", {}, rows.map(([tag, means]) => el("tr", {}, el("th", { scope: "row" }, name(tag, 40)),
      means.map((mean) => el("td", { class: `tone-${mean === null ? "none" : Math.min(9, Math.floor((mean / top) * 10))}` }, figure(mean))))))));
}

// For each system against the first: a bar a question, the smallest difference first.
function differencePictures(compared, measure) {
  const most = Math.max(0.02, ...Object.values(compared.differences[measure]).flatMap(({ values }) => values.map(Math.abs)));
  const pictures = Object.entries(compared.differences[measure]).map(([system, { values, better, equal, worse }]) => {
    const width = 300, height = 130;
    const wide = width / Math.max(1, values.length), y = (value) => height / 2 - (value / most) * (height / 2 - 4);
    const words = t("better {better} · equal {equal} · worse {worse}", { better: count(better), equal: count(equal), worse: count(worse) });
    return el("figure", { class: "small-picture" }, el("figcaption", {}, name(system, 30), el("span", { class: "small" }, words)),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${cut(system, 30)}: ${words}` },
        svg("line", { class: "grid", x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
        svg("text", { class: "tick", x: 0, y: 12 }, `+${figure(most)}`), svg("text", { class: "tick", x: width, y: height - 4, "text-anchor": "end" }, figure(-most)),
        values.map((value, at) => value !== 0 && svg("rect", { class: value > 0 ? "up" : "down", x: at * wide, width: Math.max(0.6, wide - 0.4), y: Math.min(y(0), y(value)), height: Math.abs(y(value) - y(0)) }))));
  });
  if (!pictures.length) return null;
  return el("div", {}, el("h3", {}, t("{measure} by question against {baseline}, sorted", { measure, baseline: cut(compared.names[0], 30) })), el("div", { class: "pictures" }, pictures));
}

// At which rank the questions have their first reference: a bar a system.
function firstHitPicture({ names, mine, firstHits: { heads, rows } }) {
  const all = [...heads, t("later or never")];
  return el("figure", { class: "small-picture wide-picture" }, el("figcaption", {}, t("Rank of the first hit")),
    el("div", { class: "first-hits" }, rows.map((counts, at) => {
      const total = Math.max(1, counts.reduce((sum, many) => sum + many, 0));
      let before = 0;
      const words = counts.map((many, rank) => `${all[rank]}: ${many}`).join(", ");
      const parts = counts.map((many, rank) => {
        const part = svg("rect", { class: `first-${rank}`, x: `${(before / total) * 100}%`, width: `${(many / total) * 100}%`, height: 18 }, svg("title", {}, `${all[rank]}: ${count(many)}`));
        before += many;
        return part;
      });
      return [el("span", { class: "of" }, systemName({ names, mine }, at, 24)), svg("svg", { class: "first-bar", role: "img", "aria-label": words }, parts)];
    })),
    el("p", { class: "legend" }, all.map((head, rank) => el("span", { class: `key-first first-${rank}` }, head))));
}

// A line a system: precision against recall at the ranks 1, 2, …
function precisionRecallPicture({ names, curves }) {
  const width = 420, height = 300, left = 44, right = 12, top = 10, bottom = 44;
  const px = (x) => left + x * (width - left - right), py = (y) => top + (1 - y) * (height - top - bottom);
  const ticks = [0, 0.25, 0.5, 0.75, 1], tick = (value) => value.toFixed(2).replace(/0$/, "");
  return el("figure", { class: "small-picture wide-picture" }, el("figcaption", {}, t("Precision and recall by rank")),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": t("Precision and recall by rank") },
      ticks.map((value) => [
        svg("line", { class: "grid", x1: left, x2: width - right, y1: py(value), y2: py(value) }),
        svg("text", { class: "tick", x: left - 6, y: py(value) + 4, "text-anchor": "end" }, tick(value)),
        svg("text", { class: "tick", x: px(value), y: height - bottom + 16, "text-anchor": "middle" }, tick(value)),
      ]),
      svg("text", { class: "tick", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, t("recall at rank k")),
      svg("text", { class: "tick", x: 10, y: (top + height - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 10 ${(top + height - bottom) / 2})` }, t("precision at rank k")),
      curves.map(({ precision, recall }, at) => svg("g", { class: `line-${at % 6}` },
        svg("polyline", { class: "curve", points: recall.map((value, rank) => `${px(value)},${py(precision[rank])}`).join(" ") }),
        recall.map((value, rank) => svg("circle", { class: "point", cx: px(value), cy: py(precision[rank]), r: 2.5 }, svg("title", {}, `${cut(names[at], 30)}, k = ${rank + 1}: ${figure(precision[rank])}, ${figure(value)}`)))))),
    el("p", { class: "legend" }, names.map((system, at) => el("span", { class: `type-key line-${at % 6}` }, name(system, 30)))));
}
