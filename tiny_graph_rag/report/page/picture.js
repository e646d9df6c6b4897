// The picture of one question's walk. Every node can be reached by keyboard and followed back to its seed.

const LABEL = 12, RELATION = 10;  // px

function walkPicture(question, data, width) {
  const k = data.head.summary?.k ?? 10;
  const { nodes, edges, leftOut } = walkGraph(question, k);
  if (!edges.length) return null;  // nothing walked: a run from elsewhere, or no seed
  const narrow = width < 560;
  for (const node of nodes) {
    node.name = data.entityRow.has(node.id) ? data.nameOf(node.id) : node.reference?.name ?? question.ranked.find((row) => row.id === node.id)?.name ?? node.id;
    node.label = cut(node.name.replace(/\s+/g, " "), narrow ? 11 : 18);
  }
  const { height, rings, middle, floor } = placeWalk(nodes, width);
  const taken = placeLabels(nodes, edges, width, height, LABEL);
  for (const ring of rings) ring.label = plural(ring.hop, "hop");
  placeRingLabels(rings, { x: width / 2, y: middle }, taken, RELATION);
  const order = [...nodes].sort((a, b) => Number(b.seed) - Number(a.seed) || (a.rank ?? 999) - (b.rank ?? 999));
  const tip = el("div", { class: "tip", hidden: true });
  const followed = el("p", { class: "followed", "aria-live": "polite" }, t("Select an entity to see its path."));
  const written = [];
  const paths = new Map(edges.map((edge) => [edge, edgeGroup(edge, edges, written)]));
  const groups = new Map(order.map((node) => [node, nodeGroup(node)]));
  const picture = svg("svg", { class: "walk", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": t("Paths through the graph: seeds in the middle, one ring per hop") },
    svg("defs", {}, ["walk", "path"].map((kind) =>
      svg("marker", { id: `arrow-${kind}`, class: `arrow ${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z" })))),
    rings.map((ring) => [
      svg("ellipse", { class: "ring", cx: width / 2, cy: middle, rx: ring.rx, ry: ring.ry }),
      svg("text", { class: "ring-label", x: ring.x, y: ring.y, "text-anchor": "middle" }, ring.label),
    ]),
    floor !== null && [
      svg("line", { class: "floor", x1: 16, x2: width - 16, y1: floor + 8, y2: floor + 8 }),
      svg("text", { class: "ring-label", x: 16, y: floor + 24 }, question.references.some((reference) => reference.verdict) ? t("no path is known to these") : t("not among the entities shown")),
    ],
    [...paths.values()], [...groups.values()]);

  const show = (parts, x, y) => {
    tip.replaceChildren(...parts);
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 18}px`;
  };
  const hide = () => { tip.hidden = true; };
  const choose = (chosen) => {
    const on = new Set();
    const steps = [];
    for (let at = chosen; at; at = at.parent?.node) {
      on.add(at);
      if (at.parent) { on.add(at.parent.edge); steps.unshift(at.parent.step); }
    }
    picture.classList.add("chosen");
    for (const [part, group] of [...paths, ...groups]) group.classList.toggle("on", on.has(part));
    for (const [node, group] of groups) group.setAttribute("aria-pressed", String(node === chosen));
    followed.replaceChildren(...(steps.length ? walkWords(steps, data.nameOf) : [name(chosen.name), ": ", seedWords(chosen) || t("no path leads here")]));
  };
  order.forEach((node, at) => {
    const group = groups.get(node);
    group.setAttribute("tabindex", at ? "-1" : "0");
    group.addEventListener("pointerenter", () => show(nodeTip(node, data), node.x, node.y));
    group.addEventListener("focus", () => show(nodeTip(node, data), node.x, node.y));
    group.addEventListener("pointerleave", hide);
    group.addEventListener("blur", hide);
    group.addEventListener("click", () => choose(node));
    group.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" || event.key === " ") choose(node);
      else if (event.key === "Escape") hide();
      else if (move) {
        group.setAttribute("tabindex", "-1");
        const next = groups.get(order[(at + move + order.length) % order.length]);
        next.setAttribute("tabindex", "0");
        next.focus();
      } else return;
      event.preventDefault();
    });
  });
  for (const [edge, group] of paths) {
    group.addEventListener("pointerenter", () => show([walkLine(edge, data)], (edge.source.x + edge.target.x) / 2, (edge.source.y + edge.target.y) / 2));
    group.addEventListener("pointerleave", hide);
  }
  const element = el("figure", { class: "picture" },
    el("div", { class: "canvas" }, picture, tip), legend(nodes, edges), followed,
    leftOut > 0 && el("p", { class: "small" }, t("{n} more missed references are not drawn; all are listed below.", { n: count(leftOut) })));
  return { element, choose: (id) => { const chosen = nodes.find((node) => node.id === id); if (chosen) choose(chosen); } };
}

function nodeGroup(node) {
  const kind = node.seed ? (node.byText ? "seed text-seed" : "seed") : node.rank ? "ranked" : "passed";
  const facts = [node.name, seedWords(node), node.rank && t("rank {n}", { n: node.rank }), node.verdict === "hit" && t("reference, hit"), node.verdict === "miss" && `${t("reference")}, ${verdictWords(node.reference.verdict)}`].filter(Boolean);
  const { x, y, anchor } = node.labelAt;
  return svg("g", { class: `node ${kind} ${node.verdict ?? ""} ${node.hop < Infinity ? "" : "apart"}`, role: "button", "aria-label": cut(facts.join(", "), 200), "aria-pressed": "false" },
    node.verdict && svg("circle", { class: "mark", cx: node.x, cy: node.y, r: 13 }),
    svg("circle", { class: "dot", cx: node.x, cy: node.y, r: node.seed || node.rank ? 9.5 : 5 }),
    node.rank && svg("text", { class: "rank", x: node.x, y: node.y + 3.5, "text-anchor": "middle" }, String(node.rank)),
    svg("text", { class: "label", x, y, "text-anchor": anchor }, node.label));
}

// written: where relations stand already; one that finds no room along its line shows when it is pointed at.
function edgeGroup(edge, edges, written) {
  const { source, target } = edge;
  const same = edges.filter((other) => (other.source === source && other.target === target) || (other.source === target && other.target === source));
  const nth = same.indexOf(edge);
  const dx = target.x - source.x, dy = target.y - source.y, long = Math.hypot(dx, dy) || 1;
  const bend = Math.ceil(nth / 2) * 16 * (nth % 2 ? 1 : -1) * (source.x < target.x ? 1 : -1);
  const nx = -dy / long, ny = dx / long, from = 11 / long, to = 14 / long;
  const [x1, y1, x2, y2] = [source.x + dx * from, source.y + dy * from, target.x - dx * to, target.y - dy * to];
  const [mx, my] = [(x1 + x2) / 2 + nx * bend, (y1 + y2) / 2 + ny * bend];
  const line = `M${x1} ${y1}Q${(x1 + x2) / 2 + nx * bend * 2} ${(y1 + y2) / 2 + ny * bend * 2} ${x2} ${y2}`;
  const room = long - 34;
  const fits = Math.max(0, Math.floor(room / (textWidth(edge.relation, RELATION) / Math.max(1, edge.relation.length))));
  const words = cut(edge.relation, fits), wide = textWidth(words, RELATION);
  // Points along the words at a share of the line; the words stay between the two ends.
  const along = (share) => [-0.5, -0.25, 0, 0.25, 0.5].map((part) => [mx + dx * (share - 0.5) + (dx / long) * part * wide, my + dy * (share - 0.5) + (dy / long) * part * wide]);
  const reach = Math.max(0, (room - wide) / 2 / long);
  const share = [0.5, 0.5 - reach / 2, 0.5 + reach / 2, 0.5 - reach, 0.5 + reach].find((at) => along(at).every(([px, py]) => written.every(([ox, oy]) => Math.hypot(px - ox, py - oy) > RELATION)));
  const isWritten = fits >= 4 && share !== undefined;
  if (isWritten) written.push(...along(share));
  const [wx, wy] = isWritten ? along(share)[2] : [mx, my];
  let angle = (Math.atan2(dy, dx) * 180) / Math.PI;
  if (angle > 90 || angle < -90) angle += 180;
  return svg("g", { class: `edge ${edge.kind}` },
    svg("path", { class: "reach", d: line }),
    svg("path", { class: "line", d: line, "marker-end": `url(#arrow-${edge.kind})` }),
    isWritten && svg("text", { class: "relation", x: wx, y: wy - 3, "text-anchor": "middle", transform: `rotate(${angle} ${wx} ${wy})` }, words));
}

const seedWords = (node) => node.seed && t(node.byText ? "seed by text" : "seed by name");

function nodeTip(node, data) {
  const entity = data.entity(node.id);
  return [
    el("strong", {}, name(node.name)), entity.type && el("span", { class: "small" }, cut(entity.type, 60)),
    el("span", { class: "small" }, [seedWords(node), node.rank && `${t("rank {n}", { n: node.rank })}, ${t("score")} ${figure(node.score)}`, node.reference && `${t("reference")}: ${node.verdict === "hit" ? t("hit") : verdictWords(node.reference.verdict)}`].filter(Boolean).join(" · ")),
    entity.description && el("span", {}, cut(entity.description, 280)),
  ].filter(Boolean);
}

function walkLine(edge, data) {
  return el("span", {}, walkWords([{ from: edge.source.id, to: edge.target.id, relation: edge.relation, forward: true }], data.nameOf));
}

function legend(nodes, edges) {
  const keys = [
    ["seed", t("seed by name"), nodes.some((node) => node.seed && !node.byText)],
    ["seed text-seed", t("seed by text"), nodes.some((node) => node.byText)],
    ["ranked", t("retrieved, with its rank"), nodes.some((node) => node.rank)],
    ["hit", t("reference, hit"), nodes.some((node) => node.verdict === "hit")],
    ["miss", t("reference, missed"), nodes.some((node) => node.verdict === "miss")],
    ["path", t("the path that would have reached it"), edges.some((edge) => edge.kind === "path")],
  ];
  return el("figcaption", { class: "legend" }, keys.filter(([, , occurs]) => occurs).map(([kind, label]) => el("span", { class: `key ${kind}` }, label)));
}
