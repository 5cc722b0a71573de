// The point's coordinates over time, by name.

import { chart } from "./chart.js";
import { h, named, plain, put, section } from "./dom.js";
import { count } from "./words.js";

/** As many as the palette has colours. */
const MOST_SHOWN = 7;

export function coordinates(view, onchoice) {
  const plot = h("div", { class: "plot" });
  const boxes = h("div", { class: "boxes" });
  const choice = h("details", { class: "folded", hidden: true }, h("summary", null, "Choose coordinates"), boxes);
  const empty = h("p", { class: "quiet" }, "The point is where it started: no answer has moved it yet.");
  const element = section("coordinates", "Where the point is", [
    "The point is what the session improves: in a regression, its coefficients. Each line is one of its coordinates after each answer.",
    "Lines that have become flat have settled.",
  ], empty, plot, choice);
  let names = [];
  let dim = 0;
  let drawn = null;
  let shown = (view.get("coordinates") ?? "").split(".").filter((it) => /^\d+$/.test(it)).map(Number).slice(0, MOST_SHOWN);

  return {
    element,
    /** Which coordinates are wanted. */
    get wanted() { return shown; },
    prepare(head) {
      names = head.coordinates;
      dim = head.dim;
      if (shown.length === 0) shown = names.slice(0, MOST_SHOWN).map((_, index) => index);
      shown = shown.filter((index) => index < names.length);
      choice.hidden = names.length <= 1;
      put(boxes, names, () => [
        h("p", { class: "quiet" }, `${dim > names.length ? `The first ${names.length} of ${count(dim)} can be shown. ` : ""}Up to ${MOST_SHOWN} at once.`),
        ...names.map((name, index) => h("label", null,
          h("input", { type: "checkbox", checked: shown.includes(index), onchange: choose, "data-index": index }), named(name, 32)))]);
    },
    update(path) {
      const hasMoved = path.n.length > 0;
      empty.hidden = hasMoved;
      plot.hidden = !hasMoved;
      if (!hasMoved) return;
      const series = path.values.map((values, place) => ({ name: plain(names[shown[place]], 40), y: values }));
      const data = { x: [{ key: "queries", label: "Queries", values: path.n, whole: true }], series };
      if (drawn && drawn.names === String(shown)) return drawn.chart.update(data);
      drawn?.chart.destroy();
      drawn = { names: String(shown), chart: chart(plot, {
        title: "Coordinates of the point", description: "A line for each coordinate: its value after each answer.", yLabel: "value",
        log: "never", onview: (text) => view.set("path", text), ...data }) };
      if (view.get("path")) drawn.chart.show(view.get("path"));
    },
  };

  function choose() {
    const all = [...boxes.querySelectorAll("input")];
    shown = all.filter((box) => box.checked).map((box) => Number(box.dataset.index));
    all.forEach((box) => { box.disabled = !box.checked && shown.length >= MOST_SHOWN; });
    view.set("coordinates", shown.join("."));
    if (shown.length) onchoice();
  }
}
