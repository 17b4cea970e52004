// A served array: its figures, and a drawing of its parts.

import { chart } from "./chart.js";
import { showControl } from "./control.js";
import { bytes, count, drawn, fillList, fillTable, fillTiles, latency, percent, rate, say, span } from "./parts.js";

const at = (id) => document.getElementById(id);
const sum = (values) => values.reduce((all, value) => all + value, 0);

// ---- the drawing ----

const GAP = 12;
const LINE = 17;
const PAD = 8;
const DRIVE = { width: 98, height: 56 };
// Four of a node's drives stand side by side.
const DRIVE_IN_NODE = 82;

const text = (x, y, words, kind = "") => drawn("text", { x, y, class: kind }, words);

// A share as a bar with its words: what it is stands left, how much right.
function gauge(x, y, width, what, share, words = percent(share), isGoodWhenFull = false) {
  const full = Math.min(Math.max(share, 0), 1);
  return [
    drawn("rect", { class: "trough", x, y: y + 4, width, height: 4, rx: 2 }),
    drawn("rect", { class: full > 0.9 && !isGoodWhenFull ? "fill high" : "fill", x, y: y + 4, width: width * full, height: 4, rx: 2 }),
    text(x, y, what, "small"),
    drawn("text", { x: x + width, y, class: "small", "text-anchor": "end" }, words),
  ];
}

function gaugesOf(part) {
  if (part.state === "stopped") return [["processors", 0, "STOPPED"]];
  const shares = part.shares.map(([what, share]) => [what, share, percent(share)]);
  const levels = part.levels
    .filter((level) => level.bound > 0)
    .map((level) => {
      const isBytes = level.what.endsWith("bytes");
      const words = isBytes ? bytes(level.value) : count(level.value);
      return [isBytes ? level.what.replace(/ ?bytes$/, "") || "holds" : level.what, level.value / level.bound, words];
    });
  return [...shares, ...levels];
}

// A part with a bar for each thing it can be busy with or full of.
function partBox(x, y, width, name, gauges) {
  const marks = [
    drawn("rect", { class: "part", x, y, width, height: heightOf(gauges), rx: 5 }),
    text(x + PAD, y + LINE, name, "strong"),
  ];
  gauges.forEach(([what, share, words], index) => {
    marks.push(...gauge(x + PAD, y + LINE * 2 + 3 + index * 21, width - 2 * PAD, what, share, words));
  });
  return marks;
}

const heightOf = (gauges) => LINE + 10 + gauges.length * 21 + (gauges.length > 0 ? 4 : 0);

function driveBox(x, y, drive, part, width = DRIVE.width) {
  const name = drive.number === null ? "spare" : part?.node ? part.name.split("/")[1] : `drive ${drive.number}`;
  const isOk = drive.state === "ok";
  const group = drawn("g", { class: `drive ${drive.state}`, "data-drive": drive.number ?? "spare", "data-state": drive.state });
  group.append(drawn("title", {}, `${drive.part ?? name}: ${drive.state}`));
  group.append(drawn("rect", { class: "case", x, y, width, height: DRIVE.height, rx: 5 }));
  group.append(text(x + PAD, y + LINE, name, "strong"));
  const reserve = part?.levels.find((level) => level.what === "erased bytes" && level.bound > 0);
  const inside = width - 2 * PAD;
  const moved = sum((part?.rates ?? []).filter(([what]) => what === "reads" || what === "writes").map(([, value]) => value));
  if (!isOk && drive.state !== "slowed") {
    const words = drive.state === "spare" ? "ready" : drive.state.toUpperCase();
    group.append(text(x + PAD, y + LINE * 2 + 3, drive.rebuilt === null ? words : `rebuilt ${percent(drive.rebuilt)}`, "state"));
    if (drive.rebuilt !== null) group.append(...gauge(x + PAD, y + LINE * 2 + 3, inside, "", drive.rebuilt, "", true));
  } else if (part && part.busy !== null) {
    group.append(...gauge(x + PAD, y + LINE * 2 + 3, inside, isOk ? "busy" : "SLOWED", part.busy));
  } else if (reserve) {
    group.append(...gauge(x + PAD, y + LINE * 2 + 3, inside, isOk ? "reserve" : "SLOWED", reserve.value / reserve.bound, percent(reserve.value / reserve.bound), true));
  } else {
    group.append(text(x + PAD, y + LINE * 2 + 3, isOk ? (part ? `${count(moved)} I/O/s` : "ok") : "SLOWED", "small"));
  }
  return group;
}

// Boxes in lines, each line in the middle. `draw(x, y, item, width)` returns marks.
function rowOf(items, least, most, width, top, height, draw) {
  const fits = Math.max(1, Math.floor((width + GAP) / (least + GAP)));
  const columns = Math.min(fits, items.length);
  const each = Math.min(most, (width - (columns - 1) * GAP) / columns);
  const marks = [];
  const centres = [];
  let y = top;
  for (let from = 0; from < items.length; from += columns) {
    const line = items.slice(from, from + columns);
    const tall = Math.max(...line.map(height));
    const start = (width - columns * each - (columns - 1) * GAP) / 2;
    line.forEach((item, index) => {
      const x = start + index * (each + GAP);
      if (from === 0) centres.push(x + each / 2);
      marks.push(...draw(x, y, item, each));
    });
    y += tall + GAP;
  }
  return { marks, centres, top, bottom: y - GAP, first: items.length > 0 ? top + Math.max(...items.slice(0, columns).map(height)) : top };
}

