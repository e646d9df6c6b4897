// A line chart over a few whole numbers (hops), from 0 to 1.

// lines: [{name, dashed, points: [{x, y, low, high}]}]; the table next to the chart says the same in words.
function lineChart(lines, xName) {
  const xs = [...new Set(lines.flatMap((line) => line.points.map((point) => point.x)))].sort((a, b) => a - b);
  const narrow = innerWidth < 600;  // drawn as wide as the screen is, so that words keep their size
  const width = narrow ? Math.max(300, innerWidth - 36) : 640, height = 300, left = 36, right = narrow ? 120 : 150, top = 12, bottom = 44;
  const span = Math.max(1, xs.at(-1) - xs[0]);
  const px = (x) => left + ((x - xs[0]) / span) * (width - left - right);
  const py = (y) => top + (1 - y) * (height - top - bottom);
  const ends = lines.map((line, at) => ({ at, y: py(line.points.at(-1).y) })).sort((a, b) => a.y - b.y);
  ends.forEach((end, at) => { if (at) end.y = Math.max(end.y, ends[at - 1].y + 15); });
  const labelY = new Map(ends.map((end) => [end.at, Math.min(end.y, height - 6)]));
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${lines.map((line) => line.name).join(", ")} by ${xName}` },
    [0, 0.25, 0.5, 0.75, 1].map((y) => [
      svg("line", { class: "grid", x1: left, x2: width - right, y1: py(y), y2: py(y) }),
      svg("text", { class: "tick", x: left - 8, y: py(y) + 4, "text-anchor": "end" }, y.toFixed(2).replace(/0$/, "")),
    ]),
    xs.map((x) => svg("text", { class: "tick", x: px(x), y: height - bottom + 18, "text-anchor": "middle" }, String(x))),
    svg("text", { class: "tick", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, xName),
    lines.map((line, at) => {
      const colour = `line-${at % 6}`;
      return svg("g", { class: `${colour} ${line.dashed ? "dashed" : ""}` },
        line.points.filter((point) => point.low !== undefined && point.low !== null).map((point) => svg("line", { class: "whisker", x1: px(point.x), x2: px(point.x), y1: py(point.low), y2: py(point.high) })),
        svg("polyline", { class: "curve", points: line.points.map((point) => `${px(point.x)},${py(point.y)}`).join(" ") }),
        line.points.map((point) => svg("circle", { class: "point", cx: px(point.x), cy: py(point.y), r: 3 }, svg("title", {}, `${line.name}, ${point.x} ${xName}: ${figure(point.y)}`))),
        svg("text", { class: "line-name", x: width - right + 10, y: labelY.get(at) + 4 }, cut(line.name, narrow ? 17 : 22)));
    }));
}

// The difference of two systems with its interval, around the line of no difference.
function differenceBar({ difference, low, high }, most) {
  if (difference === null || difference === undefined) return "";
  const at = (value) => `${50 + (Math.max(-most, Math.min(most, value)) / most) * 48}%`;
  return svg("svg", { class: "interval wide-interval", "aria-hidden": "true" },
    svg("line", { class: "axis", x1: "50%", x2: "50%", y1: 0, y2: 12 }),
    low !== null && low !== undefined && svg("line", { class: "range", x1: at(low), x2: at(high), y1: 6, y2: 6 }),
    svg("circle", { class: "mean", cx: at(difference), cy: 6, r: 3.5 }));
}
