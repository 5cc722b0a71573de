// In short: the five questions and their answers. Where the session stands, with the curve of what remains.

import { chart } from "./chart.js";
import { h, named, put, say, section, strong } from "./dom.js";
import { count, counted, interval, money, part, sentence, since, when } from "./words.js";
import { short } from "./format.js";
import { reasons } from "./last.js";

/** Units of time, the largest first, in milliseconds. */
const UNITS = [["days", 86_400_000], ["hours", 3_600_000], ["minutes", 60_000], ["seconds", 1_000]];

/** So many names stand in a sentence; the rest are counted. */
const NAMES = 3;

const listed = (names) => {
  const shown = names.slice(0, NAMES).map((name, place) => [place ? ", " : "", strong(named(name, 32))]);
  return [...shown.flat(), names.length > NAMES ? ` and ${count(names.length - NAMES)} more` : ""];
};

/** What may be the answer to each question, and in which section there is more. */
const QUESTIONS = [
  ["whom", "Whom do we ask?", "last", whom],
  ["why", "Why them?", "last", why],
  ["bought", "What did it buy?", "standing", bought],
  ["enough", "When is it enough?", "standing", enough],
  ["failing", "Who is failing?", "events", failing],
];

const SEE = { last: "See the last question", standing: "See where it stands", users: "See all users", events: "See failures" };

export function answers(linkTo) {
  const cells = QUESTIONS.map(([id, question, target]) => {
    const answer = h("p", { class: "answer", id: `answer-${id}` });
    const more = linkTo(target, SEE[target], "more");
    return { answer, element: h("div", { class: "question" }, h("h2", null, question), answer, more) };
  });
  return {
    element: h("section", { "aria-label": "In short" },
      h("div", { class: "in-short" }, cells.map((cell) => cell.element)),
      h("p", { class: "terms" },
        strong("Query: "), "one question to one user, for its gradient at one point. ",
        strong("Gap: "), "how far the objective is above its smallest value; the part of it that is believed to remain is 100% at the start ",
        "and 0 at the optimum.")),
    update(head) {
      QUESTIONS.forEach(([, , , words], place) => {
        const [key, make] = words(head);
        put(cells[place].answer, key, make);
      });
    },
  };
}

function whom({ status, out, last, file, users }) {
  const { study, stopped } = status;
  if (study?.asks_everybody) {
    const waits = study.waits_for;
    return [["everybody", study.asks_everybody, waits.length, waits.slice(0, NAMES)], () => [
      strong("Everybody"), study.begun ? ", for a closing answer. " : ", for counts and means first. ",
      waits.length ? ["Still to answer: ", listed(waits), "."].flat() : "All have answered."]];
  }
  if (stopped) {
    return [["stopped", last?.user], () => [strong("Nobody any more. "), ...(last ? ["The last question went to ", strong(named(last.user)), "."] : [])]];
  }
  if (out.length) {
    const names = [...new Set(out.map((question) => question.user))];
    const times = out.map((question) => question.asked_at).filter((at) => at != null);
    const oldest = times.length ? since(Math.min(...times)) : "before this page was opened";
    return [["out", names, out[0].asked_at, status.pending], () => [
      ...listed(names), ...(status.pending > 1
        ? [`: ${counted(status.pending, "question")} are out, the oldest was put `, oldest, "."]
        : [" was asked ", oldest, ", and has not answered yet."])]];
  }
  if (last) return [["waits", last.user], () => ["Nobody at this moment. The last question went to ", strong(named(last.user)), "."]];
  return [["nobody", file], () => [
    strong("Nobody yet"), ` of ${counted(users, "user")}. The page fills itself once the session asks: `, h("code", null, "sgq session run"), "."]];
}

function why({ last, method, summary }) {
  if (!last) return [["method", method, summary], () => ["The method is ", h("code", null, method), summary ? `: ${sentence(summary)}` : "."]];
  // Where there was no choice by score, the rule says why.
  const rule = last.rule && !(last.of > 1) ? ` ${sentence(last.rule)}` : "";
  return [[last.user, last.words, last.rank, last.of, rule], () => [strong(named(last.user, 32)), `: ${reasons(last)}${rule}`]];
}

function bought({ status, last, answered }) {
  if (!status.queries) return ["none", () => ["Nothing yet: no answer has come."]];
  if (status.part == null) {
    return [["unknown", status.queries], () => [
      `${counted(status.queries, "answer")} so far. What remains is not known: the method gives no estimate, or needs more answers for it.`]];
  }
  const { part_before: before, part_after: after } = (last?.answered_at == null ? answered : last) ?? {};
  return [[status.queries, status.part, before, after], () => [
    strong(part(status.part)), ` of the gap at the start is believed to remain after ${counted(status.queries, "answer")}`,
    status.cost === status.queries ? "" : `, which cost ${money(status.cost)}`,
    before != null && after != null ? `; the last one took it from ${part(before)} to ${part(after)}.` : "."]];
}

