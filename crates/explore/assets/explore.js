// The explorer: a question as a state, which is the link; its answer, rough at once and refined when nothing changes any more.

import { count, drawCurve, drawParts, latency } from "./drawing.js";
import { clearTimeLine, say as sayOfTimeLine, showTimeLine } from "./time-line.js";

const DEPTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const REFINE_AFTER_MS = 700;
const at = (id) => document.getElementById(id);

let token = "";
let question = { array: "", load: { rw: "randrw", rwmixread: 70, bs: "8k", iodepth: 16, numjobs: 8 }, changes: "", timeLine: "" };
let kept = null;
let current = null;
let asking = null;
let refining = 0;

function readLink() {
  const parts = new URLSearchParams(location.hash.slice(1));
  token = parts.get("token") ?? "";
  try {
    const state = JSON.parse(parts.get("state") ?? "null");
    if (state && typeof state.array === "string" && typeof state.load === "object") {
      question = { array: state.array, load: { ...question.load, ...state.load }, changes: String(state.changes ?? ""), timeLine: String(state.timeLine ?? "") };
    }
  } catch {
    // A link that was cut begins anew.
  }
}

function writeLink() {
  const parts = new URLSearchParams({ token, state: JSON.stringify(question) });
  history.replaceState(null, "", `#${parts}`);
  at("state-link").href = location.href;
}

function changesOf(text) {
  const changes = {};
  for (const line of text.split("\n")) {
    const [key, ...rest] = line.split("=");
    if (!key.trim()) continue;
    if (rest.length === 0) throw new Error(`“${line.trim()}” is no change: KEY=VALUE`);
    const value = rest.join("=").trim();
    const number = Number(value);
    changes[key.trim()] = value === "true" ? true : value === "false" ? false : value !== "" && Number.isFinite(number) ? number : value;
  }
  return changes;
}

function fill() {
  at("array").value = question.array;
  at("rw").value = question.load.rw;
  at("rwmixread").value = question.load.rwmixread;
  at("bs").value = question.load.bs;
  at("iodepth").value = Math.max(0, DEPTHS.indexOf(Number(question.load.iodepth)));
  at("numjobs").value = Math.max(0, DEPTHS.indexOf(Number(question.load.numjobs)));
  at("changes").value = question.changes;
  at("time-line-kind").value = question.timeLine;
  show();
}

function show() {
  at("rwmixread-shown").value = at("rwmixread").value;
  at("iodepth-shown").value = DEPTHS[at("iodepth").value];
  at("numjobs-shown").value = DEPTHS[at("numjobs").value];
  at("mix").hidden = !["randrw", "rw"].includes(at("rw").value);
}

function read() {
  show();
  question = {
    array: at("array").value,
    load: {
      rw: at("rw").value,
      rwmixread: Number(at("rwmixread").value),
      bs: at("bs").value,
      iodepth: DEPTHS[at("iodepth").value],
      numjobs: DEPTHS[at("numjobs").value],
    },
    changes: at("changes").value,
    timeLine: at("time-line-kind").value,
  };
}

// A question as it is posted; the answer has status 200, or this fails with its reason.
async function post(path, own, signal) {
  const body = JSON.stringify({ array: { name: question.array, changes: changesOf(question.changes) }, load: question.load, ...own });
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json", "X-Arraylab-Token": token }, body, signal });
  if (answer.ok) return answer;
  const text = await answer.text();
  let why = text.trim();
  try {
    why = JSON.parse(text).error ?? why;
  } catch {
    // A refusal without a reason of its own is its status.
  }
  throw new Error(why);
}

async function send(effort, signal) {
  return (await post("/api/simulate", { effort }, signal)).json();
}

// A time line that cannot be drawn leaves the rest of the answer as it is.
async function drawTimeLine(effort, signal) {
  if (!question.timeLine) return;
  try {
    await showTimeLine(await post("/api/time-line", { effort, time_line: question.timeLine }, signal), effort);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    clearTimeLine();
    at("time-line").hidden = false;
    sayOfTimeLine(error.message, true);
  }
}

async function ask() {
  if (!token) {
    say("Open the address that arraylab explore printed: it has a token.", true);
    return;
  }
  writeLink();
  clearTimeout(refining);
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  say("Simulating …", false);
  clearTimeLine();
  try {
    draw(await send("rough", signal));
    say("Rough answer; it is refined when nothing changes for a moment.", false);
    await drawTimeLine("rough", signal);
    refining = setTimeout(async () => {
      try {
        await drawTimeLine("refined", signal);
        draw(await send("refined", signal));
        say("Refined answer.", false);
      } catch (error) {
        if (error.name !== "AbortError") say(error.message, true);
      }
    }, REFINE_AFTER_MS);
  } catch (error) {
    if (error.name !== "AbortError") say(error.message, true);
  }
}

function say(text, isProblem) {
  at("status").textContent = text;
  at("status").className = isProblem ? "problem" : "";
}

