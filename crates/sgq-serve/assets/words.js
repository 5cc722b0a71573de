// Sentences and numbers in words.

import { ago, duration, grouped, money, short } from "./format.js";
import { h, tidy } from "./dom.js";

/** Below this part of the gap, a percentage has too many zeros to be read. */
const SMALLEST_PERCENT = 1e-5;

/** A part of the gap at the start: 2.1%, or 3.2e-7 where that is shorter. */
export function part(value) {
  if (value == null) return "unknown";
  if (value === 0) return "0";
  if (value >= SMALLEST_PERCENT) return `${short(Number((100 * value).toPrecision(2)))}%`;
  return short(Number(value.toPrecision(2)));
}

export const interval = (low, high) => `${part(low)} and ${part(high)}`;

/** `12,345`, also below a hundred without a digit behind the point. */
export const count = (value) => (value == null ? "–" : grouped(Math.round(value)));

export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

export { ago, duration, money };

/** A sentence begins with a capital and ends with a full stop. */
export function sentence(words) {
  const text = tidy(words);
  if (text === "") return "";
  const first = Array.from(text)[0];
  return `${first.toUpperCase()}${text.slice(first.length)}${/[.!?…]$/.test(text) ? "" : "."}`;
}

const MINUTE = 60_000;
const DAY = 86_400_000;

/** When something is expected: today the time, else the day. */
export function when(at, now = Date.now()) {
  const date = new Date(at);
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: Math.abs(at - now) > 300 * DAY ? "numeric" : undefined });
  const isToday = new Date(now).toDateString() === date.toDateString();
  if (at > now && at - now < 2 * MINUTE) return "within two minutes";
  if (isToday) return `today at ${time}`;
  return `on ${day} at ${time}`;
}

/** A moment that grows old on the page: `tickTimes` keeps it right. */
const past = (at) => (ago(at) === "now" ? "just now" : ago(at));

export function since(at) {
  const date = new Date(at);
  return h("time", { class: "since", datetime: date.toISOString(), "data-at": at, title: date.toLocaleString("en-GB") }, past(at));
}

export function tickTimes(root) {
  for (const element of root.querySelectorAll("time.since")) {
    const words = past(Number(element.dataset.at));
    if (element.textContent !== words) element.textContent = words;
  }
}

/** Names of events, in words that say what happened, and a mark that tells them apart without colour. */
export const KINDS = {
  asked: ["→", "asked", "A question was put to a user."],
  held: ["⏸", "held", "An answer came before its turn, and waits for it."],
  answered: ["✓", "answered", "A question was answered, and the point moved."],
  late: ["✓", "late", "A question that had failed was answered all the same."],
  refused: ["⊘", "refused", "An answer was not taken; its question stays open."],
  flagged: ["⚑", "flagged", "An answer was taken, and looks odd."],
  failed: ["✕", "failed", "A question will not be answered."],
  withdrawn: ["↶", "withdrawn", "A question is not waited for any more."],
  away: ["☾", "away", "A user cannot be asked until it is back."],
  back: ["↩", "back", "A user can be asked again."],
  left: ["⇥", "left", "A user takes part no more."],
  joined: ["+", "joined", "A user takes part again."],
  extended: ["↔", "extended", "A budget or a tolerance was changed."],
  rebuilt: ["↻", "rebuilt", "The session was made anew from all answers."],
  waited: ["…", "waited", "Nobody could be asked."],
  round: ["◎", "round", "Everybody is asked the same."],
  reported: ["●", "reported", "A question to everybody was answered."],
  begun: ["▶", "begun", "The study has its model."],
  noted: ["·", "noted", "A note, which changes nothing."],
};

/** Where a user stands: a mark and a word. */
export const STATES = {
  free: ["○", "can be asked"],
  out: ["→", "question is out"],
  away: ["☾", "away"],
  failing: ["✕", "failing"],
  left: ["⇥", "has left"],
  spent: ["■", "limit spent"],
};
