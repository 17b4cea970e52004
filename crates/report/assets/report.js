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
      const hasLine = head.dataset.role === undefined;
      series.push({
        label: head.textContent,
        stroke: colour("--c" + style),
        width: hasLine ? 2 : 0,
        dash: DASH[style],
        points: { show: !hasLine || undefined, size: isPublished ? 9 : undefined, fill: isPublished ? colour("--paper") : undefined },
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

  // Long tables are searched by words: every word must be in the row. Differences are marked with triangles.
  for (const region of document.querySelectorAll("section > .scroll.tall")) {
    const rows = [...region.querySelectorAll("tbody tr")];
    const name = region.getAttribute("aria-label");
    const tools = document.createElement("div");
    tools.className = "tools filter";
    const label = document.createElement("label");
    label.textContent = "Filter rows ";
    const input = document.createElement("input");
    input.type = "search";
    input.setAttribute("aria-label", "Filter rows of " + name);
    input.placeholder = "words, for example: 4k 16 jobs";
    label.append(input);
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    tools.append(label);
    let only = null;
    if (rows.some((row) => /[\u25b2\u25bc]/.test(row.textContent))) {
      const marked = document.createElement("label");
      only = document.createElement("input");
      only.type = "checkbox";
      marked.append(only, " only rows with a difference");
      tools.append(marked);
    }
    tools.append(count);
    region.before(tools);
    const texts = rows.map((row) => [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase());
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, place) => {
        const isIn = words.every((word) => texts[place].includes(word)) && !(only && only.checked && !/[\u25b2\u25bc]/.test(texts[place]));
        row.hidden = !isIn;
        shown += isIn;
      });
      count.textContent = shown + " of " + rows.length + " rows";
    };
    input.addEventListener("input", apply);
    if (only) only.addEventListener("change", apply);
    apply();
  }

  // Small multiples: each can be shown large.
  for (const figure of document.querySelectorAll(".multiples figure")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "enlarge";
    button.textContent = "Enlarge";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", "Enlarge: " + figure.querySelector("h3").textContent);
    figure.querySelector("figcaption").append(button);
    button.addEventListener("click", () => {
      const isLarge = figure.classList.toggle("large");
      button.textContent = isLarge ? "Make small" : "Enlarge";
      button.setAttribute("aria-expanded", String(isLarge));
    });
  }
  // A link to one of them shows it large.
  const enlarge = () => {
    const figure = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (figure && figure.closest(".multiples") && !figure.classList.contains("large")) figure.querySelector(".enlarge").click();
  };
  addEventListener("hashchange", enlarge);
  enlarge();

  // On paper nobody can open a table.
  const closed = [];
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open]):not(.large-data)")) { details.open = true; closed.push(details); }
  });
  addEventListener("afterprint", () => { for (const details of closed.splice(0)) details.open = false; });
})();
