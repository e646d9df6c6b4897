// Puts the page together from what its data holds.

// What is shown of the list, kept in the page's address so that a link shows the same: #q=ID&tag=…
const SHOWN = { q: "", search: "", verdict: "", tag: "", measure: "", score: "", sort: "file", flip: "", beside: "" };

function newState() {
  const state = { ...SHOWN, first: { ...SHOWN }, listeners: [] };
  const tell = () => { for (const listener of state.listeners) listener(); };
  state.set = (changed, look = false) => {
    Object.assign(state, changed);
    tell();
    state.keep();
    if (look) document.getElementById("questions").scrollIntoView({ block: "start" });
  };
  state.keep = () => {
    const address = new URLSearchParams(Object.keys(SHOWN).filter((key) => state[key] !== state.first[key]).map((key) => [key, state[key]]));
    const hash = address.size ? `#${address}` : " ";
    if (decodeURIComponent(location.hash || " ") !== decodeURIComponent(hash)) history.replaceState(null, "", hash === " " ? location.href.split("#")[0] : hash);
  };
  // What the address says; a key that it lacks is as at first. Values that the list can't take are left out there.
  state.read = () => {
    const address = new URLSearchParams(location.hash.slice(1));
    Object.assign(state, Object.fromEntries(Object.keys(SHOWN).map((key) => [key, address.get(key) ?? state.first[key]])));
    tell();
  };
  return state;
}

function verdictSection(data, state) {
  const order = Object.keys(verdicts);
  const found = Object.entries(data.head.summary.verdicts ?? {}).filter(([, many]) => many > 0);
  const total = found.reduce((sum, [, many]) => sum + many, 0);
  if (!total) return null;
  found.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
  let at = 0;
  const parts = found.map(([verdict, many]) => {
    const part = svg("rect", { class: verdictClass(verdict), x: `${(at / total) * 100}%`, width: `${(many / total) * 100}%`, height: 16 });
    at += many;
    return part;
  });
  const buttons = found.map(([verdict, many]) => [verdict, el("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: () => state.set({ verdict: state.verdict === verdict ? "" : verdict }, true) },
    badge(verdict), el("span", { class: "number" }, count(many)))]);
  state.listeners.push(() => { for (const [verdict, button] of buttons) button.setAttribute("aria-pressed", String(state.verdict === verdict)); });
  return el("section", { "aria-labelledby": "verdicts" },
    el("h2", { id: "verdicts" }, t("What happened to the references ({n})", { n: count(total) })),
    svg("svg", { class: "verdict-bar", "aria-hidden": "true" }, parts),
    el("div", { class: "chips" }, buttons.map(([, button]) => button)));
}

function colophon(data) {
  const { head } = data;
  return el("footer", {}, el("p", {}, `Tiny-Graph-RAG eval ${head.package_version ?? ""}. ${t("This page works offline and loads nothing.")}`),
    el("p", { class: "hashes" }, [[t("graph"), head.graph], [t("gold set"), head.dataset]].filter(([, file]) => file?.sha256).map(([what, file]) => `${what} ${file.sha256.slice(0, 16)}`).join(" · "), " (SHA-256)"));
}

async function main() {
  const page = document.getElementById("page");
  try {
    const data = await openData();
    words = data.extra.words ?? {};
    verdicts = data.extra.verdicts;
    const state = newState();
    const parts = [masthead(data)];
    let start = () => {};
    if (data.head.summary && data.questions) {
      const list = listSection(data, state);
      parts.push(leadSection(data), summarySection(data), worstSection(data, state), lossSection(data, state), verdictSection(data, state), tagSection(data, state), ...studies(data), list.section);
      start = list.start;
    } else parts.push(...studies(data));
    parts.push(colophon(data));
    page.replaceChildren(...parts.filter(Boolean));
    start();
    addEventListener("hashchange", state.read);
    page.removeAttribute("aria-busy");
    globalThis.report = { document: data.document };
  } catch (error) {
    page.replaceChildren(el("p", { class: "lost", role: "alert" }, t("This page can't be shown: {why}", { why: error.message })));
    throw error;
  }
}

main();
