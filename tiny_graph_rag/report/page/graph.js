// The whole graph: entities by degree, coloured by type, with their relations; choose one to see what it is tied to.

const TONES = 6;  // types beyond the sixth share a tone

function graphPage(data) {
  const { nodes, edges } = data;
  const size = nodes.name.length;
  const degree = new Array(size).fill(0);
  edges.source.forEach((from, at) => { degree[from]++; degree[edges.target[at]]++; });
  const types = [...new Set(nodes.type)];
  types.sort((a, b) => nodes.type.filter((each) => each === b).length - nodes.type.filter((each) => each === a).length);
  const tone = (type) => `line-${Math.min(types.indexOf(type), TONES - 1)}`;
  const width = 1180, height = Math.max(420, Math.min(820, 300 + size * 4)), margin = 56;
  const most = Math.max(1, ...degree);
  const placed = nodes.name.map((text, at) => ({
    at, label: cut(text.replace(/\s+/g, " "), 16), angle: nodes.x[at] < 0.5 ? Math.PI : 0,
    x: margin + nodes.x[at] * (width - 2 * margin), y: 28 + nodes.y[at] * (height - 56), r: 4 + 9 * Math.sqrt(degree[at] / most),
  }));
  placeLabels(placed, [], width, height, 11);
  const about = el("div", { class: "about", "aria-live": "polite" }, el("p", { class: "nothing" }, t("Choose an entity to see its relations.")));
  const lines = edges.source.map((from, at) => svg("path", { class: "line", d: `M${placed[from].x} ${placed[from].y}L${placed[edges.target[at]].x} ${placed[edges.target[at]].y}` }));
  const groups = placed.map((each) => svg("g", { class: `node ${tone(nodes.type[each.at])}`, role: "button", tabindex: each.at ? "-1" : "0", "aria-pressed": "false", "aria-label": cut(`${nodes.name[each.at]}, ${nodes.type[each.at]}, ${plural(degree[each.at], "relation")}`, 200) },
    svg("circle", { class: "entity", cx: each.x, cy: each.y, r: each.r }),
    svg("text", { class: "label", x: each.labelAt.x, y: each.labelAt.y, "text-anchor": each.labelAt.anchor }, each.label)));
  const picture = svg("svg", { class: "walk graph", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": t("The graph") }, svg("g", { class: "edge" }, lines), groups);
  const choose = (chosen) => {
    const near = new Set([chosen]);
    const rows = [];
    edges.source.forEach((from, at) => {
      const to = edges.target[at];
      const mine = from === chosen || to === chosen;
      lines[at].classList.toggle("on", mine);
      if (!mine) return;
      near.add(from).add(to);
      rows.push(el("li", {}, name(nodes.name[from], 40), el("span", { class: "relation" }, ` —${cut(edges.type[at], 40)}→ `), name(nodes.name[to], 40)));
    });
    picture.classList.add("chosen");
    groups.forEach((group, at) => { group.classList.toggle("on", near.has(at)); group.setAttribute("aria-pressed", String(at === chosen)); });
    about.replaceChildren(el("h2", {}, name(nodes.name[chosen])), el("p", { class: "small" }, cut(nodes.type[chosen], 60)), el("p", {}, cut(nodes.description[chosen], 600)), el("ul", { class: "ties" }, rows));
  };
  groups.forEach((group, at) => {
    group.addEventListener("click", () => choose(at));
    group.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" || event.key === " ") choose(at);
      else if (move) {
        group.setAttribute("tabindex", "-1");
        const next = groups[(at + move + size) % size];
        next.setAttribute("tabindex", "0");
        next.focus();
      } else return;
      event.preventDefault();
    });
  });
  const search = el("input", { type: "search", placeholder: t("a name"), autocomplete: "off", oninput: () => {
    const wanted = search.value.trim().normalize("NFC").toLowerCase();
    const found = wanted ? nodes.name.findIndex((each) => each.normalize("NFC").toLowerCase().includes(wanted)) : -1;
    if (found >= 0) choose(found);
  } });
  return [
    el("header", { class: "masthead" }, el("div", {}, el("h1", {}, name(data.name)),
      el("p", { class: "facts" }, el("span", {}, plural(data.entities, "entity", "entities")), el("span", {}, plural(data.relations, "relation")), el("span", {}, t("{n} drawn", { n: count(size) }))))),
    data.leftOut.length ? el("p", { class: "note small" }, `${t("Not drawn:")} ${data.leftOut.join("; ")}.`) : null,
    el("section", {}, el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, el("label", { class: "grow" }, el("span", {}, t("find")), search)),
      el("div", { class: "canvas graph-canvas" }, picture),
      el("p", { class: "legend" }, types.slice(0, TONES).map((each, at) => el("span", { class: `type-key line-${at}` }, at === TONES - 1 && types.length > TONES ? t("other types") : cut(each, 40))))),
    about,
  ];
}

async function main() {
  const page = document.getElementById("page");
  const data = await embedded();
  words = data.words ?? {};
  page.replaceChildren(...graphPage(data).filter(Boolean));
  page.removeAttribute("aria-busy");
}

main();
