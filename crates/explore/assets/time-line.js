// Time line: intervals as they are simulated, the rough one dashed under the refined one, with events and findings marked.

import { count, latency, svg } from "./drawing.js";

const at = (id) => document.getElementById(id);
const WIDTH = 840;
const PANEL = { left: 74, right: 80, height: 170, gap: 30, top: 26 };

// The line that was told to its end, and the one that is being told.
let before = null;
let current = null;
let isDue = false;

export function clearTimeLine() {
  before = null;
  current = null;
  at("time-line").hidden = true;
}

// Asks for a time line and draws it as it comes; resolves when it has been told to its end.
export async function showTimeLine(response, effort) {
  at("time-line").hidden = false;
  before = current?.end ? current : null;
  current = { points: [], events: [] };
  say(effort === "rough" ? "Simulating a rough time line …" : "Simulating the refined time line …", false);
  for await (const line of lines(response.body)) {
    if (line.error) throw new Error(line.error);
    if (line.begin) begin(line.begin);
    if (line.point) {
      current.points.push(line.point);
      current.events.push(...line.point.events);
    }
    if (line.end) {
      current.end = line.end;
      before = effort === "rough" ? null : before;
    }
    redraw();
  }
  if (!current.end) throw new Error("The time line broke off.");
  at("time-line-effort").textContent = `(${effort})`;
  at("time-line-progress").hidden = true;
  say(effort === "rough" ? "Rough time line; it is refined when nothing changes for a moment." : "Refined time line.", false);
  tell();
}

export function say(text, isProblem) {
  at("time-line-status").textContent = text;
  at("time-line-status").className = isProblem ? "problem" : "";
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}

function begin(own) {
  current.begin = own;
  at("time-line-effort").textContent = "(being simulated)";
  at("time-line-progress").hidden = false;
  at("time-line-room").textContent =
    (own.shrink > 1
      ? `What fills has ${count(own.shrink)} times less room, so that it does so ${count(own.shrink)} times sooner: times on the axis and in the list are those of the array as described, ${count(own.shrink)} times those simulated. `
      : "Times are those simulated; room is as described. ") +
    (own.fails_at_s === null ? "" : "The rebuild begins without the delay of the description. ") +
    `Settings: ${own.settings.join(", ") || "none"}.`;
  at("time-line-command").value = own.command;
  file("time-line-array", own.array);
  file("time-line-plan", own.plan);
}

function file(id, text) {
  const link = at(id);
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([text], { type: "text/yaml" }));
}

// At most once a frame, however fast lines come.
function redraw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    if (!current?.begin) return;
    const { points, begin: own } = current;
    at("time-line-progress").value = points.length / Math.max(1, own.runtime_s / own.interval_s);
    at("time-line-drawing").replaceChildren(drawTimeLine([before, current].filter(Boolean)));
    if (current.end) table();
  });
}

export function span(seconds) {
  if (seconds >= 2 * 86400) return `${(seconds / 86400).toPrecision(3)} d`;
  if (seconds >= 2 * 3600) return `${(seconds / 3600).toPrecision(3)} h`;
  if (seconds >= 120) return `${(seconds / 60).toPrecision(3)} min`;
  return `${Number(seconds.toPrecision(3))} s`;
}

function rate(bytes) {
  return bytes >= 1e9 ? `${(bytes / 1e9).toPrecision(3)} GB/s` : `${(bytes / 1e6).toPrecision(3)} MB/s`;
}

function tell() {
  const { end, begin: own, events } = current;
  const texts = [...end.sentences];
  const rebuild = end.rebuild;
  if (rebuild?.ends_s != null) {
    texts.push(`The rebuild takes ${span((rebuild.ends_s - rebuild.begins_s) * own.shrink)}.`);
  } else if (rebuild) {
    const pace = rebuild.whole_s === null ? "" : `; at this pace it takes ${span(rebuild.whole_s * own.shrink)}`;
    texts.push(`The rebuild is not over within this time line: ${(100 * rebuild.share).toPrecision(2)} % is done${pace}.`);
  }
  if (own.shrink > 1 && end.sentences.length > 0) {
    texts.push(`Moments, spans and bytes in the sentences of findings are those simulated: on the array as described they are ${count(own.shrink)} times as large.`);
  }
  const item = (text) => Object.assign(document.createElement("li"), { textContent: text });
  at("time-line-told").replaceChildren(...texts.map(item), ...events.map((one) => item(`${span(one.at_s * own.shrink)}: ${one.text}.`)));
}

function table() {
  const { points, begin: own } = current;
  const cell = (text) => Object.assign(document.createElement("td"), { textContent: text, className: "n" });
  const rows = points.map((point) => {
    const row = document.createElement("tr");
    const rebuilt = point.rebuilt_share === null ? "" : `${(100 * point.rebuilt_share).toFixed(1)} %`;
    const texts = [span(point.end_s * own.shrink), span(point.end_s), count(point.iops), rate(point.bw_bytes_per_s), point.mean_ns === null ? "" : latency(point.mean_ns), rebuilt];
    row.append(...texts.map(cell));
    return row;
  });
  at("time-line-table").tBodies[0].replaceChildren(...rows);
}

