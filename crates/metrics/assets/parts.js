// What every view is made of: elements, numbers in words, tables that change without being made anew.

const SVG = "http://www.w3.org/2000/svg";

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Only what has changed is touched, so that a selection, a focus or a screen reader stays where it is.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function fillTable(table, rows) {
  const body = table.tBodies[0];
  const right = [...table.tHead.rows[0].cells].map((cell) => cell.classList.contains("n"));
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((texts, index) => {
    const row = body.rows[index] ?? body.insertRow();
    texts.forEach((text, column) => {
      let cell = row.cells[column];
      if (!cell) {
        cell = element(column === 0 ? "th" : "td", column === 0 ? { scope: "row" } : {});
        if (right[column]) cell.className = "n";
        row.append(cell);
      }
      say(cell, text);
    });
  });
}

export function fillList(list, items, make) {
  while (list.children.length > items.length) list.lastElementChild.remove();
  items.forEach((item, index) => {
    const row = list.children[index] ?? list.appendChild(element("li"));
    make(row, item);
  });
}

export function fillTiles(list, tiles) {
  fillList(list, tiles, (row, [label, figure, detail]) => {
    if (row.children.length === 0) {
      for (const kind of ["label", "figure", "detail"]) row.append(element("div", { class: kind }));
    }
    [label, figure, detail ?? ""].forEach((text, index) => say(row.children[index], text));
  });
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export const count = (value) => (value >= 100 || Number.isInteger(value) ? whole.format(value) : digits.format(value));
export const percent = (share) => `${share >= 0.0995 || share < 0.0005 ? Math.round(share * 100) : (share * 100).toFixed(1)} %`;

function scaled(value, step, units) {
  let unit = 0;
  while (value >= step && unit < units.length - 1) {
    value /= step;
    unit += 1;
  }
  return `${value >= 1000 ? whole.format(value) : digits.format(value)} ${units[unit]}`;
}

export const bytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
export const rate = (value) => scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s"]);

export function latency(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms === 0) return "0";
  return scaled(ms * 1e6, 1000, ["ns", "µs", "ms", "s"]);
}

export function span(seconds) {
  if (seconds === null || seconds === undefined) return "not known yet";
  const rest = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(rest / 3600), Math.floor((rest % 3600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  if (minutes > 0) return `${minutes} min ${rest % 60} s`;
  return `${rest} s`;
}