function enough({ status }) {
  const { stopped, expected, tolerance } = status;
  if (stopped) {
    const verdict = status.diverged ? "It diverged" : status.converged ? "It is enough" : "It has stopped";
    return [["stopped", verdict, stopped], () => [strong(verdict), `: ${sentence(stopped)}`]];
  }
  if (!expected) {
    return [["unknown", tolerance, status.budget], () => ["Too early to say. ", limits(status)]];
  }
  const by = expected.at ? `, ${when(expected.at)},` : ",";
  if (expected.reason !== "converged") {
    return [["budget", expected, status.part == null], () => [
      "At the latest after ", strong(counted(expected.queries, "query", "queries")), `${by} when ${reason(expected.reason, status)}. `,
      status.part == null ? "It is too early to say more." : tolerance ? `As it goes, ${part(tolerance)} of the gap is not reached before.` : ""]];
  }
  return [["expected", expected, tolerance], () => [
    "After about ", strong(counted(expected.queries, "query", "queries")), ` (${count(expected.low)} to ${count(expected.high)})${by} `,
    `${reason(expected.reason, status)}.`]];
}

/** What ends the session, whatever comes. */
function limits({ budget, cost_budget: cost, numbers_budget: numbers, tolerance }) {
  const ends = [
    tolerance ? `when ${part(tolerance)} of the gap is believed to remain` : null,
    budget ? `after ${counted(budget, "query", "queries")}` : null,
    cost ? `at a cost of ${money(cost)}` : null,
    numbers ? `after ${counted(numbers, "number")} sent` : null,
  ].filter(Boolean);
  return ends.length ? `It stops ${ends.join(", or ")}.` : "No budget and no tolerance is set.";
}

function reason(words, { tolerance, budget, cost_budget: cost, numbers_budget: numbers }) {
  if (words === "converged" && tolerance) return `${part(tolerance)} of the gap is believed to remain`;
  if (words === "cost budget") return `the budget in cost of ${money(cost)} is spent`;
  if (words === "numbers budget") return `the budget of ${counted(numbers, "number")} sent is spent`;
  if (words === "budget" && budget) return `the budget of ${counted(budget, "query", "queries")} is spent`;
  return `the expected end is reached: ${words}`;
}

function failing({ failing: users, status }) {
  if (users.length === 0 && status.warnings.length === 0) return ["nobody", () => [strong("Nobody"), status.queries ? "." : " so far."]];
  if (users.length === 0) return [["warnings", status.warnings], () => [sentence(status.warnings[0])]];
  const [first] = users;
  return [[users.length, users.slice(0, NAMES)], () => [
    ...listed(users.map((user) => user.name)), users.length === 1 ? ": " : [". ", named(first.name, 32), ": "], sentence(first.words)].flat()];
}

/** Whether it is known how many coordinates there are: a study by a plan has its model once everybody has answered. */
export const isModelled = ({ status }) => !status.study || status.study.begun;

/** A number with its label, and how much of its budget it is. */
function figure(label) {
  const value = h("dd", { class: "value" });
  const bar = h("span", { class: "spent", "aria-hidden": "true" }, h("span"));
  const note = h("dd", { class: "note" });
  const set = (text, spent, words) => {
    say(value, text);
    say(note, words);
    bar.classList.toggle("without", spent == null);
    bar.firstChild.style.width = `${100 * Math.min(1, Math.max(0, spent ?? 0))}%`;
  };
  return {
    element: h("div", { class: "figure" }, h("dt", null, label), value, bar, note),
    set,
    /** What was spent, of a budget if there is one. */
    spend(used, budget, format, words = "") {
      if (budget == null) set(format(used), null, words || "No limit is set.");
      else set(`${format(used)} of ${format(budget)}`, budget > 0 ? used / budget : 1, `${format(Math.max(0, budget - used))} left of the budget.`);
    },
  };
}