// Seconds between marks of an axis of time, from a minute on.
const CLOCK = [60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 345600, 864000];

// Marks of an axis from nothing to a value, about four: at 1, 2 or 5 times a power of ten, or as a clock has them.
function marksTo(most, clock) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [...clock, 1 * power, 2 * power, 5 * power, 10 * power].find((one) => most / one <= 5);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
}

function panel(root, lines, top, x, of, words, title) {
  const values = lines.flatMap((line) => line.points.map(of)).filter((value) => value !== null);
  const most = Math.max(...values, 1) * 1.08;
  const bottom = top + PANEL.height;
  const y = (value) => bottom - (PANEL.height * value) / most;
  root.append(svg("text", { class: "name", x: PANEL.left, y: top - 8 }, title));
  for (const mark of marksTo(most, [])) {
    root.append(svg("line", { class: "grid", x1: PANEL.left, x2: WIDTH - PANEL.right, y1: y(mark), y2: y(mark) }));
    root.append(svg("text", { class: "soft", x: PANEL.left - 8, y: y(mark) + 4, "text-anchor": "end" }, words[0](mark)));
    if (words[1]) root.append(svg("text", { class: "soft", x: WIDTH - PANEL.right + 8, y: y(mark) + 4 }, words[1](mark)));
  }
  lines.forEach((line, index) => {
    const corners = line.points
      .filter((point) => of(point) !== null)
      .flatMap((point) => [`${x(line, point.start_s)},${y(of(point))}`, `${x(line, point.end_s)},${y(of(point))}`]);
    root.append(svg("polyline", { class: `curve ${index === lines.length - 1 ? "c1" : "c0"}`, points: corners.join(" ") }));
  });
}

function summary(line) {
  const of = (point) => `${count(point.iops)} IOPS${point.mean_ns === null ? "" : ` at ${latency(point.mean_ns)}`}`;
  const { points, begin: own, events } = line;
  if (points.length === 0) return "Time line without an interval yet";
  const last = points[points.length - 1];
  const told = events.map((one) => `${one.text} after ${span(one.at_s * own.shrink)}`);
  return `Time line over ${span(last.end_s * own.shrink)}: from ${of(points[0])} to ${of(last)}. ${told.join("; ")}`;
}

export function drawTimeLine(lines) {
  const own = lines[lines.length - 1];
  const height = PANEL.top + 2 * PANEL.height + 3 * PANEL.gap + 24;
  const root = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": summary(own) });
  const whole = Math.max(...lines.map((line) => line.begin.runtime_s * line.begin.shrink));
  const room = WIDTH - PANEL.left - PANEL.right;
  const x = (line, seconds) => PANEL.left + (room * seconds * line.begin.shrink) / whole;
  const [first, second] = [PANEL.top, PANEL.top + PANEL.height + PANEL.gap];
  const bottom = second + PANEL.height;
  const rebuilt = own.points.filter((point) => point.rebuilt_share !== null);
  if (rebuilt.length > 0) {
    const begins = rebuilt[0].events[0]?.at_s ?? rebuilt[0].start_s;
    const [from, to] = [x(own, begins), x(own, own.end?.rebuild?.ends_s ?? rebuilt[rebuilt.length - 1].end_s)];
    root.append(svg("rect", { class: "span", x: from, y: first, width: to - from, height: bottom - first }));
    const share = own.end?.rebuild?.share ?? rebuilt[rebuilt.length - 1].rebuilt_share;
    root.append(svg("text", { class: "soft", x: from + 4, y: bottom - 6 }, `rebuild, ${(100 * share).toPrecision(3)} % done`));
  }
  // Bytes follow I/Os by their mean size, so that one line has both scales.
  const busy = own.points.find((point) => point.iops > 0);
  const bytes = busy ? busy.bw_bytes_per_s / busy.iops : 0;
  panel(root, lines, first, x, (point) => point.iops, [count, (mark) => rate(mark * bytes)], "IOPS and bandwidth");
  panel(root, lines, second, x, (point) => point.mean_ns, [latency, null], "Mean latency");
  for (const mark of marksTo(whole, whole > 240 ? CLOCK : [])) {
    const place = PANEL.left + (room * mark) / whole;
    root.append(svg("text", { class: "soft", x: place, y: bottom + 18, "text-anchor": "middle" }, span(mark)));
  }
  root.append(svg("text", { class: "soft", x: WIDTH - PANEL.right, y: bottom + 36, "text-anchor": "end" }, own.begin.shrink > 1 ? "time on the array as described" : "time"));
  const cliff = own.end?.findings.find((finding) => finding.kind === "write-cliff");
  const marks = own.events.map((one) => [one.at_s, one.text]);
  if (cliff) marks.push([cliff.onset_s, "write cliff"]);
  marks.forEach(([seconds, text], index) => {
    const place = x(own, seconds);
    const isLate = place > WIDTH * 0.7;
    root.append(svg("line", { class: "mark", x1: place, x2: place, y1: first, y2: bottom }));
    root.append(svg("text", { class: "marked", x: place + (isLate ? -5 : 5), y: first + PANEL.height - 6 - 16 * (index % 3), "text-anchor": isLate ? "end" : "start" }, text));
  });
  return root;
}
