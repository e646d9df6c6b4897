// The picture of one question's walk. Every node can be reached by keyboard and followed back to its seed.

const LABEL = 12, RELATION = 10;  // px

function walkPicture(question, data, width) {
  const k = data.head.summary?.k ?? 10;
  const { nodes, edges, leftOut } = walkGraph(question, k);
  if (!edges.length) return null;  // nothing walked: a run from elsewhere, or no seed
  const narrow = width < 560;
  for (const each of nodes) {
    each.name = data.entityRow.has(each.id) ? data.nameOf(each.id) : each.reference?.name ?? question.ranked.find((row) => row.id === each.id)?.name ?? each.id;
    each.label = cut(each.name.replace(/\s+/g, " "), narrow ? 11 : 18);
  }
  const { height, rings, middle, floor } = placeWalk(nodes, width);
  const taken = placeLabels(nodes, edges, width, height, LABEL);
  for (const ring of rings) ring.label = plural(ring.hop, "hop");
  placeRingLabels(rings, { x: width / 2, y: middle }, taken, RELATION);
  const order = [...nodes].sort((a, b) => Number(b.seed) - Number(a.seed) || (a.rank ?? 999) - (b.rank ?? 999));
  const tip = el("div", { class: "tip", hidden: true });
  const followed = el("p", { class: "followed", "aria-live": "polite" }, t("Select an entity to see its path."));
  const written = [];
  const paths = new Map(edges.map((each) => [each, edgeGroup(each, edges, written)]));
  const groups = new Map(order.map((each) => [each, nodeGroup(each)]));
  const picture = svg("svg", { class: "walk", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": t("Paths through the graph: seeds in the middle, one ring per hop") },
    svg("defs", {}, ["walk", "path"].map((kind) =>
      svg("marker", { id: `arrow-${kind}`, class: `arrow ${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z" })))),
    rings.map((ring) => [
      svg("ellipse", { class: "ring", cx: width / 2, cy: middle, rx: ring.rx, ry: ring.ry }),
      svg("text", { class: "ring-label", x: ring.x, y: ring.y, "text-anchor": "middle" }, ring.label),
    ]),
    floor !== null && [
      svg("line", { class: "floor", x1: 16, x2: width - 16, y1: floor + 8, y2: floor + 8 }),
      svg("text", { class: "ring-label", x: 16, y: floor + 24 }, question.references.some((each) => each.verdict) ? t("no path is known to these") : t("not among the entities shown")),
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
    for (const [each, group] of [...paths, ...groups]) group.classList.toggle("on", on.has(each));
    for (const [each, group] of groups) group.setAttribute("aria-pressed", String(each === chosen));
    followed.replaceChildren(...(steps.length ? walkWords(steps, data.nameOf) : [name(chosen.name), ": ", seedWords(chosen) || t("no path leads here")]));
  };
  order.forEach((each, at) => {
    const group = groups.get(each);
    group.setAttribute("tabindex", at ? "-1" : "0");
    group.addEventListener("pointerenter", () => show(nodeTip(each, data), each.x, each.y));
    group.addEventListener("focus", () => show(nodeTip(each, data), each.x, each.y));
    group.addEventListener("pointerleave", hide);
    group.addEventListener("blur", hide);
    group.addEventListener("click", () => choose(each));
    group.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" || event.key === " ") choose(each);
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
  for (const [each, group] of paths) {
    group.addEventListener("pointerenter", () => show([walkLine(each, data)], (each.source.x + each.target.x) / 2, (each.source.y + each.target.y) / 2));
    group.addEventListener("pointerleave", hide);
  }
  const element = el("figure", { class: "picture" },
    el("div", { class: "canvas" }, picture, tip), legend(nodes, edges), followed,
    leftOut > 0 && el("p", { class: "small" }, t("{n} more missed references are not drawn; all are listed below.", { n: count(leftOut) })));
  return { element, choose: (id) => { const found = nodes.find((each) => each.id === id); if (found) choose(found); } };
}

function nodeGroup(each) {
  const kind = each.seed ? (each.byText ? "seed text-seed" : "seed") : each.rank ? "ranked" : "passed";
  const said = [each.name, seedWords(each), each.rank && t("rank {n}", { n: each.rank }), each.verdict === "hit" && t("reference, hit"), each.verdict === "miss" && `${t("reference")}, ${verdictWords(each.reference.verdict)}`].filter(Boolean);
  const { x, y, anchor } = each.labelAt;
  return svg("g", { class: `node ${kind} ${each.verdict ?? ""} ${each.hop < Infinity ? "" : "apart"}`, role: "button", "aria-label": cut(said.join(", "), 200), "aria-pressed": "false" },
    each.verdict && svg("circle", { class: "mark", cx: each.x, cy: each.y, r: 13 }),
    svg("circle", { class: "dot", cx: each.x, cy: each.y, r: each.seed || each.rank ? 9.5 : 5 }),
    each.rank && svg("text", { class: "rank", x: each.x, y: each.y + 3.5, "text-anchor": "middle" }, String(each.rank)),
    svg("text", { class: "label", x, y, "text-anchor": anchor }, each.label));
}

// written: where relations stand already; one that finds no room along its line shows when it is pointed at.
function edgeGroup(each, edges, written) {
  const { source, target } = each;
  const same = edges.filter((other) => (other.source === source && other.target === target) || (other.source === target && other.target === source));
  const place = same.indexOf(each);
  const dx = target.x - source.x, dy = target.y - source.y, long = Math.hypot(dx, dy) || 1;
  const bend = Math.ceil(place / 2) * 16 * (place % 2 ? 1 : -1) * (source.x < target.x ? 1 : -1);
  const nx = -dy / long, ny = dx / long, from = 11 / long, to = 14 / long;
  const [x1, y1, x2, y2] = [source.x + dx * from, source.y + dy * from, target.x - dx * to, target.y - dy * to];
  const [mx, my] = [(x1 + x2) / 2 + nx * bend, (y1 + y2) / 2 + ny * bend];
  const line = `M${x1} ${y1}Q${(x1 + x2) / 2 + nx * bend * 2} ${(y1 + y2) / 2 + ny * bend * 2} ${x2} ${y2}`;
  const room = long - 34;
  const fits = Math.max(0, Math.floor(room / (textWidth(each.relation, RELATION) / Math.max(1, each.relation.length))));
  const words = cut(each.relation, fits), wide = textWidth(words, RELATION);
  // Points along the words at a share of the line; the words stay between the two ends.
  const along = (share) => [-0.5, -0.25, 0, 0.25, 0.5].map((part) => [mx + dx * (share - 0.5) + (dx / long) * part * wide, my + dy * (share - 0.5) + (dy / long) * part * wide]);
  const reach = Math.max(0, (room - wide) / 2 / long);
  const share = [0.5, 0.5 - reach / 2, 0.5 + reach / 2, 0.5 - reach, 0.5 + reach].find((at) => along(at).every(([px, py]) => written.every(([ox, oy]) => Math.hypot(px - ox, py - oy) > RELATION)));
  const isWritten = fits >= 4 && share !== undefined;
  if (isWritten) written.push(...along(share));
  const [wx, wy] = isWritten ? along(share)[2] : [mx, my];
  let angle = (Math.atan2(dy, dx) * 180) / Math.PI;
  if (angle > 90 || angle < -90) angle += 180;
  return svg("g", { class: `edge ${each.kind}` },
    svg("path", { class: "reach", d: line }),
    svg("path", { class: "line", d: line, "marker-end": `url(#arrow-${each.kind})` }),
    isWritten && svg("text", { class: "relation", x: wx, y: wy - 3, "text-anchor": "middle", transform: `rotate(${angle} ${wx} ${wy})` }, words));
}

const seedWords = (each) => each.seed && t(each.byText ? "seed by text" : "seed by name");

function nodeTip(each, data) {
  const entity = data.entity(each.id);
  return [
    el("strong", {}, name(each.name)), entity.type && el("span", { class: "small" }, cut(entity.type, 60)),
    el("span", { class: "small" }, [seedWords(each), each.rank && `${t("rank {n}", { n: each.rank })}, ${t("score")} ${figure(each.score)}`, each.reference && `${t("reference")}: ${each.verdict === "hit" ? t("hit") : verdictWords(each.reference.verdict)}`].filter(Boolean).join(" · ")),
    entity.description && el("span", {}, cut(entity.description, 280)),
  ].filter(Boolean);
}

function walkLine(each, data) {
  return el("span", {}, walkWords([{ from: each.source.id, to: each.target.id, relation: each.relation, forward: true }], data.nameOf));
}

function legend(nodes, edges) {
  const keys = [
    ["seed", t("seed by name"), nodes.some((each) => each.seed && !each.byText)],
    ["seed text-seed", t("seed by text"), nodes.some((each) => each.byText)],
    ["ranked", t("retrieved, with its rank"), nodes.some((each) => each.rank)],
    ["hit", t("reference, hit"), nodes.some((each) => each.verdict === "hit")],
    ["miss", t("reference, missed"), nodes.some((each) => each.verdict === "miss")],
    ["path", t("the path that would have reached it"), edges.some((each) => each.kind === "path")],
  ];
  return el("figcaption", { class: "legend" }, keys.filter(([, , there]) => there).map(([kind, said]) => el("span", { class: `key ${kind}` }, said)));
}
