// Where everything in a walk's picture stands: seeds in the middle, one ring a hop.

const MISSES_DRAWN = 16;  // more red circles than this hide each other; the table below lists all

// The entities and relations of one question: {nodes, edges, leftOut}.
function walkGraph(question, k) {
  const nodes = new Map();
  const edges = new Map();
  const node = (id) => {
    if (!nodes.has(id)) nodes.set(id, { id, hop: Infinity, parent: null, rank: null, seed: false, byText: false, verdict: null, reference: null });
    return nodes.get(id);
  };
  const trace = (steps, kind) => {
    steps.forEach((step, at) => {
      const from = node(step.from), to = node(step.to);
      if (at < from.hop) Object.assign(from, { hop: at });
      const key = step.forward ? `${step.from}\n${step.relation}\n${step.to}` : `${step.to}\n${step.relation}\n${step.from}`;
      if (!edges.has(key)) {
        const [source, target] = step.forward ? [from, to] : [to, from];
        edges.set(key, { key, source, target, relation: step.relation, kind });
      }
      if (at + 1 < to.hop) Object.assign(to, { hop: at + 1, parent: { node: from, edge: edges.get(key), step } });
    });
  };
  for (const linked of question.linked) {
    const seed = node(linked.id);
    const byText = linked.rule === "text" && (!seed.seed || seed.byText);  // one that is named too is named
    Object.assign(seed, { seed: true, byText, hop: 0, parent: null });
  }
  question.ranked.forEach((entity, at) => {
    Object.assign(node(entity.id), { rank: at + 1, score: entity.score });
    trace(entity.walk ?? [], "walk");
  });
  let misses = 0, leftOut = 0;
  for (const reference of question.references) {
    const at = question.ranked.findIndex((row) => reference.entity_ids.includes(row.id));
    const hit = reference.verdict ? reference.verdict === "hit" : at >= 0 && at < k;
    if (!hit && ++misses > MISSES_DRAWN) { leftOut++; continue; }
    const target = node(at >= 0 ? question.ranked[at].id : reference.path?.at(-1)?.to ?? reference.entity_ids[0] ?? `\nname ${reference.name}`);
    target.reference = reference;
    target.verdict = hit ? "hit" : "miss";
    if (!hit && reference.path) trace(reference.path, "path");
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], leftOut };
}

// How far out a ring stands, in rings: later ones closer together, for few entities lie there.
const ringAt = (hop) => hop ** 0.8;

// Adds x and y to every node: what a walk reaches on rings, the rest in rows below them.
// Returns {width, height, middle, rings, floor}: rings as {hop, rx, ry}; floor: y of the line above the rest.
function placeWalk(nodes, width) {
  const reached = nodes.filter((node) => node.hop < Infinity);
  const apart = nodes.filter((node) => node.hop === Infinity);
  const children = new Map(reached.map((node) => [node, []]));
  const roots = [];
  for (const node of reached) (node.parent ? children.get(node.parent.node) : roots).push(node);
  const narrow = width < 560;
  const inner = roots.length > 1 ? 0.6 : 0;  // several seeds stand around the middle, one stands in it
  const hops = Math.max(0, ...reached.map((node) => node.hop));
  const out = (hop) => (hop || inner ? ringAt(hop) + inner : 0);
  const crowd = Math.max(0, ...Array.from({ length: hops }, (_, at) => reached.filter((node) => node.hop === at + 1).length / out(at + 1)));
  const stepX = (width / 2 - (narrow ? 44 : 104)) / (out(hops) || 1);
  const stepY = Math.min(Math.max(narrow ? 80 : 68, Math.min(stepX, crowd * 12)), (narrow ? 260 : 300) / (out(hops) || 1) + 24);
  const middle = reached.length ? out(hops) * stepY + 42 : 0;

  const size = new Map();
  const weigh = (node) => {
    size.set(node, Math.max(1, children.get(node).reduce((sum, child) => sum + weigh(child), 0)));
    return size.get(node);
  };
  const spread = (group, from, to) => {
    const total = group.reduce((sum, node) => sum + size.get(node), 0);
    let at = from;
    for (const node of group) {
      const share = ((to - from) * size.get(node)) / total;
      node.angle = at + share / 2;
      node.x = width / 2 + Math.cos(node.angle) * out(node.hop) * stepX;
      node.y = middle + Math.sin(node.angle) * out(node.hop) * stepY;
      spread(children.get(node).sort((a, b) => (a.rank ?? 1000) - (b.rank ?? 1000)), at, at + share);
      at += share;
    }
  };
  roots.forEach(weigh);
  spread(roots, -Math.PI * 0.8, Math.PI * 1.2);

  const floor = middle * 2;
  const columns = Math.max(1, Math.floor((width - 32) / (narrow ? 150 : 190)));
  apart.forEach((node, at) => {
    node.angle = 0;
    node.x = 30 + (at % columns) * ((width - 32) / columns);
    node.y = floor + 48 + Math.floor(at / columns) * 34;
  });
  const height = floor + (apart.length ? 36 + Math.ceil(apart.length / columns) * 34 : 0);
  const rings = Array.from({ length: hops }, (_, at) => ({ hop: at + 1, rx: out(at + 1) * stepX, ry: out(at + 1) * stepY }));
  return { width, height, middle, rings, floor: apart.length ? floor : null };
}