export function standing(view) {
  const remains = figure("Believed to remain");
  const queries = figure("Queries answered");
  const cost = figure("Cost");
  const numbers = figure("Numbers sent");
  const stop = figure("Next stop");
  const plot = h("div", { class: "plot" }, h("p", { class: "frame quiet" }, "No curve yet: it begins with the first estimate of what remains."));
  const warnings = h("div", { class: "notes" });
  const reading = h("p", { class: "quiet reading" });
  let drawn = null;

  return {
    element: section("standing", "Where it stands", [
      "The part of the gap at the start that is believed to remain says how far there is to go. It is the method’s own estimate; " +
      "the truth is believed to lie in the interval in nine of ten cases.",
      "On the logarithmic axis each line is a tenth of the one above it: 10⁰ is all of the gap at the start, 10⁻² is 1% of it.",
    ], h("dl", { class: "figures" }, [remains, queries, cost, numbers, stop].map((it) => it.element)), plot, reading, warnings),

    update(head) {
      const { status } = head;
      const end = status.tolerance ? `; it stops at ${part(status.tolerance)}` : "";
      remains.set(part(status.part), null, status.part == null ? "No estimate yet." : `Between ${interval(status.low, status.high)}${end}.`);
      queries.spend(status.queries, status.budget, count);
      cost.spend(status.cost, status.cost_budget, money);
      numbers.spend(status.numbers, status.numbers_budget, count, isModelled(head) ? `A gradient holds ${count(head.dim)}: one for each coordinate.` : "");
      const { expected, stopped } = status;
      const condition = expected?.reason === "converged" ? ", as the last third of the answers went" : "";
      stop.set(stopped ? (status.converged ? "reached" : "stopped") : expected ? `≈ ${count(expected.queries)}` : "unknown", null,
        stopped ? sentence(stopped) : expected ? `By then ${reason(expected.reason, status)}${condition}.` : limits(status));
      put(warnings, [status.warnings, status.certified], () => [
        status.certified == null ? null : h("p", null, `Proven: the gap is at most ${short(status.certified)}, in the objective’s own units.`),
        ...status.warnings.map((words) => h("p", { class: "warning" }, `Warning: ${sentence(words)}`)),
      ]);
      put(reading, [status.replayed < status.queries, status.replayed, status.queries], () => (status.replayed < status.queries
        ? [`The record is being read: ${count(status.replayed)} of ${counted(status.queries, "answer")} so far. The curve is complete when all are.`]
        : []));
    },

    /** Draws the curve; it is the only part that needs all answers. */
    draw(curve, head) {
      const data = curveOf(curve, head.status);
      if (drawn) return drawn.update(data);
      if (!curve.part.some((value) => value != null)) return;
      plot.replaceChildren();
      drawn = chart(plot, {
        title: "What is believed to remain",
        description: "A line that falls from 1, the start, to what remains now, with the interval in which the truth is believed to lie.",
        yLabel: "part of the gap", log: true, onview: (text) => view.set("gap", text), ...data,
      });
      if (view.get("gap")) drawn.show(view.get("gap"));
    },
  };
}

/** Two points on each axis. */
const between = (from, to) => Object.fromEntries(["queries", "cost", "time"].map((key, place) => [key, [from[place], to[place]]]));

/** The curve as the chart takes it, with a line to the stop that is expected. */
function curveOf(curve, { expected, stopped, tolerance, part: now }) {
  const [began, end] = [curve.at[0] ?? 0, curve.at.length - 1];
  const [unit, unitMs] = UNITS.find(([, ms]) => ((curve.at[end] ?? 0) - began) / ms >= 3) ?? UNITS.at(-1);
  const elapsed = (at) => (at - began) / unitMs;
  const x = { queries: curve.n, cost: curve.cost, time: curve.at.map(elapsed) };
  const lines = [{ name: "believed to remain", colour: 0, y: curve.part, low: curve.low, high: curve.high }];
  const leads = expected && !stopped && now > 0 && tolerance > 0 && end > 0 && expected.queries > curve.n[end];
  let far = [curve.n[end], curve.cost[end], x.time[end]];
  if (leads && expected.reason === "converged") {
    const steps = expected.queries - curve.n[end];
    const from = Math.floor((2 * end) / 3);
    const paid = (curve.cost[end] - curve.cost[from]) / Math.max(1, curve.n[end] - curve.n[from]);
    far = [expected.queries, curve.cost[end] + paid * steps, expected.at == null ? x.time[end] : Math.max(x.time[end], elapsed(expected.at))];
    lines.push({ name: "expected from here", colour: 1, dotted: true, y: [now, tolerance], x: between([curve.n[end], curve.cost[end], x.time[end]], far) });
  }
  if (tolerance > 0 && end >= 0) {
    const name = `enough: ${part(tolerance)} remains`;
    lines.push({ name, colour: 2, dashed: true, y: [tolerance, tolerance], x: between([curve.n[0], curve.cost[0], x.time[0]], far) });
  }
  return {
    x: [
      { key: "queries", label: "Queries", values: x.queries, whole: true },
      { key: "cost", label: "Cost", values: x.cost },
      { key: "time", label: `Time in ${unit}`, values: x.time },
    ],
    series: lines,
  };
}
