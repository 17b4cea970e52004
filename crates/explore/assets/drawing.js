// Drawings: the array's parts with their busy shares, and the curve of latency over rate.

const SPACE = "http://www.w3.org/2000/svg";

export function svg(name, attributes, ...children) {
  const node = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function latency(nanos) {
  // What three digits round to a thousand has the next unit.
  if (nanos >= 999.5e6) return `${(nanos / 1e9).toPrecision(3)} s`;
  if (nanos >= 999.5e3) return `${(nanos / 1e6).toPrecision(3)} ms`;
  return `${(nanos / 1e3).toPrecision(3)} µs`;
}

export function count(value) {
  return Math.round(value).toLocaleString("en-US");
}

// Boxes from the hosts to the drives; the one that limits has a word and a thick edge.
export function drawParts(parts, busy, limit) {
  const width = 840;
  const step = width / Math.max(parts.length, 1);
  const root = svg("svg", { viewBox: `0 0 ${width} 104`, role: "img", "aria-label": `The array: ${parts.map((p) => `${p.count} × ${p.label}`).join(", ")}` });
  parts.forEach((part, index) => {
    const x = index * step;
    const inner = step - 26;
    if (index > 0) root.append(svg("line", { class: "wire", x1: x - 26, x2: x, y1: 40, y2: 40 }));
    const share = busy[part.part];
    const isLimit = part.part === limit;
    root.append(svg("rect", { class: isLimit ? "box limit" : "box", x: x + 2, y: 4, width: inner - 4, height: 72, rx: 5 }));
    // Digits and letters of this size are 6.3 wide in the mean, and a title has the rest.
    const room = Math.floor((inner - 18) / 6.3);
    const label = part.label.length > room ? `${part.label.slice(0, room - 1)}…` : part.label;
    root.append(svg("text", { class: "name", x: x + 10, y: 24 }, `${part.count} ×`));
    root.append(svg("text", { x: x + 10, y: 42 }, label, svg("title", {}, part.label)));
    if (share !== undefined) {
      root.append(svg("rect", { class: "trough", x: x + 10, y: 52, width: inner - 60, height: 12 }));
      root.append(svg("rect", { class: "fill", x: x + 10, y: 52, width: Math.max(0, (inner - 60) * Math.min(share, 1)), height: 12 }));
      root.append(svg("text", { x: x + inner - 44, y: 63 }, `${Math.round(share * 100)} %`));
    }
    if (isLimit) root.append(svg("text", { class: "name", x: x + 10, y: 94 }, "limits"));
  });
  return root;
}

function ticks(least, most) {
  const marks = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power += 1) {
    for (const digit of [1, 2, 5]) {
      const mark = digit * 10 ** power;
      if (mark >= least * 0.999 && mark <= most * 1.001) marks.push(mark);
    }
  }
  return marks;
}

// Curves of one or two configurations; both axes are logarithmic.
export function drawCurve(series) {
  const [width, height, left, right, top, bottom] = [840, 360, 74, 30, 16, 44];
  const all = series.flatMap((one) => one.points).filter((point) => point.iops > 0 && point.mean_ns > 0);
  const names = series.map((one) => `${one.name}: ${one.points.map((p) => `${count(p.iops)} IOPS at ${latency(p.mean_ns)}`).join(", ")}`);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Mean latency over rate. ${names.join(". ")}` });
  if (all.length === 0) return root;
  const range = (of) => [Math.min(...all.map(of)) / 1.15, Math.max(...all.map(of)) * 1.15];
  const [x0, x1] = range((point) => point.iops);
  const [y0, y1] = range((point) => point.mean_ns);
  const x = (value) => left + ((width - left - right) * Math.log(value / x0)) / Math.log(x1 / x0);
  const y = (value) => height - bottom - ((height - top - bottom) * Math.log(value / y0)) / Math.log(y1 / y0);
  let last = -Infinity;
  for (const mark of ticks(x0, x1)) {
    root.append(svg("line", { class: "grid", x1: x(mark), x2: x(mark), y1: top, y2: height - bottom }));
    if (x(mark) - last < 62) continue;
    last = x(mark);
    root.append(svg("text", { class: "soft", x: x(mark), y: height - bottom + 18, "text-anchor": "middle" }, count(mark)));
  }
  for (const mark of ticks(y0, y1)) {
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(mark), y2: y(mark) }));
    root.append(svg("text", { class: "soft", x: left - 8, y: y(mark) + 4, "text-anchor": "end" }, latency(mark)));
  }
  root.append(svg("text", { class: "soft", x: width - right, y: height - 6, "text-anchor": "end" }, "IOPS"));
  series.forEach((one) => {
    const points = one.points.filter((point) => point.iops > 0 && point.mean_ns > 0);
    if (points.length === 0) return;
    root.append(svg("polyline", { class: `curve ${one.colour}`, points: points.map((p) => `${x(p.iops)},${y(p.mean_ns)}`).join(" ") }));
    for (const point of points) {
      const title = svg("title", {}, `${one.name}: ${point.outstanding} under way, ${count(point.iops)} IOPS, ${latency(point.mean_ns)}`);
      root.append(svg("circle", { class: `point ${one.colour}`, cx: x(point.iops), cy: y(point.mean_ns), r: 4 }, title));
      if (point.outstanding === one.own) root.append(svg("circle", { class: "ring", cx: x(point.iops), cy: y(point.mean_ns), r: 9 }));
    }
    const end = points[points.length - 1];
    root.append(svg("text", { class: `name ${one.colour}`, x: x(end.iops) - 8, y: y(end.mean_ns) + (one.colour === "c0" ? -12 : 18), "text-anchor": "end" }, one.name));
  });
  return root;
}
