// The whole graph: entities by degree, coloured by type, with their relations; choose one to see what it is tied to.

const TONES = 6;  // types beyond the sixth share a tone
const LABEL_SIZE = 11, RELATION_SIZE = 10;  // px
const CROWDED = 80;  // px² of others that a label may cover; one that covers more shows once its entity is chosen

function graphPage(data) {
  const { nodes, edges } = data;
  const size = nodes.name.length;
  const degree = new Array(size).fill(0);
  edges.source.forEach((from, at) => { degree[from]++; degree[edges.target[at]]++; });
  const types = [...new Set(nodes.type)];
  types.sort((a, b) => nodes.type.filter((type) => type === b).length - nodes.type.filter((type) => type === a).length);
  const tone = (type) => `line-${Math.min(types.indexOf(type), TONES - 1)}`;
  const narrow = innerWidth < 700;  // drawn as wide as the screen is and higher than wide, so that words keep their size
  const width = narrow ? Math.max(300, innerWidth - 36) : 1180, margin = narrow ? 26 : 56;
  const height = narrow ? Math.max(360, Math.min(900, 240 + size * 5)) : Math.max(420, Math.min(820, 300 + size * 4));
  const most = Math.max(1, ...degree);
  const placed = nodes.name.map((text, at) => ({
    at, label: cut(text.replace(/\s+/g, " "), narrow ? 11 : 16), angle: nodes.x[at] < 0.5 ? Math.PI : 0,
    x: margin + nodes.x[at] * (width - 2 * margin), y: 28 + nodes.y[at] * (height - 56), r: (narrow ? 3 : 4) + (narrow ? 6 : 9) * Math.sqrt(degree[at] / most),
  }));
  placeLabels(placed, [], width, height, LABEL_SIZE);
  const about = el("div", { class: "about", "aria-live": "polite" }, el("p", { class: "nothing" }, t("Choose an entity to see its relations.")));
  const tip = el("div", { class: "tip", hidden: true });
  const relationWords = (at) => [name(nodes.name[edges.source[at]], 40), el("span", { class: "relation" }, ` —${cut(edges.type[at], 40)}→ `), name(nodes.name[edges.target[at]], 40)];
  const ends = edges.source.map((from, at) => [placed[from], placed[edges.target[at]]]);
  const lines = ends.map(([from, to]) => svg("path", { class: "line", d: `M${from.x} ${from.y}L${to.x} ${to.y}` }));
  // A wider line that nobody sees, so that a finger or a mouse can find the thin one.
  const reach = ends.map(([from, to]) => svg("path", { class: "reach", d: `M${from.x} ${from.y}L${to.x} ${to.y}` }));
  const named = svg("g", { class: "names" });
  const groups = placed.map((node) => svg("g", { class: `node ${tone(nodes.type[node.at])} ${node.labelAt.over > CROWDED ? "crowded" : ""}`, role: "button", tabindex: node.at ? "-1" : "0", "aria-pressed": "false", "aria-label": cut(`${nodes.name[node.at]}, ${nodes.type[node.at]}, ${plural(degree[node.at], "relation")}`, 200) },
    svg("circle", { class: "entity", cx: node.x, cy: node.y, r: node.r }),
    svg("text", { class: "label", x: node.labelAt.x, y: node.labelAt.y, "text-anchor": node.labelAt.anchor }, node.label)));
  const picture = svg("svg", { class: "walk graph", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": t("The graph") }, svg("g", { class: "edge" }, lines, reach), named, groups);
  // The relations of an entity, written along its lines as far as they fit.
  const nameAlong = (at) => {
    const [from, to] = ends[at];
    const dx = to.x - from.x, dy = to.y - from.y, room = Math.hypot(dx, dy) - from.r - to.r - 8;
    const fits = Math.floor(room / (textWidth(edges.type[at], RELATION_SIZE) / Math.max(1, edges.type[at].length)));
    if (fits < 4) return null;
    const [x, y, angle] = [(from.x + to.x) / 2, (from.y + to.y) / 2, (Math.atan2(dy, dx) * 180) / Math.PI];
    return svg("text", { class: "relation", x, y: y - 3, "text-anchor": "middle", transform: `rotate(${Math.abs(angle) > 90 ? angle + 180 : angle} ${x} ${y})` }, cut(edges.type[at], fits));
  };
  const canvas = el("div", { class: "canvas graph-canvas" }, picture, tip);
  const hide = () => { tip.hidden = true; };
  reach.forEach((line, at) => {
    const show = (event) => {
      tip.replaceChildren(el("span", {}, relationWords(at)));
      tip.hidden = false;
      const box = canvas.getBoundingClientRect();
      tip.style.left = `${Math.max(4, Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${event.clientY - box.top + 18}px`;
    };
    line.addEventListener("pointermove", show);
    line.addEventListener("click", show);
    line.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  });
  const choose = (chosen) => {
    const near = new Set([chosen]);
    const rows = [], along = [];
    hide();
    edges.source.forEach((from, at) => {
      const to = edges.target[at];
      const mine = from === chosen || to === chosen;
      lines[at].classList.toggle("on", mine);
      if (!mine) return;
      near.add(from).add(to);
      rows.push(el("li", {}, relationWords(at)));
      along.push(nameAlong(at));
    });
    named.replaceChildren(...along.filter(Boolean));
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
    const match = wanted ? nodes.name.findIndex((text) => text.normalize("NFC").toLowerCase().includes(wanted)) : -1;
    if (match >= 0) choose(match);
  } });
  return [
    el("header", { class: "masthead" }, el("div", {}, el("h1", {}, name(data.name)),
      el("p", { class: "facts" }, el("span", {}, plural(data.entities, "entity", "entities")), el("span", {}, plural(data.relations, "relation")), el("span", {}, t("{n} drawn", { n: count(size) }))))),
    data.leftOut.length ? el("p", { class: "note small" }, `${t("Not drawn:")} ${data.leftOut.join("; ")}.`) : null,
    el("section", {}, el("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, el("label", { class: "grow" }, el("span", {}, t("find")), search)),
      canvas,
      el("p", { class: "legend" }, types.slice(0, TONES).map((type, at) => el("span", { class: `type-key line-${at}` }, at === TONES - 1 && types.length > TONES ? t("other types") : cut(type, 40))))),
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
