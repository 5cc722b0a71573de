// Curves to read with pointer, keyboard and screen reader. SVG is sharp on paper, and CSS gives its colours; uPlot's canvas is not.
//
//   const it = chart(element, {
//     title, description,                      description: what a screen reader says of the picture
//     x: [{ key, label, values, whole }],      choices of the horizontal axis; whole: it counts, no tick is a fraction
//     yLabel, series: [{ name, y, low, high, x, colour, dashed, dotted, hidden, note }],
//     log,                                     true: logarithmic at first; "never": linear only, without a switch
//     range: [low, high],                      of the vertical axis at first, where the data are not to decide
//     onview,                                  called with the view as a short text whenever the reader changes it
//   });
//   it.update(changed)    other data, the same view; what is not given stays
//   it.view()             the view as text, "" at first      it.show(text)    back to such a view
//   it.filter(series => true or false)       which series there are at all
//   it.destroy()
//
// A series has its own x, one list for each key, or shares those of the choices. Values along x do not fall. A value of null or
// NaN breaks the line; on a logarithmic axis zero and less lie on the lower edge; infinity leaves at the top. All text is set as text.

import { grouped, short } from "./format.js";
import { make, table } from "./table.js";

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 7;
const DASHES = ["", "0.1 4.5", "9 4.5 0.1 4.5", "14 4", "4 3 4 8"];
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
// Keys move the cursor by a pixel's worth at least, and with shift by so many.
const STEP = 2, LEAP = 60;
const HELP = "Left and right arrow move along a curve, up and down choose one, plus and minus zoom, 0 shows everything, L changes between logarithmic and linear.";
let drawn = 0;

function node(name, attributes = {}, ...children) {
  const it = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
  it.append(...children);
  return it;
}

const power = (exponent) =>
  "10" + (exponent < 0 ? "⁻" : "") + [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[digit]).join("");

const counted = (number) => (Number.isInteger(number) && Math.abs(number) >= 1000 && Math.abs(number) < 1e9 ? grouped(number) : short(number));

// Round numbers from low to high, about so many.
function linearTicks(low, high, count, whole) {
  const rough = (high - low) / Math.max(1, count);
  const unit = 10 ** Math.floor(Math.log10(rough));
  let step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough * 0.999);
  if (whole) step = Math.max(1, Math.round(step));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && ticks.length < 100; k++) {
    const at = Number((k * step).toPrecision(12));
    ticks.push({ at, label: counted(at) });
  }
  return ticks;
}

// Powers of ten, or 1, 2, 5 where few of them show.
function logarithmicTicks(low, high, count) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  if (last - first < 1) {
    const fine = [];
    for (let exponent = first - 1; exponent <= last + 1; exponent++) {
      for (const factor of [1, 2, 5]) {
        const at = Number(`${factor}e${exponent}`);
        if (at >= low && at <= high) fine.push({ at, label: short(at) });
      }
    }
    return fine.length > 1 ? fine : linearTicks(low, high, count, false);
  }
  const step = Math.max(1, Math.ceil((last - first + 1) / count));
  const ticks = [];
  for (let exponent = Math.ceil(first / step) * step; exponent <= last; exponent += step) {
    ticks.push({ at: Number(`1e${exponent}`), label: power(exponent) });
  }
  return ticks;
}