function row(cells) {
  const line = document.createElement("tr");
  cells.forEach(([content, isNumber], index) => {
    const cell = document.createElement(index === 0 ? "th" : "td");
    if (index === 0) cell.scope = "row";
    if (isNumber) cell.className = "n";
    cell.append(content);
    line.append(cell);
  });
  return line;
}

function file(id, text) {
  const link = at(id);
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([text], { type: "text/yaml" }));
}

const BASIS = {
  unseen: "Ranges: the worst error on published rows that no fit has seen.",
  fitted: "Ranges: twice the worst error on published rows, because the array was changed, or was fitted to them.",
  assumed: "No published row validates this array: ranges are half to twice of what is simulated. Do not sign on this.",
};

function draw(answer) {
  current = answer;
  const own = question.load.iodepth * question.load.numjobs;
  const now = answer.answer;
  at("basis").textContent = BASIS[now.validated];
  at("effort").textContent = `(${answer.effort})`;
  at("sentence").textContent =
    `${count(now.iops)} IOPS (${count(now.iops_95[0])} to ${count(now.iops_95[1])}), ` +
    `mean ${latency(now.latency_ns.mean)}, p99 ${latency(now.latency_ns.p99)}; limit: ${now.limit}.`;
  at("drawing").replaceChildren(drawParts(answer.array.drawing, now.busy, now.limit));
  const series = [{ name: kept ? "B" : answer.array.name, colour: "c1", points: answer.points, own }];
  if (kept) series.unshift({ name: "A", colour: "c0", points: kept.points, own: kept.own });
  at("curve").replaceChildren(drawCurve(series));
  at("points").tBodies[0].replaceChildren(
    ...series.flatMap((one) => one.points.map((p) => row([[one.name], [String(p.outstanding), true], [count(p.iops), true], [latency(p.mean_ns), true], [latency(p.p99_ns), true]]))),
  );
  at("parts").tBodies[0].replaceChildren(...parts(now));
  at("command").value = answer.command;
  file("array-file", answer.array.text);
  file("plan-file", answer.plan);
  values();
}

function parts(now) {
  const names = [...new Set([...Object.keys(now.busy), ...Object.keys(now.elasticity)])];
  return names.map((name) => {
    const share = now.busy[name];
    const bar = document.createElement("span");
    if (share === undefined) {
      bar.append("not counted");
    } else {
      const meter = document.createElement("meter");
      Object.assign(meter, { min: 0, max: 1, value: share });
      meter.setAttribute("aria-label", `${name} busy`);
      bar.append(meter, ` ${Math.round(share * 100)} %`);
    }
    const gain = now.elasticity[name];
    return row([[name === now.limit ? `${name} (limits)` : name], [bar], [gain === undefined ? "refined answers say" : `${gain.toFixed(2)} %`, true]]);
  });
}

function values() {
  const wanted = at("filter").value.trim().toLowerCase();
  const all = current?.array.check?.values ?? [];
  at("values-box").hidden = all.length === 0;
  const rows = all.filter((one) => one.unit !== "text" && one.path.toLowerCase().includes(wanted)).map((one) => {
    const field = document.createElement("input");
    field.value = one.text;
    field.setAttribute("aria-label", one.path);
    field.addEventListener("change", () => change(one.path, field.value));
    return row([[one.path], [field], [one.evidence]]);
  });
  if (!at("values").contains(document.activeElement)) at("values").tBodies[0].replaceChildren(...rows);
}

function change(path, value) {
  const others = at("changes").value.split("\n").filter((line) => line.trim() && !line.startsWith(`${path}=`));
  at("changes").value = [...others, `${path}=${value}`].join("\n");
  read();
  ask();
}

async function begin() {
  readLink();
  const state = await (await fetch("/state.json")).json();
  at("array").replaceChildren(...state.arrays.map((one) => Object.assign(document.createElement("option"), { value: one.name, textContent: `${one.name}: ${one.title}` })));
  if (!question.array) question.array = state.array;
  fill();
  at("question").addEventListener("submit", (event) => event.preventDefault());
  at("array").addEventListener("change", () => {
    at("changes").value = "";
  });
  for (const id of ["array", "rw", "rwmixread", "bs", "iodepth", "numjobs", "time-line-kind"]) {
    at(id).addEventListener("input", () => {
      read();
      ask();
    });
  }
  at("changes").addEventListener("change", () => {
    read();
    ask();
  });
  at("filter").addEventListener("input", values);
  at("keep").addEventListener("click", () => {
    if (!current) return;
    kept = { points: current.points, own: question.load.iodepth * question.load.numjobs };
    at("forget").hidden = false;
    draw(current);
  });
  at("forget").addEventListener("click", () => {
    kept = null;
    at("forget").hidden = true;
    draw(current);
  });
  window.addEventListener("hashchange", () => {
    readLink();
    fill();
    ask();
  });
  ask();
}

begin();