// About how wide text is: Hangul and Han are as wide as high, Latin about half of that.
function textWidth(text, size) {
  let ems = 0;
  for (const sign of text) ems += sign.codePointAt(0) > 0x1100 ? 1 : 0.56;
  return ems * size;
}

const overlap = (a, b) => Math.max(0, Math.min(a.x1, b.x1) - Math.max(a.x0, b.x0)) * Math.max(0, Math.min(a.y1, b.y1) - Math.max(a.y0, b.y0));
const covered = (box, taken) => taken.reduce((sum, other) => sum + overlap(box, other), 0);

// A place for each node's label: right, left, below or above, where it covers least of nodes, edges and other
// labels. Adds labelAt {x, y, anchor, over}: over is the area that it covers all the same. Returns what is taken.
function placeLabels(nodes, edges, width, height, size) {
  const around = (x, y, half, high = half) => ({ x0: x - half, x1: x + half, y0: y - high, y1: y + high });
  const taken = nodes.map((node) => around(node.x, node.y, node.verdict ? 15 : 11));
  for (const { source, target } of edges) {
    for (let part = 0.1; part < 0.95; part += 0.05) {
      const inLabel = part > 0.25 && part < 0.75 ? 6 : 3;
      taken.push(around(source.x + (target.x - source.x) * part, source.y + (target.y - source.y) * part, inLabel));
    }
  }
  for (const node of nodes) {
    const long = textWidth(node.label, size);
    const right = Math.cos(node.angle ?? 0) >= 0;
    const gap = node.verdict ? 18 : 14;
    const sides = [
      { x: node.x + gap, y: node.y + 4, anchor: "start" },
      { x: node.x - gap, y: node.y + 4, anchor: "end" },
      { x: node.x, y: node.y + gap + 10, anchor: "middle" },
      { x: node.x, y: node.y - gap - 2, anchor: "middle" },
      { x: node.x + gap - 3, y: node.y + gap, anchor: "start" },
      { x: node.x - gap + 3, y: node.y + gap, anchor: "end" },
      { x: node.x + gap - 3, y: node.y - gap + 6, anchor: "start" },
      { x: node.x - gap + 3, y: node.y - gap + 6, anchor: "end" },
    ];
    if (!right) for (const at of [0, 4, 6]) [sides[at], sides[at + 1]] = [sides[at + 1], sides[at]];
    let best = null;
    for (const side of sides) {
      const x0 = side.anchor === "start" ? side.x : side.anchor === "end" ? side.x - long : side.x - long / 2;
      const box = { x0, x1: x0 + long, y0: side.y - size, y1: side.y + 4 };
      const over = covered(box, taken) +
        400 * (Math.max(0, -box.x0) + Math.max(0, box.x1 - width) + Math.max(0, -box.y0) + Math.max(0, box.y1 - height));
      if (!best || over < best.over) best = { ...side, box, over };
      if (!over) break;
    }
    taken.push({ ...best.box, y0: best.box.y0 - 2 });  // Hangul is a little higher than its size
    node.labelAt = best;
  }
  return taken;
}

// Where on its ring each ring's label covers least: at the top where that is free, else the nearest free spot.
// taken: boxes of nodes, of labels and of what is written along the edges; gets those of the rings.
function placeRingLabels(rings, centre, taken, size) {
  for (const ring of rings) {
    const long = textWidth(ring.label, size) + 6;
    let best = null;
    for (let turn = 0; turn < 36; turn++) {
      const angle = -Math.PI / 2 + (turn % 2 ? 1 : -1) * Math.ceil(turn / 2) * (Math.PI / 18);
      const x = centre.x + Math.cos(angle) * ring.rx, y = centre.y + Math.sin(angle) * ring.ry - 5;
      const box = { x0: x - long / 2, x1: x + long / 2, y0: y - size - 1, y1: y + 4 };
      const over = covered(box, taken) + 400 * (Math.max(0, -box.x0) + Math.max(0, box.x1 - 2 * centre.x) + Math.max(0, -box.y0));
      if (!best || over < best.over) best = { x, y, box, over };
      if (!over) break;
    }
    taken.push(best.box);
    Object.assign(ring, { x: best.x, y: best.y });
  }
}