// The first place in ascending values that is not below x.
function placeOf(values, x) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function chart(element, given) {
  let options = { x: [], series: [], ...given };
  const id = `chart-${++drawn}`;
  const view = { x: null, log: null, toggled: new Set(), zoom: null };
  let kept = () => true;
  let geometry = null, cursor = null, followed = null, hovered = null, drag = null, pending = 0;

  const title = make("div", { class: "chart-title", id: `${id}-title` });
  const axes = make("span", { class: "choices axes", role: "group", "aria-label": "Horizontal axis" });
  const scales = make("span", { class: "choices", role: "group", "aria-label": "Vertical axis" });
  const closer = make("button", { type: "button", "aria-label": "Zoom in" }, "+");
  const farther = make("button", { type: "button", "aria-label": "Zoom out" }, "−");
  const whole = make("button", { type: "button" }, "Show everything");
  const zooms = make("span", { class: "choices", role: "group", "aria-label": "Zoom" }, closer, farther, whole);
  const plot = make("div", { class: "chart-plot", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-labelledby": `${id}-title`, "aria-describedby": `${id}-help` });
  const tip = make("div", { class: "chart-tip", hidden: true, "aria-hidden": "true" });
  const picture = node("svg", { "aria-hidden": "true", focusable: "false" });
  plot.append(picture, tip);
  const help = make("p", { class: "only-read", id: `${id}-help` });
  const reading = make("p", { class: "chart-reading", "aria-live": "polite" });
  const all = make("button", { type: "button" }, "All");
  const none = make("button", { type: "button" }, "None");
  const switches = make("span", { class: "choices", role: "group", "aria-label": "Curves" }, all, none);
  const legend = make("ul", { class: "chart-legend", "aria-label": "Curves: press to show or hide one, double click for it alone" });
  const details = make("details", { class: "chart-table" }, make("summary", {}, "The numbers as a table"));
  const behind = make("div");
  details.append(behind);
  const figure = make("figure", { class: "chart" }, make("div", { class: "chart-head" }, title, axes, scales, switches, zooms), plot, help, reading, legend, details);
  element.append(figure);

  // ---- what is shown

  const axis = () => options.x.find((choice) => choice.key === view.x) ?? options.x[0] ?? { key: "", label: "", values: [] };
  const isLog = () => options.log !== "never" && (view.log ?? Boolean(options.log));
  const xs = (series) => series.x?.[axis().key] ?? axis().values ?? [];
  const ofThisAxis = (series) => xs(series).length > 0;
  const there = () => options.series.filter((series) => kept(series));
  const isOn = (series) => Boolean(series.hidden) === view.toggled.has(series.name) && ofThisAxis(series);
  const shown = () => there().filter(isOn);
  const hueOf = (series) => (series.colour ?? options.series.indexOf(series)) % COLOURS;
  const dashOf = (series) => {
    if (series.dotted) return "1.5 3.5";
    if (series.dashed) return "7 5";
    return DASHES[Math.floor((series.colour ?? options.series.indexOf(series)) / COLOURS) % DASHES.length];
  };

  function changed() {
    schedule();
    options.onview?.(api.view());
  }

  function schedule() {
    if (!pending) pending = requestAnimationFrame(draw);
  }

  function domainOfX() {
    if (view.zoom) return view.zoom;
    let [low, high] = [Infinity, -Infinity];
    for (const series of shown()) {
      const values = xs(series);
      low = Math.min(low, values[0]);
      // What has not ended may have lists of unequal length.
      high = Math.max(high, values[Math.min(values.length, series.y.length) - 1]);
    }
    if (!(low <= high)) return [0, 1];
    return low < high ? [low, high] : [low - 0.5, high + 0.5];
  }

  function domainOfY(log, [left, right]) {
    if (options.range && !view.zoom && (!log || options.range[0] > 0) && (log || options.log === "never")) return options.range;
    let [low, high] = [Infinity, -Infinity];
    const include = (value) => {
      if (value === null || !Number.isFinite(value) || (log && value <= 0)) return;
      if (value < low) low = value;
      if (value > high) high = value;
    };
    for (const series of shown()) {
      const values = xs(series);
      const last = Math.min(values.length, series.y.length);
      for (let k = Math.max(0, placeOf(values, left) - 1); k < last; k++) {
        include(series.y[k]);
        if (!log && series.low) include(series.low[k]), include(series.high[k]);
        if (values[k] > right) break;
      }
    }
    if (options.range && !log) high = Math.min(high, options.range[1]);
    if (!(low <= high)) return log ? [0.1, 1] : [0, 1];
    if (log) return low < high ? [low / (high / low) ** 0.03, high * (high / low) ** 0.03] : [low / 3, high * 3];
    if (low > 0 && low < 0.5 * high) low = 0;
    const room = 0.04 * (high - low || Math.abs(high) || 1);
    return [low === 0 ? 0 : low - room, high + room];
  }

  // ---- drawing

  function draw() {
    pending = 0;
    const width = plot.clientWidth || 640, height = plot.clientHeight || 400;
    const log = isLog(), domain = domainOfX(), span = domainOfY(log, domain);
    const yTicks = log ? logarithmicTicks(...span, height / 34) : linearTicks(...span, height / 52, false);
    const left = Math.ceil(24 + 7 * Math.max(2, ...yTicks.map((tick) => tick.label.length)));
    const box = { left, right: width - 14, top: 8, bottom: height - 42 };
    const high = (value) => (log ? Math.log10(value) : value);
    const [floor, roof] = span.map(high);
    const x = (value) => box.left + ((value - domain[0]) / (domain[1] - domain[0])) * (box.right - box.left);
    const y = (value) => {
      if (log && value <= 0) return box.bottom;
      const at = box.bottom - ((high(value) - floor) / (roof - floor)) * (box.bottom - box.top);
      // Far outside is just outside: renderers do not like numbers beyond the screen's.
      return Math.min(box.bottom + 40, Math.max(box.top - 40, at));
    };
    geometry = { box, x, y, domain, width, height };

    const clip = node("clipPath", { id: `${id}-clip` }, node("rect", { x: box.left, y: box.top - 1, width: Math.max(0, box.right - box.left), height: Math.max(0, box.bottom - box.top + 2) }));
    const grid = node("g", { "stroke-width": 1 }), words = node("g");
    const text = (words, attributes) => node("text", attributes, words);
    for (const tick of yTicks) {
      const at = Math.round(y(tick.at)) + 0.5;
      grid.append(node("path", { class: "chart-grid", d: `M${box.left},${at}H${box.right}` }));
      words.append(text(tick.label, { class: "chart-tick", x: box.left - 7, y: at + 4, "text-anchor": "end" }));
    }
    for (const tick of linearTicks(...domain, Math.max(2, (box.right - box.left) / 90), axis().whole)) {
      const at = Math.round(x(tick.at)) + 0.5;
      grid.append(node("path", { class: "chart-grid", d: `M${at},${box.top}V${box.bottom}` }));
      words.append(text(tick.label, { class: "chart-tick", x: at, y: box.bottom + 17, "text-anchor": "middle" }));
    }
    const middle = (box.top + box.bottom) / 2;
    words.append(
      text(axis().label, { class: "chart-label", x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }),
      text(options.yLabel ?? "", { class: "chart-label", transform: `translate(13,${middle})rotate(-90)`, "text-anchor": "middle" }),
    );
    const curves = node("g", { "clip-path": `url(#${id}-clip)` });
    const bands = [], lines = [];
    for (const series of shown()) {
      const group = node("g", { class: `chart-curve curve-${hueOf(series)}` });
      group.series = series;
      if (series.low && series.high) {
        const band = bandOf(series, x, y, domain);
        if (band) bands.push(node("g", { class: `chart-curve curve-${hueOf(series)}` }, node("path", { class: "chart-band", d: band })));
      }
      group.append(node("path", { class: "chart-line", d: lineOf(series, x, y, domain), ...(dashOf(series) && { "stroke-dasharray": dashOf(series) }) }));
      lines.push(group);
    }
    curves.append(...bands, ...lines);
    const frame = node("rect", { class: "chart-frame", x: box.left + 0.5, y: box.top + 0.5, width: Math.max(0, box.right - box.left), height: Math.max(0, box.bottom - box.top) });
    const pointer = node("g", { "clip-path": `url(#${id}-clip)` });
    pointer.setAttribute("class", "chart-pointer");
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.replaceChildren(node("defs", {}, clip), grid, curves, frame, words, pointer);
    geometry.pointer = pointer;
    whole.disabled = farther.disabled = view.zoom === null;
    for (const button of scales.children) button.setAttribute("aria-pressed", String((button.dataset.scale === "log") === log));
    for (const button of axes.children) button.setAttribute("aria-pressed", String(button.dataset.key === axis().key));
    drawLegend();
    point();
    if (details.open) fillTable();
  }

  // Where a series is within the domain, and one value to each side of it.
  function* stretch(series, [left, right]) {
    const values = xs(series), last = Math.min(values.length, series.y.length);
    for (let k = Math.max(0, placeOf(values, left) - 1); k < last; k++) {
      yield [values[k], k];
      if (values[k] > right) return;
    }
  }

  // No more than four vertices to a column of pixels: its first and last value, and its extremes.
  function lineOf(series, x, y, domain) {
    const parts = [];
    let column = null, begun = false;
    const put = (at, height) => {
      parts.push(`${begun ? "L" : "M"}${at.toFixed(1)},${height.toFixed(1)}`);
      begun = true;
    };
    const flush = () => {
      if (!column) return;
      const { first, low, high, last } = column;
      const ordered = low[2] < high[2] ? [low, high] : [high, low];
      let before = null;
      for (const vertex of [first, ...ordered, last]) if (vertex !== before) put(vertex[0], vertex[1]), (before = vertex);
      column = null;
    };
    for (const [value, k] of stretch(series, domain)) {
      const height = series.y[k];
      if (height === null || height === undefined || Number.isNaN(height)) {
        flush();
        begun = false;
        continue;
      }
      const vertex = [x(value), y(height), k];
      if (column && Math.floor(column.first[0]) === Math.floor(vertex[0])) {
        if (vertex[1] < column.high[1]) column.high = vertex;
        if (vertex[1] > column.low[1]) column.low = vertex;
        column.last = vertex;
      } else {
        flush();
        column = { first: vertex, low: vertex, high: vertex, last: vertex };
      }
    }
    flush();
    return parts.join("");
  }

  function bandOf(series, x, y, domain) {
    let path = "", above = [], below = [], before = -Infinity;
    const close = () => {
      if (above.length > 1) path += `M${above.join("L")}L${below.reverse().join("L")}Z`;
      [above, below, before] = [[], [], -Infinity];
    };
    for (const [value, k] of stretch(series, domain)) {
      const [low, high] = [series.low[k], series.high[k]];
      if (!Number.isFinite(low ?? NaN) || !Number.isFinite(high ?? NaN)) {
        close();
        continue;
      }
      const at = x(value);
      if (at - before < 1) continue;
      before = at;
      above.push(`${at.toFixed(1)},${y(high).toFixed(1)}`);
      below.push(`${at.toFixed(1)},${y(low).toFixed(1)}`);
    }
    close();
    return path;
  }

  // ---- legend

  function drawLegend() {
    // What is not shown at first comes last.
    const list = there().filter(ofThisAxis).sort((one, other) => Boolean(one.hidden) - Boolean(other.hidden));
    if (legend.children.length !== list.length || [...legend.children].some((item, k) => item.series?.name !== list[k].name)) {
      legend.replaceChildren(...list.map(entry));
    }
    [...legend.children].forEach((item, k) => {
      item.series = list[k];
      item.button.setAttribute("aria-pressed", String(isOn(list[k])));
      item.button.title = list[k].note ? `${list[k].name}: ${list[k].note}` : list[k].name;
    });
    legend.hidden = list.length < 2 && options.series.length < 2;
    switches.hidden = list.length < 4;
  }

  function entry(series) {
    const sample = node("svg", { viewBox: "0 0 36 12", "aria-hidden": "true", class: `chart-curve curve-${hueOf(series)}` });
    sample.append(node("path", { class: "chart-line", d: "M2,6H34", ...(dashOf(series) && { "stroke-dasharray": dashOf(series) }) }));
    const value = make("span", { class: "value" });
    const button = make("button", { type: "button" }, sample, make("span", { class: "name", dir: "auto" }, series.name), value);
    const item = make("li", {}, button);
    Object.assign(item, { series, button, words: value });
    button.addEventListener("click", () => toggle(item.series));
    button.addEventListener("dblclick", () => alone(item.series));
    const emphasise = (on) => () => {
      hovered = on ? item.series : null;
      mark();
    };
    button.addEventListener("pointerenter", emphasise(true));
    button.addEventListener("pointerleave", emphasise(false));
    button.addEventListener("focus", emphasise(true));
    button.addEventListener("blur", emphasise(false));
    return item;
  }

  function toggle(series) {
    if (!view.toggled.delete(series.name)) view.toggled.add(series.name);
    changed();
  }

  function setAll(isWanted) {
    for (const series of there()) {
      if (isWanted(series) === Boolean(series.hidden)) view.toggled.add(series.name);
      else view.toggled.delete(series.name);
    }
    changed();
  }

  const alone = (series) => setAll((other) => other === series);

  // ---- the values under the pointer, or under the keyboard's cursor

  const yAt = (series, k) => series.y[k];

  // The sample next to x that has a value; none where the curve is not there.
  function nearest(series, x) {
    const values = xs(series), last = Math.min(values.length, series.y.length) - 1;
    if (last < 0 || x > values[last] + tolerance() || x < values[0] - tolerance()) return null;
    let k = Math.min(last, placeOf(values, x));
    if (k > 0 && x - values[k - 1] <= values[k] - x) k--;
    return k;
  }

  const tolerance = () => (geometry ? (3 * (geometry.domain[1] - geometry.domain[0])) / geometry.width : 0);

  function written(series, k) {
    const value = yAt(series, k);
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (value === Infinity) return "∞";
    const [low, high] = [series.low?.[k], series.high?.[k]];
    const band = Number.isFinite(low ?? NaN) && Number.isFinite(high ?? NaN) ? ` (${short(low)} … ${short(high)})` : "";
    return short(value) + band;
  }

  function point() {
    if (!geometry) return;
    const { box, x, y, pointer } = geometry;
    const marks = [];
    let reader = null;
    const isThere = cursor !== null && cursor.x >= geometry.domain[0] - tolerance() && cursor.x <= geometry.domain[1] + tolerance();
    if (isThere) {
      const at = x(cursor.x);
      marks.push(node("path", { class: "chart-cursor", d: `M${at.toFixed(1)},${box.top}V${box.bottom}` }));
      for (const series of shown()) {
        const k = nearest(series, cursor.x);
        if (k === null || !Number.isFinite(series.y[k] ?? NaN)) continue;
        const group = node("g", { class: `chart-curve curve-${hueOf(series)}` });
        group.append(node("circle", { class: "chart-dot", cx: x(xs(series)[k]).toFixed(1), cy: y(series.y[k]).toFixed(1), r: series === followed ? 5 : 3.2 }));
        marks.push(group);
        if (series === followed) reader = { series, k };
      }
    }
    if (drag) {
      const [from, to] = [drag.from, drag.to].sort((one, other) => one - other);
      marks.push(node("rect", { class: "chart-zoom", x: from, y: box.top, width: to - from, height: box.bottom - box.top }));
    }
    pointer.replaceChildren(...marks);
    for (const item of legend.children) {
      const k = isThere && isOn(item.series) ? nearest(item.series, cursor.x) : null;
      const words = k === null ? "" : written(item.series, k).replace(/ \(.*/, "");
      if (item.words.textContent !== words) item.words.textContent = words;
    }
    showReading(reader);
    mark();
  }

  function showReading(reader) {
    tip.hidden = reader === null;
    if (!reader) {
      reading.textContent = "";
      return;
    }
    const { series, k } = reader;
    const at = xs(series)[k];
    const place = `${axis().label} ${counted(at)}`, value = written(series, k);
    const words = `${series.name}: ${value} at ${place}${series.note ? `; ${series.note}` : ""}`;
    // A pointer moves too often for a screen reader.
    reading.setAttribute("aria-live", cursor.byKey ? "polite" : "off");
    if (reading.textContent !== words) reading.textContent = words;
    const name = make("b", { dir: "auto" }, series.name.length > 90 ? `${series.name.slice(0, 90)}…` : series.name);
    tip.replaceChildren(name, make("br"), value, make("br"), place);
    const { x, y, box, width } = geometry;
    const [across, down] = [x(at), y(Number.isFinite(series.y[k] ?? NaN) ? series.y[k] : 0)];
    const [tipWidth, tipHeight] = [tip.offsetWidth, tip.offsetHeight];
    const left = across + 14 + tipWidth > width ? Math.max(0, across - 14 - tipWidth) : across + 14;
    const top = Math.min(Math.max(box.top, down - tipHeight - 8), Math.max(box.top, box.bottom - tipHeight));
    tip.style.transform = `translate(${left.toFixed(0)}px, ${top.toFixed(0)}px)`;
  }

  // The curve under the pointer, or of the legend's entry under it, stands out.
  function mark() {
    const chosen = hovered ?? (cursor ? followed : null);
    for (const group of picture.querySelectorAll(":scope > g > .chart-curve")) {
      if (!group.series) continue;
      group.classList.toggle("chosen", group.series === chosen);
      group.classList.toggle("faded", Boolean(hovered) && group.series !== chosen && isOn(hovered));
    }
  }

  function follow(event) {
    if (!geometry) return;
    const at = plot.getBoundingClientRect();
    const [across, down] = [event.clientX - at.left, event.clientY - at.top];
    const { box, domain, x, y } = geometry;
    if (across < box.left - 8 || across > box.right + 8 || down > box.bottom + 30) return leave();
    const value = domain[0] + ((across - box.left) / (box.right - box.left)) * (domain[1] - domain[0]);
    let best = Infinity;
    let found = null;
    for (const series of shown()) {
      const k = nearest(series, value);
      if (k === null || !Number.isFinite(series.y[k] ?? NaN)) continue;
      const distance = Math.hypot(x(xs(series)[k]) - across, y(series.y[k]) - down);
      if (distance < best) [best, found] = [distance, { series, k }];
    }
    followed = found?.series ?? null;
    cursor = { x: found ? xs(found.series)[found.k] : value, byKey: false };
    point();
  }

  function leave() {
    if (cursor?.byKey) return;
    cursor = null;
    point();
  }

  function zoom(from, to) {
    let [low, high] = from < to ? [from, to] : [to, from];
    if (axis().whole && high - low < 1) [low, high] = [Math.floor(low), Math.floor(low) + 1];
    if (!(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)))) return;
    view.zoom = [low, high];
    changed();
  }

  function zoomBy(factor) {
    const [low, high] = geometry?.domain ?? domainOfX();
    const before = view.zoom;
    view.zoom = null;
    const [first, last] = domainOfX();
    view.zoom = before;
    const centre = cursor && cursor.x > low && cursor.x < high ? cursor.x : (low + high) / 2;
    const from = Math.max(first, centre - (centre - low) * factor), to = Math.min(last, centre + (high - centre) * factor);
    if (factor > 1 && from <= first && to >= last) showEverything();
    else zoom(from, to);
  }

  function showEverything() {
    view.zoom = null;
    changed();
  }

  function stepBy(pixels) {
    const list = shown();
    if (!list.length || !geometry) return;
    if (!list.includes(followed)) followed = list[0];
    const values = xs(followed), last = Math.min(values.length, followed.y.length) - 1;
    const [low, high] = geometry.domain;
    const first = Math.min(last, placeOf(values, low)), end = Math.max(first, Math.min(last, placeOf(values, high + 1e-12 * Math.abs(high))));
    let k = cursor === null ? (pixels > 0 ? first : end) : (nearest(followed, cursor.x) ?? (pixels > 0 ? end : first));
    if (cursor !== null) {
      const from = geometry.x(values[k]);
      const direction = Math.sign(pixels);
      do k += direction;
      while (k > first && k < end && Math.abs(geometry.x(values[k]) - from) < Math.abs(pixels));
    }
    k = Math.min(end, Math.max(first, k));
    cursor = { x: values[k], byKey: true };
    point();
  }

  function keyed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const list = shown();
    const other = (by) => {
      const place = list.indexOf(followed);
      followed = list[(place < 0 ? 0 : place + by + list.length) % list.length] ?? null;
      if (cursor === null) return stepBy(STEP);
      cursor.byKey = true;
      point();
    };
    const actions = {
      ArrowRight: () => stepBy(event.shiftKey ? LEAP : STEP),
      ArrowLeft: () => stepBy(event.shiftKey ? -LEAP : -STEP),
      Home: () => ((cursor = null), stepBy(STEP)),
      End: () => ((cursor = null), stepBy(-STEP)),
      ArrowDown: () => other(1),
      ArrowUp: () => other(-1),
      "+": () => zoomBy(0.5),
      "=": () => zoomBy(0.5),
      "-": () => zoomBy(2),
      0: showEverything,
      l: () => setLog(!isLog()),
      L: () => setLog(!isLog()),
      Escape: () => {
        cursor = null;
        point();
      },
    };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action();
  }

  function setLog(log) {
    if (options.log === "never") return;
    view.log = log === Boolean(options.log) ? null : log;
    changed();
  }

  plot.addEventListener("keydown", keyed);
  plot.addEventListener("blur", () => {
    if (cursor?.byKey) cursor = null;
    point();
  });
  plot.addEventListener("pointermove", (event) => {
    if (drag) {
      const at = plot.getBoundingClientRect();
      drag.to = Math.min(geometry.box.right, Math.max(geometry.box.left, event.clientX - at.left));
    }
    follow(event);
  });
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !geometry) return;
    const across = event.clientX - plot.getBoundingClientRect().left;
    // A finger reads the values; buttons zoom for it.
    if (event.pointerType !== "touch" && across > geometry.box.left && across < geometry.box.right) {
      drag = { from: across, to: across };
      plot.setPointerCapture(event.pointerId);
    }
    follow(event);
  });
  plot.addEventListener("pointerup", () => {
    const finished = drag;
    drag = null;
    if (finished && Math.abs(finished.to - finished.from) > 6) {
      const { box, domain } = geometry;
      const back = (across) => domain[0] + ((across - box.left) / (box.right - box.left)) * (domain[1] - domain[0]);
      zoom(back(finished.from), back(finished.to));
    } else point();
  });
  plot.addEventListener("pointercancel", () => ((drag = null), point()));
  plot.addEventListener("pointerleave", leave);
  plot.addEventListener("dblclick", showEverything);
  closer.addEventListener("click", () => zoomBy(0.5));
  farther.addEventListener("click", () => zoomBy(2));
  whole.addEventListener("click", showEverything);
  all.addEventListener("click", () => setAll(() => true));
  none.addEventListener("click", () => setAll(() => false));
  details.addEventListener("toggle", () => details.open && fillTable());

  // ---- the table behind the picture: every value that is there, of the curves that are shown

  let numbers = null;
  function fillTable() {
    const rows = [];
    const list = shown();
    const withBand = list.some((series) => series.low && series.high);
    for (const series of list) {
      const values = xs(series);
      const last = Math.min(values.length, series.y.length);
      for (let k = 0; k < last; k++) rows.push([series.name, values[k], series.y[k], series.low?.[k] ?? null, series.high?.[k] ?? null]);
    }
    const number = (key, label) => ({ key, label, kind: "number", format: (value) => (value === null || Number.isNaN(value) ? "–" : value === Infinity ? "∞" : counted(value)) });
    const columns = [{ key: 0, label: "curve", kind: "text" }, number(1, axis().label || "x"), number(2, options.yLabel || "value")];
    if (withBand) columns.push(number(3, "low"), number(4, "high"));
    const given = { caption: options.title ?? "Values", columns, rows };
    if (numbers && numbers.shape === columns.map((column) => column.label).join("|")) numbers.update(given);
    else {
      behind.replaceChildren();
      numbers = table(behind, given);
      numbers.shape = columns.map((column) => column.label).join("|");
    }
  }

  // ---- from outside

  function controls() {
    title.textContent = options.title ?? "";
    help.textContent = `${options.description ? `${options.description} ` : ""}${HELP}`;
    axes.hidden = options.x.length < 2;
    axes.replaceChildren(
      ...options.x.map((choice) => {
        const button = make("button", { type: "button", class: "choice", "data-key": choice.key }, choice.label);
        button.addEventListener("click", () => {
          view.x = choice.key === options.x[0].key ? null : choice.key;
          view.zoom = cursor = null;
          changed();
        });
        return button;
      }),
    );
    scales.hidden = options.log === "never";
    scales.replaceChildren(
      ...["log", "linear"].map((scale) => {
        const button = make("button", { type: "button", class: "choice", "data-scale": scale }, scale);
        button.addEventListener("click", () => setLog(scale === "log"));
        return button;
      }),
    );
  }

  const api = {
    element: figure,
    update(changes) {
      const shape = (it) => JSON.stringify([it.title, it.description, it.log, it.x.map((choice) => [choice.key, choice.label])]);
      const before = shape(options);
      const name = followed?.name;
      options = { ...options, ...changes };
      followed = options.series.find((series) => series.name === name) ?? null;
      hovered = null;
      if (shape(options) !== before) controls();
      schedule();
    },
    filter(isKept) {
      kept = isKept;
      schedule();
    },
    view() {
      const parts = [];
      if (view.x !== null) parts.push(`x~${encodeURIComponent(view.x)}`);
      if (view.log !== null) parts.push(view.log ? "log" : "lin");
      const places = options.series.flatMap((series, k) => (view.toggled.has(series.name) ? [k] : []));
      if (places.length) parts.push(`t~${places.join(".")}`);
      if (view.zoom) parts.push(`z~${view.zoom.map((end) => Number(end.toPrecision(6))).join("~")}`);
      return parts.join(",");
    },
    show(words) {
      Object.assign(view, { x: null, log: null, toggled: new Set(), zoom: null });
      for (const part of String(words).split(",")) {
        const [kind, ...values] = part.split("~");
        if (kind === "log" || kind === "lin") view.log = kind === "log";
        if (kind === "x") view.x = options.x.find((choice) => encodeURIComponent(choice.key) === values[0])?.key ?? null;
        if (kind === "t") for (const place of (values[0] ?? "").split(".")) view.toggled.add(options.series[place]?.name);
        const ends = values.map(Number);
        if (kind === "z" && ends.length === 2 && ends[0] < ends[1]) view.zoom = ends;
      }
      schedule();
    },
    destroy() {
      size.disconnect();
      cancelAnimationFrame(pending);
      figure.remove();
    },
  };
  controls();
  const size = new ResizeObserver(schedule);
  size.observe(plot);
  draw();
  return api;
}
