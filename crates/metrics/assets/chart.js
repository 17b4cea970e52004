// Two lines over time. Told apart by their dashes and the words at their ends, not by colour alone.

import { drawn, element, say } from "./parts.js";

const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [58, 66, 12, 26, 220];
const NAMES = ["read", "write"];

// The least 1, 2 or 5 times a power of ten that is not less.
function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

// `points`: seconds first; `columns`: which of the others are the read and the write line.
export function chart(place, title, points, columns, words) {
  if (place.children.length === 0) {
    place.append(element("figure", { class: "chart" }, element("figcaption"), drawn("svg", { role: "img" })));
  }
  const [caption, svg] = place.firstElementChild.children;
  const width = Math.max(280, Math.round(place.clientWidth) || 280);
  const shown = points.slice(-300);
  const values = shown.flatMap((point) => columns.map((column) => point[column] ?? 0));
  const top = roundUp(Math.max(0, ...values));
  const [first, last] = [shown[0]?.[0] ?? 0, shown.at(-1)?.[0] ?? 1];
  const x = (seconds) => LEFT + ((seconds - first) / Math.max(last - first, 1e-9)) * (width - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const now = columns.map((column) => shown.at(-1)?.[column] ?? null);
  const inWords = NAMES.map((name, index) => `${name} ${now[index] === null ? "–" : words(now[index])}`).join(", ");
  say(caption, `${title}: ${inWords}`);
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  svg.setAttribute("aria-label", `${title} over the last ${Math.round(last - first)} seconds; now ${inWords}`);
  const marks = [];
  for (const share of [0, 0.5, 1]) {
    const height = y(top * share);
    marks.push(drawn("line", { class: share === 0 ? "base" : "grid", x1: LEFT, x2: width - RIGHT, y1: height, y2: height }));
    marks.push(drawn("text", { x: LEFT - 6, y: height + 4, "text-anchor": "end" }, words(top * share)));
  }
  marks.push(drawn("text", { x: LEFT, y: HEIGHT - 7 }, `${Math.round(first)} s`));
  marks.push(drawn("text", { x: width - RIGHT, y: HEIGHT - 7, "text-anchor": "end" }, `${Math.round(last)} s`));
  const ends = [];
  columns.forEach((column, index) => {
    let path = "";
    let isDrawing = false;
    for (const point of shown) {
      const value = point[column];
      if (value !== null) path += `${isDrawing ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(value).toFixed(1)}`;
      isDrawing = value !== null;
    }
    const end = shown.findLast((point) => point[column] !== null);
    if (!end) return;
    marks.push(drawn("path", { class: `curve c${index}`, d: path }));
    marks.push(drawn("circle", { class: `point c${index}`, cx: x(end[0]), cy: y(end[column]), r: 3 }));
    ends.push([y(end[column]), index]);
  });
  ends.sort((a, b) => a[0] - b[0]);
  if (ends.length === 2 && ends[1][0] - ends[0][0] < 14) {
    const middle = Math.min(Math.max((ends[0][0] + ends[1][0]) / 2, TOP + 7), HEIGHT - BOTTOM - 7);
    [ends[0][0], ends[1][0]] = [middle - 7, middle + 7];
  }
  for (const [height, index] of ends) {
    marks.push(drawn("text", { class: `name c${index}`, x: width - RIGHT + 8, y: height + 4 }, NAMES[index]));
  }
  svg.replaceChildren(...marks);
}
