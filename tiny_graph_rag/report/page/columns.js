// Columns → values: the reading half of report/columns.py. A column becomes a function from row to value.

function reader(column, strings) {
  const [kind, first, second] = column;
  switch (kind) {
    case "c": return () => first;
    case "n":
    case "j": return (row) => first[row];
    case "s": return (row) => strings[first[row]];
    case "l": {
      const starts = new Uint32Array(first.length + 1);
      for (let row = 0; row < first.length; row++) starts[row + 1] = starts[row] + first[row];
      const item = reader(second, strings);
      return (row) => {
        const items = [];
        for (let at = starts[row]; at < starts[row + 1]; at++) items.push(item(at));
        return items;
      };
    }
    case "o": {
      const fields = first.map(([name, field]) => [name, reader(field, strings)]);
      return (row) => {
        const made = {};
        for (const [name, read] of fields) {
          const value = read(row);
          if (value === undefined) continue;
          // A field called __proto__ is data like any other.
          Object.defineProperty(made, name, { value, enumerable: true, writable: true, configurable: true });
        }
        return made;
      };
    }
    case "?": {
      const places = new Uint32Array(first.length);
      for (let row = 0, there = 0; row < first.length; row++) places[row] = first[row] === "0" ? there++ : 0;
      const read = reader(second, strings);
      return (row) => (first[row] === "0" ? read(places[row]) : first[row] === "1" ? null : undefined);
    }
    default: throw new Error(`unknown column ${kind}`);
  }
}

// The column of one field of a column of objects, null where no object has it.
function fieldColumn(column, name) {
  const pair = column[0] === "o" && column[1].find(([field]) => field === name);
  return pair ? pair[1] : null;
}
