// A campaign that is under way.

import { chart } from "./chart.js";
import { count, fillList, fillTable, fillTiles, latency, percent, rate, say, span } from "./parts.js";

const at = (id) => document.getElementById(id);

function rows(cases) {
  const found = [];
  for (const one of cases) {
    const start = [one.stage, one.case, percent(one.share)];
    // Hosts come after the loads that they issue together.
    const loads = [...one.loads, ...one.hosts].flatMap((load) =>
      Object.entries(load.directions).map(([direction, moved]) => [
        ...start,
        `${load.host === undefined ? "" : `host ${load.host}: `}${load.load}${load.is_ramp ? " (ramp)" : ""}`,
        direction,
        count(moved.iops),
        rate(moved.bytes_per_s),
        latency(moved.mean_ms),
        latency(moved.p99_ms),
        count(moved.errors),
      ]),
    );
    found.push(...(loads.length > 0 ? loads : [[...start, "no figures yet", "", "", "", "", "", ""]]));
  }
  return found;
}

export function showRun(state) {
  const isOver = state.cases_total > 0 && state.cases_ended >= state.cases_total;
  document.title = `${percent(state.share)} ${state.plan} – arraylab`;
  say(at("title"), state.plan);
  say(at("lead"), state.target.includes("twin:") ? `A simulated run, not a measured one, on ${state.target}` : `A run on ${state.target}`);
  const ended = Object.entries(state.ended).map(([status, number]) => `${number} ${status}`);
  fillTiles(at("tiles"), [
    ["Cases", `${state.cases_ended} of ${state.cases_total}`, ended.length > 0 ? `in this process: ${ended.join(", ")}` : "none has ended yet"],
    ["Left", isOver ? "nothing" : `${state.cases_total - state.cases_ended}`, isOver ? "the run is done" : "cases"],
    ["Time left", isOver ? "0 s" : span(state.time_left_s), `running for ${span(state.elapsed_s)}`],
    ["Under way", String(state.cases.length), state.cases.map((one) => one.stage).filter((stage, index, all) => all.indexOf(stage) === index).join(", ")],
  ]);
  const whole = at("whole");
  whole.value = state.share;
  say(whole, percent(state.share));
  fillTable(at("cases"), rows(state.cases));
  at("idle").hidden = state.cases.length > 0;
  const points = state.chart?.points ?? [];
  say(at("charted"), state.chart ? `${state.chart.stage} ${state.chart.case}, seconds of its load` : "No case has figures yet.");
  chart(at("iops"), "IOPS", points, [1, 2], count);
  chart(at("latency"), "Mean latency", points, [3, 4], latency);
  fillList(at("events"), state.events, (row, event) => say(row, `${span(event.at_s)}: ${event.says}`));
}
