// Events with their reasons, the newest first, by kind.

import { get, of } from "./api.js";
import { h, headings, named, plain, say, scrolling, section } from "./dom.js";
import { KINDS, count, counted, sentence, since } from "./words.js";
import { money } from "./format.js";

const PAGE = 50;
/** A longer reason is cut. */
const LONGEST_WORDS = 400;
/** Tickets of questions to everybody begin here. */
const FIRST_OF_EVERYBODY = 2 ** 32;

const CHOICES = [
  ["trouble", "Failures and refusals", ["failed", "refused", "flagged", "late", "away", "left", "withdrawn", "waited", "rebuilt"]],
  ["answers", "Questions and answers", ["asked", "held", "answered", "late", "round", "reported"]],
  ["changes", "Changes of the session", ["away", "back", "left", "joined", "extended", "rebuilt", "begun", "noted"]],
  ["all", "Everything", []],
];

export function events(id, view) {
  let choice = CHOICES.some(([key]) => key === view.get("events")) ? view.get("events") : "trouble";
  let rows = [];
  let more = false;
  let waiting = [];
  let turn = 0;
  const buttons = CHOICES.map(([key, words]) =>
    h("button", { type: "button", class: "choice", "aria-pressed": String(key === choice), onclick: () => choose(key) }, words));
  const body = h("tbody", { role: "rowgroup" });
  const fresh = h("button", { type: "button", class: "fresh", onclick: () => { list.scrollTop = 0; show(); } });
  const older = h("button", { type: "button", onclick: () => page(rows.at(-1)?.seq) }, "Older events");
  const note = h("p", { class: "quiet reading" });
  const list = scrolling("Events, the newest first",
    // On a narrow screen rows are no table for CSS; roles keep them one for a screen reader.
    h("table", { class: "events", role: "table" }, h("thead", { role: "rowgroup" },
      headings(["When", "What", "User", "Why, or what else there is to say", "Cost"], (place) => place < 4)), body));
  list.classList.add("tall");
  list.addEventListener("scroll", () => { if (list.scrollTop < 4 && waiting.length) show(); });
  const element = section("events", "Events", [
    "Whatever happened, in the order in which it was written to the record, the newest first. Failures and refusals have their reason.",
  ], h("div", { class: "choices", role: "group", "aria-label": "Which events" }, buttons), h("div", { class: "over" }, note, fresh), list, older);
  fresh.hidden = older.hidden = true;

  const kinds = () => CHOICES.find(([key]) => key === choice)[2].join(",");

  async function page(before) {
    const mine = ++turn;
    const answer = await get(`${of(id)}events`, { before, count: PAGE, kinds: kinds() });
    if (mine !== turn) return;
    rows = before == null ? answer.rows : rows.concat(answer.rows);
    waiting = [];
    more = answer.more;
    draw();
  }

  function choose(key) {
    choice = key;
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(CHOICES[place][0] === key)));
    view.set("events", key === "trouble" ? "" : key);
    list.scrollTop = 0;
    page().catch(failed);
  }

  function show() {
    rows = waiting.concat(rows);
    waiting = [];
    draw();
  }

  function draw() {
    const known = new Map([...body.children].map((row) => [row.dataset.seq, row]));
    body.replaceChildren(...rows.map((event) => known.get(String(event.seq)) ?? line(event)));
    older.hidden = !more;
    announce();
  }

  function announce() {
    fresh.hidden = waiting.length === 0;
    say(fresh, `Show ${counted(waiting.length, "newer event")}`);
    const none = choice === "trouble" ? "No failure and no refusal so far." : "No event of this kind so far.";
    say(note, rows.length === 0 ? none : `${counted(rows.length, "event")} shown${more ? "; there are older ones" : ""}.`);
  }

  const failed = (error) => say(note, `The events could not be read: ${error.message}`);

  return {
    element,
    async update() {
      if (rows.length === 0) return page().catch(failed);
      const mine = turn;
      try {
        const newest = (waiting[0] ?? rows[0]).seq;
        const answer = await get(`${of(id)}events`, { count: PAGE, kinds: kinds() });
        if (mine !== turn) return;
        const found = answer.rows.filter((event) => event.seq > newest);
        // More than a page at once: begin anew from the newest.
        if (found.length === PAGE && list.scrollTop < 4 && !list.contains(document.activeElement)) return page();
        waiting = found.concat(waiting);
        // Somebody reads further down: new lines wait behind a button.
        if (list.scrollTop < 4) show();
        else announce();
      } catch (error) {
        failed(error);
      }
    },
  };
}

function line(event) {
  const [mark, word] = KINDS[event.kind] ?? ["·", event.kind];
  return h("tr", { class: `event ${["failed", "refused", "flagged"].includes(event.kind) ? "trouble" : ""}`, "data-seq": event.seq, role: "row" },
    h("td", { role: "cell", class: "words" }, since(event.at)),
    h("td", { role: "cell", class: "words kind" }, h("span", { "aria-hidden": "true" }, mark), ` ${word}`),
    h("td", { role: "cell", class: "words" }, event.user == null ? "" : named(event.user, 28)),
    h("td", { role: "cell", class: "words reason" }, reason(event)),
    h("td", { role: "cell" }, event.cost == null ? "" : money(event.cost)));
}

function reason({ kind, words, ticket, numbers }) {
  // Tickets of questions to everybody are numbers of the program alone.
  const about = ticket == null || ticket >= FIRST_OF_EVERYBODY ? "" : `ticket ${count(ticket)}`;
  // What was changed is told as JSON, for programs.
  const told = words && !words.startsWith("{") ? sentence(plain(words, LONGEST_WORDS)) : "";
  const details = [about, numbers ? counted(numbers, "number") : ""].filter(Boolean).join(", ");
  const quiet = (text) => h("span", { class: "quiet" }, text);
  return [told ? h("bdi", null, told) : quiet(KINDS[kind]?.[2] ?? ""), details ? quiet(` ${details}`) : null];
}