// What connects two rows: a line between them with a stub to each box.
function wires(upper, lower, isDirect) {
  const y = upper.bottom + 11;
  const all = [...(isDirect ? upper.centres : [upper.centres[0]]), ...lower.centres].filter((x) => x !== undefined);
  if (all.length === 0) return [];
  const line = (x1, y1, x2, y2) => drawn("line", { class: "wire", x1, y1, x2, y2 });
  const stubs = isDirect ? upper.centres.map((x) => line(x, upper.first, x, y)) : [line(all[0], upper.bottom, all[0], y)];
  return [line(Math.min(...all), y, Math.max(...all), y), ...stubs, ...lower.centres.map((x) => line(x, y, x, lower.top))];
}

function nodeMarks(x, y, width, node, inside) {
  const gauges = [...gaugesOf(node), ...inside.services.flatMap((part) => gaugesOf(part).map(([what, ...rest]) => [`${part.name.split("/")[1]}${what === "processors" ? "" : ` ${what}`}`, ...rest]))];
  const drives = rowOf(inside.drives, DRIVE_IN_NODE, DRIVE_IN_NODE, width - 2 * PAD, y + heightOf(gauges) + 4, () => DRIVE.height, (left, top, { drive, part }) => [driveBox(x + PAD + left, top, drive, part, DRIVE_IN_NODE)]);
  const height = inside.drives.length > 0 ? drives.bottom + PAD - y : heightOf(gauges);
  const marks = partBox(x, y, width, node.name, gauges);
  marks[0].setAttribute("height", height);
  return { marks: [...marks, ...drives.marks], height };
}

function drawing(state, width) {
  const byName = new Map(state.parts.map((part) => [part.name, part]));
  const kind = (name) => state.parts.filter((part) => part.kind === name);
  const drives = state.drives.map((drive) => ({ drive, part: byName.get(drive.part) }));
  const nodes = kind("node");
  const marks = [];
  const clients = rowOf([0], 200, 300, width, 4, () => LINE + 10, (x, y, _, each) => partBox(x, y, each, `NBD: ${state.connections} ${state.connections === 1 ? "connection" : "connections"}`, []));
  marks.push(...clients.marks);
  let above = clients;
  let isDirect = true;
  const add = (row) => {
    if (row.centres.length === 0) return;
    marks.push(...wires(above, row, isDirect), ...row.marks);
    isDirect = row.first === row.bottom;
    above = row;
  };
  const under = () => above.bottom + 22;
  const plain = (parts, least, most) => rowOf(parts, least, most, width, under(), (part) => heightOf(gaugesOf(part)), (x, y, part, each) => partBox(x, y, each, part.name, gaugesOf(part)));
  if (nodes.length > 0) {
    const inside = (node) => ({
      services: kind("service").filter((part) => part.node === node.name),
      drives: drives.filter(({ part }) => part?.node === node.name),
    });
    for (const group of [nodes.filter((node) => node.name.startsWith("client")), nodes.filter((node) => !node.name.startsWith("client"))]) {
      const tall = (node, each) => nodeMarks(0, 0, each, node, inside(node)).height;
      const fits = Math.max(1, Math.min(group.length, Math.floor((width + GAP) / (220 + GAP))));
      const each = Math.min(460, (width - (fits - 1) * GAP) / fits);
      add(rowOf(group, 220, 460, width, under(), (node) => tall(node, each), (x, y, node, room) => nodeMarks(x, y, room, node, inside(node)).marks));
    }
  } else {
    add(plain(kind("link").filter((part) => part.name !== "drive-links"), 150, 220));
    add(plain(kind("controller"), 210, 420));
    add(plain(kind("link").filter((part) => part.name === "drive-links"), 210, 420));
    add(rowOf(drives, DRIVE.width, DRIVE.width, width, under(), () => DRIVE.height, (x, y, { drive, part }) => [driveBox(x, y, drive, part)]));
  }
  return { marks, height: above.bottom + 6 };
}

function inWords(state) {
  const states = new Map();
  for (const drive of state.drives) states.set(drive.state, (states.get(drive.state) ?? 0) + 1);
  const drives = [...states].map(([name, number]) => `${number} ${name}`).join(", ");
  const busiest = state.parts.filter((part) => part.busy > 0.001).sort((a, b) => b.busy - a.busy).slice(0, 3);
  const busy = busiest.map((part) => `${part.name} ${percent(part.busy)}`).join(", ");
  return `Drives: ${drives}. ${busy === "" ? "Nothing is busy." : `Busiest: ${busy}.`} All parts stand in the table at the end of the page.`;
}

function draw(state) {
  const place = at("drawing");
  const svg = place.firstElementChild ?? place.appendChild(drawn("svg", { role: "img" }));
  const width = Math.max(280, place.clientWidth);
  const { marks, height } = drawing(state, width);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", inWords(state));
  svg.replaceChildren(...marks);
}

