// The page's data: opened once.

async function embedded() {
  return JSON.parse(await inflated(document.getElementById("data").textContent));
}

async function openData() {
  const { results, entities, ...extra } = await embedded();
  const ids = Object.keys(entities);
  const known = (id) => Object.hasOwn(entities, id);
  const entity = (id) => (known(id) ? { id, ...entities[id] } : { id, name: id, type: "", description: "" });
  return {
    peers: (extra.peers ?? []).map(peer), head: extra.head, others: extra.others, questions: results.length, results,
    entity, nameOf: (id) => entity(id).name, question: (row) => results[row], field: (name) => (row) => results[row][name],
    entityRow: new Map(ids.map((id, row) => [id, row])), extra,
    // Made by another program, or by a function of the user's: none of our linking or walking is in it.
    isExternal: extra.head.kind === "score" || (extra.head.config?.retrieval?.retriever ?? "").includes(":"),
    // The results document as it was read: tests hold it against the schema.
    document() {
      const { changed: _, ...head } = extra.head;
      return { ...head, results, entities };
    },
  };
}

// Another system's results on the same gold set: `at` gives what it did with the question of an id, or null.
function peer({ name, ids, results }) {
  const rows = new Map(ids.map((id, row) => [id, row]));
  return { name, at: (id) => (rows.has(id) ? results[rows.get(id)] : null) };
}

async function inflated(base64) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error(t("This browser is too old for this page; one from 2023 or later opens it."));
  }
  const bytes = Uint8Array.fromBase64?.(base64) ?? decoded(base64);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

function decoded(base64) {
  const signs = atob(base64);
  const bytes = new Uint8Array(signs.length);
  for (let at = 0; at < signs.length; at++) bytes[at] = signs.charCodeAt(at);
  return bytes;
}
