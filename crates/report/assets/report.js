"use strict";
// Zoom and hover for charts, from the table that stands under each: the page carries every number once.
(() => {
  const DASH = [[], [7, 3], [2, 2.5], [9, 3, 2, 3], [14, 4], [5, 2, 1.5, 2, 1.5, 2]];
  const number = (text) => {
    const value = parseFloat(text.replace(/,/g, "").replace("\u2212", "-"));
    return Number.isFinite(value) ? value : null;
  };
  const SIZE = { b: 1, k: 1024, m: 1048576, g: 1073741824, t: 1099511627776, p: 1125899906842624 };
  const size = (text) => {
    const match = /^([0-9.]+)([bkmgtp]?)/i.exec(text);
    return match ? parseFloat(match[1]) * (SIZE[match[2].toLowerCase()] || 1) : null;
  };
  const sizeText = (value) => {
    if (value == null) return "";
    for (const unit of "tgmk") if (value >= SIZE[unit] && value % SIZE[unit] === 0) return value / SIZE[unit] + unit;
    return String(value);
  };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const show = (figure, place) => {
    const rows = [...figure.querySelectorAll("tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
    const heads = [...figure.querySelectorAll("thead th")];
    const isSize = figure.dataset.xFormat === "bytes";
    const data = [rows.map((row) => (isSize ? size(row[0]) : number(row[0])))];
    const series = [{ label: heads[0].textContent, value: (_, v) => (isSize ? sizeText(v) : v) }];
    heads.forEach((head, column) => {
      const style = head.dataset.style;
      if (style === undefined) return;
      data.push(rows.map((row) => number(row[column])));
      const isPublished = head.dataset.role === "published";
      series.push({
        label: head.textContent,
        stroke: colour("--c" + style),
        width: isPublished ? 0 : 2,
        dash: DASH[style],
        points: { show: isPublished || undefined, size: isPublished ? 9 : undefined, fill: isPublished ? colour("--paper") : undefined },
      });
    });
    const axis = { stroke: colour("--ink"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule") } };
    const width = () => Math.max(280, Math.min(place.clientWidth, 1040));
    const log = { log2: { distr: 3, log: 2 }, log10: { distr: 3, log: 10 } };
    const plot = new uPlot({
      width: width(),
      height: Math.round(Math.min(420, width() * 0.6)),
      cursor: { drag: { x: true, y: false } },
      scales: {
        x: { time: false, ...(log[figure.dataset.x] || {}) },
        y: { ...(log[figure.dataset.y] || { range: (_, low, high) => [Math.min(0, low), high * 1.05 || 1] }) },
      },
      axes: [
        { ...axis, label: heads[0].textContent, ...(isSize ? { values: (_, values) => values.map(sizeText) } : {}) },
        { ...axis, label: figure.dataset.yTitle, size: 70 },
      ],
      series,
    }, data, place);
    addEventListener("resize", () => plot.setSize({ width: width(), height: plot.height }));
    return plot;
  };

  for (const figure of document.querySelectorAll("figure[data-x]")) {
    const tools = document.createElement("div");
    tools.className = "tools";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Zoom and read values";
    button.setAttribute("aria-expanded", "false");
    tools.append(button);
    figure.querySelector("svg").after(tools);
    const place = document.createElement("div");
    place.className = "zoomed";
    tools.after(place);
    let plot = null;
    button.addEventListener("click", () => {
      if (plot) { plot.destroy(); plot = null; } else { plot = show(figure, place); }
      button.textContent = plot ? "Close" : "Zoom and read values";
      button.setAttribute("aria-expanded", String(Boolean(plot)));
    });
  }

  // On paper nobody can open a table.
  const closed = [];
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open]):not(.large-data)")) { details.open = true; closed.push(details); }
  });
  addEventListener("afterprint", () => { for (const details of closed.splice(0)) details.open = false; });
})();