// ---- figures ----

function tiles(state) {
  const volumes = state.volumes;
  const of = (direction, field) => sum(volumes.map((volume) => volume[direction][field]));
  const now = state.points.at(-1) ?? [0, 0, 0, null, null];
  const found = [
    ["Condition", state.is_whole ? "whole" : "degraded", state.condition],
    ["IOPS", count(of("read", "iops") + of("write", "iops")), `${count(of("read", "iops"))} read, ${count(of("write", "iops"))} write`],
    ["Throughput", rate(of("read", "bytes_per_s") + of("write", "bytes_per_s")), `${rate(of("read", "bytes_per_s"))} read, ${rate(of("write", "bytes_per_s"))} write`],
    ["Mean read latency", latency(now[3]), `writes ${latency(now[4])}`],
  ];
  const level = (what) => state.parts.flatMap((part) => part.levels.filter((one) => one.what === what && one.bound > 0));
  const dirty = level("dirty bytes");
  if (dirty.length > 0) {
    found.push(["Dirty in the cache", bytes(sum(dirty.map((one) => one.value))), `of ${bytes(sum(dirty.map((one) => one.bound)))}`]);
  }
  const erased = level("erased bytes");
  if (erased.length > 0) {
    const debt = sum(erased.map((one) => Math.max(0, one.bound - one.value)));
    const written = (name) => sum(state.parts.flatMap((part) => part.rates.filter(([what]) => what === name).map(([, value]) => value)));
    const host = written("host units");
    const times = host > 0 ? `; flash writes ${count((host + written("moved units")) / host)} × the host's` : "";
    found.push(["Collection debt", bytes(debt), `of an erased reserve of ${bytes(sum(erased.map((one) => one.bound)))}${times}`]);
  }
  if (state.lateness) {
    found.push(["Pacing error", latency(state.lateness.p50_us / 1e3), `median; p99 ${latency(state.lateness.p99_us / 1e3)}, of ${count(state.lateness.replies)} replies${state.speed === 1 ? "" : `, at ${state.speed} × speed`}`]);
  } else {
    found.push(["Time", "untimed", "served as fast as it goes"]);
  }
  return found;
}

const LIMITS = { iops: (value) => `${count(value)} IOPS`, bw_bytes_per_s: rate, iops_per_gib: (value) => `${count(value)} IOPS/GiB`, bw_bytes_per_s_per_gib: (value) => `${rate(value)} per GiB` };

function volumeRow(volume) {
  const limits = volume.limits.map(([name, value]) => (LIMITS[name] ?? ((other) => `${name} ${count(other)}`))(value));
  return [
    volume.name,
    bytes(volume.size_bytes),
    count(volume.read.iops),
    count(volume.write.iops),
    rate(volume.read.bytes_per_s),
    rate(volume.write.bytes_per_s),
    latency(volume.read.latency_ms),
    latency(volume.write.latency_ms),
    count(volume.queue),
    limits.join(", ") || "none",
    limits.length > 0 ? count(volume.held_back) : "",
  ];
}

function partRow(part, states) {
  const shares = part.shares.map(([what, share]) => `${what} ${percent(share)}`);
  const levels = part.levels.map((level) => {
    const words = level.what.endsWith("bytes") ? bytes : count;
    const bound = level.bound > 0 ? ` of ${words(level.bound)}` : "";
    return `${level.what.replace(/ ?bytes$/, "") || "holds"} ${words(level.value)}${bound}`;
  });
  const rates = part.rates.filter(([, value]) => value > 0).map(([what, value]) => `${what.replace(/ ?bytes$/, "")} ${what.endsWith("bytes") ? rate(value) : count(value)}`);
  return [part.name, states.get(part.name) ?? part.state ?? "", part.busy === null ? "not counted" : percent(part.busy), shares.join(", "), levels.join(", "), rates.join(", ")];
}

export function showArray(state) {
  document.title = `${state.is_whole ? "" : "! "}${state.name} – arraylab`;
  say(at("title"), state.title || state.name);
  say(at("lead"), `A served array${state.speed === null ? "" : " at its twin's speed"}, for ${span(state.elapsed_s)}`);
  fillTiles(at("tiles"), tiles(state));
  fillList(at("background"), state.background, (row, [what, share]) => say(row, `${what} under way: ${percent(share)}`));
  draw(state);
  chart(at("iops"), "IOPS", state.points, [1, 2], count);
  chart(at("latency"), "Mean latency", state.points, [3, 4], latency);
  fillTable(at("volumes"), state.volumes.map(volumeRow));
  showControl(at("control"), state);
  fillList(at("notes"), state.notes, (row, [second, words]) => say(row, `${span(second)}: ${words}`));
  const error = at("last-error");
  error.hidden = state.last_error === null;
  say(error, state.last_error === null ? "" : `Last problem: ${state.last_error}`);
  const states = new Map(state.drives.map((drive) => [drive.part, drive.state]));
  fillTable(at("parts"), state.parts.map((part) => partRow(part, states)));
}
