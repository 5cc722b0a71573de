// The last question: who, why, the candidates with the parts of their scores, and what the answer changed.

import { h, headings, named, put, s, scrolling, section, strong } from "./dom.js";
import { count, counted, part, sentence, since, duration } from "./words.js";
import { readableTime, short } from "./format.js";

const BAR_WIDTH = 100;
/** The height of a candidate's row, and of what stands above the rows. */
const ROW_REM = 1.59;
const HEAD_REM = 4;

export function last() {
  const facts = h("div", { class: "facts" });
  const legend = h("ul", { class: "parts-legend" });
  const caption = h("caption");
  const [head, body] = [h("thead"), h("tbody")];
  const scores = scrolling("Candidates and their scores", h("table", { class: "scores" }, caption, head, body));
  const without = h("p", { class: "quiet" }, "Of this question no scores are known: the method does not go by scores, or nobody looked when it was put.");
  let mostRows = 0;
  const waiting = h("div", { class: "waiting" });
  const element = section("last", "The last question", [
    "Before each question the method scores the users whom it could ask. The bars show the scores, and what they are made of.",
    "“Explored” means: chosen at random, so that no user is forgotten, and not by the score.",
  ], facts, h("div", { class: "candidates" }, legend, scores, without), waiting);

  const explored = element.querySelector(".gutter p:last-child");

  return {
    element,
    update({ last: it, answered, out }) {
      // Most methods draw nobody at random.
      explored.hidden = it?.explored == null;
      const has = it?.candidates?.length > 0;
      const bare = (question) => question && { ...question, candidates: null };
      put(facts, [bare(it), it?.answered_at == null && bare(answered)], () =>
        (it ? told(it, answered) : [h("p", { class: "quiet" }, "No question has been put yet.")]));
      without.hidden = !it || has;
      legend.hidden = scores.hidden = !has;
      if (has) fill(it);
      put(waiting, out, () => questions(out));
    },
  };

  function fill(it) {
    put(legend, it.parts, () => it.parts.map(([name, words], index) =>
      h("li", null, swatch(index), h("span", null, strong(name), words ? `: ${words}` : ""))));
    put(caption, [it.explored, it.rank, it.candidates.length], () => [captionOf(it)]);
    put(head, it.parts, () => {
      const line = headings(["#", "User", it.parts.length > 1 ? "Parts of the score" : "Score as a bar", "Score"], (place) => place === 1 || place === 2);
      line.append(...pieces(it.parts).map(([name]) => h("th", { scope: "col", class: "piece" }, name)));
      return [line];
    });
    put(body, [it.candidates, it.user], () => rows(it));
    // Room once taken stays taken: what is below does not move up and down with each question.
    mostRows = Math.max(mostRows, it.candidates.length);
    scores.style.minHeight = `${mostRows * ROW_REM + HEAD_REM}rem`;
  }
}

const captionOf = ({ explored, rank, candidates }) => (explored || rank > candidates.length
  ? "The candidates with the best scores, and the one that was asked"
  : candidates.length === 1 ? "The only candidate" : `The ${counted(candidates.length, "candidate")} with the best scores`);

function told(it, answered) {
  const line = (label, ...value) => h("div", null, h("dt", null, label), h("dd", null, ...value));
  const chosen = it.explored == null ? null : it.explored ? "at random (explored)" : "by its score (not explored)";
  // Until this one is answered, the one before says what an answer changes.
  const effect = it.answered_at == null ? answered : it;
  return [
    h("p", { class: "lead" },
      strong(named(it.user)), it.answered_at == null ? " is asked. " : " was asked. ", reasons(it), it.rule ? ` ${sentence(it.rule)}` : ""),
    h("dl", { class: "pairs" },
      line("Question", `ticket ${count(it.ticket)}, put `, since(it.asked_at)),
      chosen ? line("Chosen", chosen) : null,
      line("Answer", ...(it.answered_at == null ? ["not yet"] : ["came ", since(it.answered_at), `, after ${took(it.answered_at - it.asked_at)}`])),
      ...(effect ? changes(effect, effect !== it).map(([label, ...value]) => line(label, ...value)) : [])),
  ];
}

