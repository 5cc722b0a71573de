// A report's own part: its static figures give their place to charts, its tables get buttons, a benchmark's reader chooses methods
// and data sets, and the address keeps what is seen.

import { short } from "./format.js";
import { copyText, make, sortable, table } from "./table.js";
import { chart } from "./chart.js";

// As many curves can be followed in one picture.
const MOST_CURVES = 12;
const data = JSON.parse(document.getElementById("data").textContent);

// ---- the view, in the address's fragment: #name=words&name=words

const views = new Map(location.hash.slice(1).split("&").filter((part) => part.includes("=")).map((part) => part.split(/=(.*)/s, 2)));

function remember(name, words) {
  if (words) views.set(name, words);
  else views.delete(name);
  const fragment = [...views].map(([key, value]) => `${key}=${value}`).join("&");
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
}

// Somebody follows another link to this page.
addEventListener("hashchange", () => location.reload());

function shareButton() {
  const button = make("button", { type: "button" }, "Copy a link to this view");
  const said = make("span", { role: "status", class: "table-count" });
  button.addEventListener("click", async () => {
    said.textContent = (await copyText(location.href)) ? "copied" : "the address above is the link";
  });
  document.querySelector("h1").after(make("div", { class: "share" }, button, said));
}

// ---- charts

// Which of a benchmark's methods are left out.
const leftOut = new Set();
const opened = [];

function seriesOf(given) {
  const { error, ...series } = given;
  if (error) {
    const end = (sign) => series.y.map((value, k) => (error[k] === null || value === null ? null : value + sign * error[k]));
    Object.assign(series, { low: end(-1), high: end(1) });
  }
  return series;
}

function openChart(holder) {
  const number = holder.dataset.chart;
  const given = data.charts[number];
  const charted = make("div");
  holder.replaceChildren(charted);
  const it = chart(charted, { ...given, series: given.series.map(seriesOf), onview: (words) => remember(`c${number}`, words) });
  it.show(views.get(`c${number}`) ?? "");
  it.filter((series) => !leftOut.has(series.name));
  opened.push(it);
}

function openCharts() {
  const waiting = new Set(document.querySelectorAll("[data-chart]"));
  const open = (holder) => {
    if (waiting.delete(holder)) openChart(holder);
  };
  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        near.unobserve(entry.target);
        open(entry.target);
      }
    },
    { rootMargin: "800px" },
  );
  for (const holder of waiting) near.observe(holder);
  addEventListener("beforeprint", () => [...waiting].forEach(open));
}

// ---- a benchmark

