// Making elements. Text only ever becomes text: nothing here, or anywhere in the page, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A name from the data: on its own in bidirectional text, and no longer than people read.
const NAME_SHOWN = 120;
function cut(text, most = NAME_SHOWN) {
  const signs = text.length > most ? Array.from(text.slice(0, most * 4)) : [];
  return signs.length > most ? signs.slice(0, most - 1).join("") + "…" : text;
}
function name(text, most) {
  const short = cut(text, most);
  return el("bdi", short === text ? {} : { title: cut(text, 1000) }, short);
}

// Words of the page in its reader's language: English as it stands here, others from the page's data.
let words = {};
const t = (text, values = {}) => (words[text] ?? text).replace(/\{(\w+)\}/g, (_, key) => values[key]);

// The one place that rounds.
const figure = (value) => (value === null || value === undefined ? "–" : value.toFixed(3).replace("-", "−"));
const points = (share) => `${(share * 100).toFixed(1)}`;
const count = (value) => value.toLocaleString("en-US");
const plural = (number, one, many = `${one}s`) => t(`{n} ${number === 1 ? one : many}`, { n: count(number) });
const dollars = (value) =>
  value === null || value === undefined ? t("cost unknown") : `$${value < 0.01 && value > 0 ? value.toFixed(5) : value.toFixed(2)}`;

// What became of a reference, in words; the order in which a page lists it.
let verdicts = {};
const verdictWords = (verdict) => verdicts[verdict] ?? cut(verdict ?? t("not judged"), 40);
const verdictClass = (verdict) => `verdict-${Object.hasOwn(verdicts, verdict) ? verdict : "other"}`;
function badge(verdict) {
  return el("span", { class: `badge ${verdictClass(verdict)}` }, verdictWords(verdict));
}

// The seed at which an entity's path starts, itself where it is one. One that is a seed by name and by text: the cost of its link says which.
function seedOf(ranked, linked) {
  if (ranked.hop === null || ranked.hop < 0) return null;
  const start = ranked.walk?.length ? ranked.walk[0].from : ranked.id;
  const seeds = linked.filter((seed) => seed.id === start);
  const byText = (ranked.cost?.link ?? 0) > 0;
  return seeds.find((seed) => (seed.rule === "text") === byText) ?? seeds[0] ?? null;
}
const ruleWords = (rule) => (rule === "text" ? t("by text") : t("by name: {rule}", { rule: t(rule) }));

// A cost with all of its digits: so parts add up to the total as they stand there.
const costFigure = (cost) => String(Number(cost.toFixed(6)));
const COSTS = { link: "link", path: "path", text: "text", neighbour: "neighbour", pagerank: "PageRank" };

// A walk in words: A —OWNS→ B ←FEEDS— C
function walkWords(steps, nameOf) {
  if (!steps.length) return [];
  const parts = [name(nameOf(steps[0].from), 40)];
  for (const step of steps) {
    parts.push(el("span", { class: "relation" }, step.forward ? ` —${cut(step.relation, 40)}→ ` : ` ←${cut(step.relation, 40)}— `));
    parts.push(name(nameOf(step.to), 40));
  }
  return parts;
}
function walkText(steps, nameOf) {
  return steps.map((step, at) => (at ? "" : cut(nameOf(step.from), 40)) +
    (step.forward ? ` —${step.relation}→ ` : ` ←${step.relation}— `) + cut(nameOf(step.to), 40)).join("");
}
