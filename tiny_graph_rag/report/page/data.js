// The page's data: opened once, questions put together when somebody looks at them.

async function embedded() {
  const element = document.getElementById("data");
  return JSON.parse(element.type === "application/json" ? element.textContent : await inflated(element.textContent));
}

async function openData() {
  const packed = await embedded();
  const { strings } = packed;
  const entityAt = reader(packed.entities, strings);
  const entityRow = new Map();
  if (packed.entityCount) {
    const idAt = reader(fieldColumn(packed.entities, "id"), strings);
    for (let row = 0; row < packed.entityCount; row++) entityRow.set(idAt(row), row);
  }
  const entity = (id) => (entityRow.has(id) ? entityAt(entityRow.get(id)) : { id, name: id, type: "", description: "" });
  const nameOf = (id) => entity(id).name;
  const questionAt = reader(packed.results, strings);
  const question = (row) => restored(questionAt(row), nameOf);
  const field = (name) => {
    const column = fieldColumn(packed.results, name);
    return column ? reader(column, strings) : () => undefined;
  };
  const peers = (packed.peers ?? []).map((system) => peer(system, reader(system.results, strings)));
  return {
    peers, head: packed.head, others: packed.others, questions: packed.questions, results: packed.results, strings,
    entity, nameOf, question, field, entityRow, extra: packed,
    // Made by another program, or by a function of the user's: none of our linking or walking is in it.
    isExternal: packed.head.kind === "score" || (packed.head.config?.retrieval?.retriever ?? "").includes(":"),
    // The results document as it was read: tests hold it against the schema.
    document() {
      const results = Array.from({ length: packed.questions }, (_, row) => question(row));
      const entities = {};
      for (const [id, row] of entityRow) {
        const { id: _, ...rest } = entityAt(row);
        Object.defineProperty(entities, id, { value: rest, enumerable: true });
      }
      const { changed: _, ...head } = packed.head;
      return { ...head, results, entities };
    },
  };
}

// Another system's results on the same gold set: `at` gives what it did with the question of an id, or null.
function peer({ name, ids }, resultAt) {
  const rows = new Map(ids.map((id, row) => [id, row]));
  return { name, at: (id) => (rows.has(id) ? resultAt(rows.get(id)) : null) };
}

async function inflated(base64) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error(t("This browser is too old for a page of this size; one from 2023 or later opens it."));
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

// Undoes page_data.py's thinning: names that stand in `entities`, and steps that start where the last ended.
function restored(question, nameOf) {
  for (const entity of [...question.linked, ...question.ranked]) entity.name ??= nameOf(entity.id);
  for (const entity of question.ranked) if (entity.walk) entity.walk = longWalk(entity.walk);
  for (const reference of question.references) if (reference.path) reference.path = longWalk(reference.path);
  return question;
}

function longWalk(walk) {
  if (Array.isArray(walk)) return walk;
  let at = walk.start;
  return walk.steps.map((step) => {
    const whole = { from: at, ...step };
    at = step.to;
    return whole;
  });
}
