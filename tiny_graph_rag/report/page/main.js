// Puts the page together from what its data holds.

function newState() {
  const state = { search: "", verdict: "", tag: "", measure: "", score: "", sort: "file", listeners: [] };
  state.set = (changed, look = false) => {
    Object.assign(state, changed);
    for (const each of state.listeners) each();
    if (look) document.getElementById("questions").scrollIntoView({ block: "start" });
  };
  return state;
}

function verdictSection(data, state) {
  const verdicts = Object.entries(data.head.summary.verdicts ?? {}).filter(([, many]) => many > 0);
  const total = verdicts.reduce((sum, [, many]) => sum + many, 0);
  if (!total) return null;
  const order = Object.keys(VERDICTS);
  verdicts.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
  let at = 0;
  const parts = verdicts.map(([verdict, many]) => {
    const part = svg("rect", { class: verdictClass(verdict), x: `${(at / total) * 100}%`, width: `${(many / total) * 100}%`, height: 16 });
    at += many;
    return part;
  });
  const buttons = verdicts.map(([verdict, many]) => [verdict, el("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: () => state.set({ verdict: state.verdict === verdict ? "" : verdict }, true) },
    badge(verdict), el("span", { class: "number" }, count(many)))]);
  state.listeners.push(() => { for (const [verdict, button] of buttons) button.setAttribute("aria-pressed", String(state.verdict === verdict)); });
  return el("section", { "aria-labelledby": "verdicts" },
    el("h2", { id: "verdicts" }, `What became of the ${plural(total, "reference")}`),
    svg("svg", { class: "verdict-bar", "aria-hidden": "true" }, parts),
    el("div", { class: "chips" }, buttons.map(([, button]) => button)));
}

function colophon(data) {
  const { head } = data;
  return el("footer", {}, el("p", {}, `Tiny-Graph-RAG eval ${head.package_version ?? ""}. This page is complete in itself and loads nothing.`),
    el("p", { class: "hashes" }, [["graph", head.graph], ["gold set", head.dataset]].filter(([, file]) => file?.sha256).map(([what, file]) => `${what} ${file.sha256.slice(0, 16)}`).join(" · "), " (SHA-256)"));
}

async function main() {
  const page = document.getElementById("page");
  try {
    const data = await openData();
    const state = newState();
    const parts = [masthead(data)];
    let start = () => {};
    if (data.head.summary && data.questions) {
      const list = listSection(data, state);
      parts.push(summarySection(data), lossSection(data, state), verdictSection(data, state), tagSection(data, state), ...studies(data), list.section);
      start = list.start;
    } else parts.push(...studies(data));
    parts.push(colophon(data));
    page.replaceChildren(...parts.filter(Boolean));
    start();
    page.removeAttribute("aria-busy");
    globalThis.report = { document: data.document };
  } catch (error) {
    page.replaceChildren(el("p", { class: "lost", role: "alert" }, `This page can't be shown: ${error.message}`));
    throw error;
  }
}

main();