function explore({ problems, methods, targets, tunings, queries, relative }) {
  const place = document.getElementById("explore");
  const names = methods.map((method) => method.name);
  const ends = (name) => new Set((views.get(name) ?? "").split(".").filter((text) => text !== "").map(Number));
  const [withoutMethods, withoutProblems] = [ends("m"), ends("p")];
  const choice = (name, count) => Math.min(count - 1, Math.max(0, Math.trunc(Number(views.get(name) ?? 0)) || 0));
  let tuning = choice("t", tunings.length);
  let target = views.has("g") ? choice("g", targets.length) : Math.min(1, targets.length - 1);

  const isIn = (method) => !withoutMethods.has(method);
  const problemsIn = () => problems.map((_, k) => k).filter((k) => !withoutProblems.has(k));
  const methodsIn = () => methods.map((_, k) => k).filter(isIn);
  const queriesOf = (problem, method, goal) => queries[tuning][problem][method]?.[goal] ?? null;
  // The fewest of any method that pays, of those that are chosen.
  const fewest = (problem, goal) => {
    const all = methodsIn().filter((method) => methods[method].pays).map((method) => queriesOf(problem, method, goal));
    const reached = all.filter((count) => count !== null);
    return reached.length ? Math.max(1, Math.min(...reached)) : null;
  };

  const panel = make("section", { class: "explore", "aria-label": "What is shown" });
  const picture = make("div");
  const heat = make("div");
  const heatTitle = make("h2");
  const toggles = (label, entries, without, name, more = []) => {
    const buttons = entries.map((entry, k) => {
      const button = make("button", { type: "button" }, make("bdi", {}, entry));
      button.addEventListener("click", () => {
        if (!without.delete(k)) without.add(k);
        changed(name, without);
      });
      return button;
    });
    const set = (wanted) => () => {
      without.clear();
      entries.forEach((_, k) => wanted(k) || without.add(k));
      changed(name, without);
    };
    const all = [["All", () => true], ["None", () => false], ...more].map(([words, wanted]) => {
      const button = make("button", { type: "button" }, words);
      button.addEventListener("click", set(wanted));
      return button;
    });
    const show = () => buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(!without.has(k))));
    return [make("fieldset", {}, make("legend", {}, label), make("div", { class: "choices" }, ...all, ...buttons)), show];
  };
  const changed = (name, without) => {
    remember(name, [...without].sort((one, other) => one - other).join("."));
    show();
  };
  const one = (label, entries, now, pick) => {
    const buttons = entries.map((words, k) => {
      const button = make("button", { type: "button", class: "choice" }, words);
      button.addEventListener("click", () => (pick(k), show()));
      return button;
    });
    const mark = () => buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === now())));
    return [make("fieldset", {}, make("legend", {}, label), make("div", { class: "choices" }, ...buttons)), mark];
  };
  const paying = methods.some((method) => !method.pays) ? [["Only those that pay", (k) => methods[k].pays]] : [];
  const parts = [
    toggles("Data sets", problems, withoutProblems, "p"),
    toggles("Methods", methods.map((method) => method.name), withoutMethods, "m", paying),
    one("Settings", tunings, () => tuning, (k) => remember("t", String((tuning = k)))),
    one(relative ? "Part of the gap at the start to reach" : "Gap to reach", targets, () => target, (k) => remember("g", String((target = k)))),
  ];
  panel.append(...parts.map(([fieldset]) => fieldset));
  place.append(
    panel,
    heatTitle,
    make("p", {}, "How many times the fewest queries of any method that pays, among the methods that are chosen. Underlined: the fewest. A dash: not reached within the budget."),
    heat,
    make("h2", {}, "Performance profile"),
    make("p", {}, "On which part of the chosen data sets, and of all targets, a method needs at most so many times the fewest queries."),
    make("div", { class: "figure" }, picture),
  );
  for (const old of document.querySelectorAll(".explored")) old.hidden = true;

  const shortRatio = (ratio) => (ratio < 10 ? ratio.toFixed(2) : ratio.toFixed(1));
  function heatRows() {
    const rows = methodsIn().map((method) => {
      const row = { name: methods[method].label, method };
      let sum = 0, reached = 0;
      for (const problem of problemsIn()) {
        const [count, best] = [queriesOf(problem, method, target), fewest(problem, target)];
        if (count === null || best === null) continue;
        row[problem] = Math.max(1, count) / best;
        row[`of${problem}`] = count;
        sum += Math.log(row[problem]);
        reached++;
      }
      row.mean = reached ? Math.exp(sum / reached) : null;
      row.reached = reached;
      return row;
    });
    return rows.sort((one, other) => (one.mean ?? Infinity) - (other.mean ?? Infinity));
  }
  const heatOf = () => {
    const columns = [
      { key: "name", label: "method", kind: "text", width: 11 },
      { key: "reached", label: "reached", kind: "number", width: 5.5, title: "On how many of the chosen data sets" },
      { key: "mean", label: "mean", kind: "number", width: 5, title: "Geometric mean over the data sets where it is reached" },
      ...problemsIn().map((problem) => ({ key: problem, label: problems[problem], kind: "number", width: 6.2 })),
    ];
    return { caption: heatTitle.textContent, columns, rows: heatRows(), empty: "No method is chosen." };
  };
  const cell = (td, value, row, column) => {
    if (column.key === "name" || column.key === "reached") return false;
    if (value === null || value === undefined) {
      td.textContent = "–";
      td.className = "heat-none";
      return true;
    }
    td.textContent = shortRatio(value);
    if (column.key === "mean") return true;
    td.className = `heat-${Math.min(8, Math.max(0, Math.round(2 * Math.log2(Math.max(1, value)))))}${value <= 1 && methods[row.method].pays ? " fewest" : ""}`;
    td.title = `${row.name} on ${column.label}: ${row[`of${column.key}`]} queries`;
    return true;
  };

  const across = Array.from({ length: 201 }, (_, k) => (5 * k) / 200);
  function profile() {
    const curves = methods.map((method, place) => {
      if (!isIn(place)) return null;
      const ratios = [];
      let instances = 0;
      for (const problem of problemsIn()) {
        for (let goal = 0; goal < targets.length; goal++) {
          const best = fewest(problem, goal);
          if (best === null) continue;
          instances++;
          const count = queriesOf(problem, place, goal);
          if (count !== null) ratios.push(Math.log2(Math.max(1, count) / best));
        }
      }
      const y = across.map((x) => (instances ? ratios.filter((ratio) => ratio <= x + 1e-12).length / instances : 0));
      return { name: method.label, y, dashed: method.oracle, colour: place, area: y.reduce((sum, part) => sum + part, 0) };
    });
    const there = curves.filter((curve) => curve !== null);
    const least = [...there].sort((a, b) => b.area - a.area)[MOST_CURVES - 1]?.area ?? -1;
    return there.map((curve) => ({ ...curve, hidden: curve.area < least }));
  }

  let heatTable = null, profileChart = null;
  function show() {
    for (const [, mark] of parts) mark();
    leftOut.clear();
    methods.forEach((method, k) => isIn(k) || leftOut.add(method.label));
    heatTitle.textContent = `Queries to ${relative ? `${short(100 * Number(targets[target]))}% of the gap at the start` : `a gap of ${targets[target]}`}, ${tunings[tuning]}`;
    if (heatTable) heatTable.update(heatOf());
    else heatTable = table(heat, { ...heatOf(), cell, sort: "reached", desc: true });
    const series = profile();
    if (profileChart) profileChart.update({ series });
    else {
      profileChart = chart(picture, {
        title: "Performance profile", description: "For each method, the part of all problems and targets against the ratio of its queries to the fewest.",
        x: [{ key: "ratio", label: "queries over the fewest, as a power of 2", values: across }],
        yLabel: "part of all problems and targets", series, log: "never", range: [0, 1], onview: (words) => remember("f", words),
      });
      profileChart.show(views.get("f") ?? "");
    }
    for (const it of opened) it.filter((curve) => !leftOut.has(curve.name));
    for (const section of document.querySelectorAll("[data-problem]")) {
      section.hidden = withoutProblems.has(Number(section.dataset.problem)) || (section.dataset.tuning !== undefined && Number(section.dataset.tuning) !== tuning);
    }
    for (const row of document.querySelectorAll("tr[data-method]")) row.hidden = !isIn(Number(row.dataset.method));
  }
  show();
}

shareButton();
if (data.benchmark) explore(data.benchmark);
openCharts();
for (const markup of document.querySelectorAll(".table > table")) sortable(markup);
