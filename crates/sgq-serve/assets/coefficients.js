// The coefficients of a regression, with intervals: the table is the picture.

import { h, headings, named, put, s, scrolling, section } from "./dom.js";
import { short } from "./format.js";

const WIDTH = 200;
const HEIGHT = 22;
/** An interval so many times as long as three quarters of the others are leaves the axis at an arrow. */
const OUTLIER = 8;
/** So many remarks are shown. */
const NOTES = 20;
/** An estimate so many times beyond the intervals' ends is not shown. */
const FAR = 20;
/** What `e^coefficient` is called. */
const RATIOS = { binomial: "Odds ratio", poisson: "Rate ratio", negbin: "Rate ratio", gamma: "Ratio of means" };

const number = (value) => (value == null ? NaN : Number(value));
const digits = (value, places = 3) => (Number.isFinite(value) ? short(Number(value.toPrecision(places))).replace("-", "−") : "–");
const probability = (p) => (!Number.isFinite(p) ? "–" : p < 1e-4 ? "< 0.0001" : digits(p, 2));

export function coefficients() {
  const lead = h("p", { class: "lead" });
  const caption = h("caption");
  const [head, body] = [h("thead"), h("tbody")];
  const notes = h("div", { class: "remarks" });
  const element = section("coefficients", "Coefficients", [
    "What the regression says so far. An interval that does not cross the upright line, which is 0, speaks for an effect.",
    "Until the session has converged, the estimates still move. Intervals speak of chance in the rows, not of that.",
  ], lead, scrolling("Coefficients with intervals", h("table", { class: "forest" }, caption, head, body)), notes);
  element.hidden = true;
  return {
    element,
    update(result) {
      element.hidden = !result?.coefficients?.length;
      if (element.hidden) return;
      const list = result.coefficients.map((it) => ({ ...it, estimate: number(it.estimate), low: number(it.lower), high: number(it.upper) }));
      const family = Object.keys(RATIOS).find((name) => String(result.family).startsWith(name));
      const ratio = list.some((it) => it.ratio != null) ? (RATIOS[family] ?? "Ratio") : null;
      const level = Math.round(100 * (result.level ?? 0.95));
      const remarks = [result.warnings, result.notes].flat().filter((it) => typeof it === "string" && it);
      const errors = result.std_error_kind ? `; standard errors: ${result.std_error_kind}` : "";
      const labels = ["Coefficient", "Estimate and interval", "Estimate", `${level}% interval`, "p-value", ratio].filter(Boolean);
      put(lead, [result.formula, result.family, state(result)], () => [formula(result), state(result)]);
      put(caption, [errors, level], () => [`Estimates with ${level}% intervals${errors}`]);
      put(head, labels, () => [headings(labels, (place) => place < 2)]);
      put(body, result.coefficients, () => rows(list, ratio));
      put(notes, remarks, () => remarks.slice(0, NOTES).map((words) => h("p", { class: "quiet" }, `Note: ${words}`)));
    },
  };
}

function rows(list, ratio) {
  const axis = range(list.filter((it) => !/^\(?(intercept|const)\)?$/i.test(it.name)));
  return list.map((it) => h("tr", null,
    h("th", { scope: "row" }, named(it.name, 36)),
    h("td", { class: "picture" }, picture(it, axis)),
    h("td", null, digits(it.estimate)),
    h("td", null, Number.isFinite(it.low) || Number.isFinite(it.high) ? `${digits(it.low)} to ${digits(it.high)}` : "not known"),
    h("td", null, probability(number(it.p))),
    ratio ? h("td", null, ratioOf(it)) : null));
}

function ratioOf({ ratio, ratio_lower: low, ratio_upper: high }) {
  return ratio == null ? "–" : `${digits(number(ratio))} (${digits(number(low))} to ${digits(number(high))})`;
}

const formula = (result) => (result.formula ? [h("code", null, String(result.formula).slice(0, 300)), `, ${result.family}. `] : []);

function state(result) {
  if (result.diverged) return "It has diverged: the coefficients mean nothing.";
  if (result.converged && !Number.isFinite(result.last_step)) return "Converged.";
  if (result.converged) return `Converged: each coefficient is at most ${digits(result.last_step, 2)} standard errors off.`;
  if (Number.isFinite(result.believed_off)) return `Believed to be at most ${digits(result.believed_off, 2)} standard errors from where they end.`;
  return "Not converged yet.";
}

function range(list) {
  const known = list.filter((it) => Number.isFinite(it.low) && Number.isFinite(it.high));
  const lengths = known.map((it) => it.high - it.low).sort((a, b) => a - b);
  const longest = OUTLIER * (lengths[Math.floor(lengths.length * 0.75)] ?? 1);
  const ends = known.filter((it) => it.high - it.low <= longest).flatMap((it) => [it.low, it.high]);
  const largest = ends.length ? FAR * Math.max(...ends.map(Math.abs)) : Infinity;
  const all = [0, ...ends, ...list.map((it) => it.estimate).filter((it) => Math.abs(it) < largest)];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return { low, high: high > low ? high : low + 1 };
}

function picture({ estimate, low, high }, axis) {
  if (!Number.isFinite(estimate)) return s("svg", { class: "forest-row", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" });
  const inset = 8;
  const place = (value) => inset + ((WIDTH - 2 * inset) * (value - axis.low)) / (axis.high - axis.low);
  const clipped = (value) => Math.min(WIDTH - 1, Math.max(1, place(value)));
  const middle = HEIGHT / 2;
  const has = Number.isFinite(low) && Number.isFinite(high);
  const head = (d) => s("path", { class: "arrow", d });
  const left = has && place(low) < 0 ? head(`M1,${middle}l6,-4v8z`) : null;
  const right = has && place(high) > WIDTH ? head(`M${WIDTH - 1},${middle}l-6,-4v8z`) : null;
  const at = place(estimate);
  return s("svg", { class: "forest-row", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    s("line", { class: "nothing", x1: place(0), x2: place(0), y1: 0, y2: HEIGHT }),
    has ? s("line", { class: "reach", x1: clipped(low), x2: clipped(high), y1: middle, y2: middle }) : null, left, right,
    at >= 0 && at <= WIDTH ? s("rect", { class: "estimate", x: at - 4, y: middle - 4, width: 8, height: 8 }) : null);
}