const took = (ms) => (ms < 10_000 ? readableTime(1000 * ms) : duration(ms));

/** Why a user is asked, in sentences. */
export function reasons({ words, rank, of, explored }) {
  const reason = words ? sentence(words) : "The method gives no reason.";
  if (rank == null || !(of > 1) || (explored && rank === 1)) return reason;
  return `${reason} Its score is ${rank === 1 ? "the best" : `number ${count(rank)}`} of ${count(of)}.`;
}

/** What an answer changed: of this question, or of the one before. */
function changes({ user, point_moved: moved, part_before: before, part_after: after }, isEarlier) {
  return [
    isEarlier ? ["The answer before", "of ", strong(named(user, 28))] : null,
    ["The point moved by", moved == null ? "unknown" : `${short(Number(moved.toPrecision(3)))} (length of the move)`],
    ["Believed to remain", before == null || after == null ? part(after) : `${part(before)} before, ${part(after)} after${change(before, after)}`],
  ].filter(Boolean);
}

function change(before, after) {
  if (!(before > 0) || before === after) return "";
  const by = Math.abs(1 - after / before);
  // A rise is no fault: an answer can show that more remains than was believed.
  return after < before ? `: ${part(by)} less` : `: ${part(by)} more, as the answer showed that there is more to do`;
}

function rows(it) {
  const sums = it.candidates.flatMap(({ score, parts }) =>
    [score ?? 0, sum(parts.map((value) => Math.max(0, value ?? 0))), sum(parts.map((value) => Math.min(0, value ?? 0)))]);
  const [low, high] = [Math.min(0, ...sums), Math.max(0, ...sums)];
  const to = (value) => (high > low ? (BAR_WIDTH * (value - low)) / (high - low) : 0);
  return it.candidates.map((candidate, place) => {
    const isAsked = candidate.user === it.user;
    return h("tr", { class: isAsked ? "chosen" : null },
      h("td", { class: "place" }, count(isAsked && it.rank != null ? it.rank : place + 1)),
      h("th", { scope: "row" }, named(candidate.user, 28), isAsked ? h("span", { class: "tag" }, "asked") : null),
      h("td", { class: "bar" }, bar(candidate.parts, to)),
      h("td", null, digits(candidate.score)),
      pieces(it.parts).map((_, index) => h("td", { class: "piece" }, digits(candidate.parts[index]))));
  });
}

/** A score of one part is that part. */
const pieces = (parts) => (parts.length > 1 ? parts : []);
const sum = (values) => values.reduce((total, value) => total + value, 0);
const digits = (value) => (value == null ? "–" : short(Number(value.toPrecision(3))));

const swatch = (index) => s("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
  s("rect", { class: `score-${index % 7}`, width: 10, height: 10 }));

function bar(values, to) {
  let [up, down] = [0, 0];
  const pieces = values.map((value, index) => {
    if (!value) return null;
    const from = value > 0 ? up : down + value;
    if (value > 0) up += value;
    else down += value;
    return s("rect", { class: `score-${index % 7}`, x: to(from), y: 1, width: Math.max(0, to(from + Math.abs(value)) - to(from)), height: 8 });
  });
  return s("svg", { class: "score", viewBox: `0 0 ${BAR_WIDTH} 10`, preserveAspectRatio: "none", "aria-hidden": "true" }, pieces,
    s("rect", { class: "zero", x: Math.max(0, to(0) - 0.2), y: 0, width: 0.4, height: 10 }));
}

/** Shown of the questions that are out. */
const OUT_SHOWN = 20;

function questions(out) {
  if (out.length < 2) return [];
  return [
    h("h3", null, `${counted(out.length, "question")} are out${out.length >= 100 ? " (the first 100)" : ""}`),
    h("ul", { class: "out" }, out.slice(0, OUT_SHOWN).map(({ user, ticket, asked_at: at }) =>
      h("li", null, strong(named(user, 28)), at == null ? "" : [`, ticket ${count(ticket)}, `, since(at)]))),
    out.length > OUT_SHOWN ? h("p", { class: "quiet" }, `… and ${count(out.length - OUT_SHOWN)} more.`) : null,
  ];
}
