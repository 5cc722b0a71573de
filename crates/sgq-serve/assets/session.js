// The page of one session: what is read when, and given to its sections.

import { ApiError, get, of } from "./api.js";
import { answers, isModelled, standing } from "./standing.js";
import { last } from "./last.js";
import { whoWasAsked } from "./history.js";
import { coordinates } from "./coordinates.js";
import { coefficients } from "./coefficients.js";
import { users } from "./users.js";
import { events } from "./events.js";
import { h, plain, put } from "./dom.js";
import { count, counted, part, sentence } from "./words.js";

/** What changes with every answer is read at most so often, and what is larger at most so often. */
const SOON_MS = 250;
const LATER_MS = 2_000;
/** While the server replays the record, the page looks so often. */
const REPLAY_MS = 1_000;
/** A curve longer than this is read anew, which thins it. */
const LONGEST_CURVE = 3_000;
const LONGEST_HISTORY = 8_000;
/** Names that are asked for at once. */
const NAMES_AT_ONCE = 500;

const SECTIONS = [
  ["standing", "Where it stands"], ["last", "The last question"], ["history", "Who was asked"], ["coordinates", "The point"],
  ["coefficients", "Coefficients"], ["users", "Users"], ["events", "Events"],
];

export function session(id, { root, view, onhead, announce }) {
  const goTo = (target) => {
    const heading = document.getElementById(`${target}-title`);
    heading?.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth", block: "start" });
    heading?.focus({ preventScroll: true });
    view.set("at", target);
  };
  let isClosed = false;
  const linkTo = (target, words, style) => {
    const onclick = (event) => { event.preventDefault(); goTo(target); };
    return h("a", { class: style, href: view.href("at", target), onclick }, words);
  };
  const short = answers(linkTo);
  const names = new Map();
  const parts = {
    standing: standing(view), last: last(), history: whoWasAsked(namesOf), coordinates: coordinates(view, () => readPath().catch(failed)),
    coefficients: coefficients(), users: users(id, view), events: events(id, view),
  };
  const links = SECTIONS.map(([target, words]) => h("li", null, linkTo(target, words)));
  const about = h("p", { class: "about" });
  const fault = h("p", { class: "warning", role: "alert", hidden: true });
  // It is there once there are coefficients.
  const showLinks = () => links.forEach((link, place) => { link.hidden = parts[SECTIONS[place][0]].element.hidden; });
  showLinks();
  // It is put there as a whole once its first numbers are known, so that nothing moves.
  let isThere = false;
  const enter = () => {
    if (isThere || isClosed) return;
    isThere = true;
    const contents = h("nav", { class: "contents", "aria-label": "Sections" }, h("ul", null, links));
    root.replaceChildren(about, fault, short.element, contents, ...Object.values(parts).map((it) => it.element));
  };

  let head = null;
  let curve = null;
  let asked = null;

  // ---- names of users, a block of the server's list at a time

  const wantedNames = new Set();
  let namesTimer = 0;
  function namesOf(indices) {
    for (const index of indices) if (!names.has(index)) wantedNames.add(index);
    if (wantedNames.size && !namesTimer) namesTimer = setTimeout(() => readNames().catch(failed), 0);
    return names;
  }

  async function readNames() {
    const wanted = [...wantedNames];
    wantedNames.clear();
    namesTimer = 0;
    const blocks = new Set(wanted.map((index) => Math.floor(index / NAMES_AT_ONCE)));
    // One block for the pointer, a few for a table; nobody reads names of a hundred thousand at once.
    for (const block of [...blocks].slice(0, 20)) {
      const { rows } = await get(`${of(id)}users`, { from: block * NAMES_AT_ONCE, count: NAMES_AT_ONCE });
      rows.forEach((row, place) => names.set(row.user ?? block * NAMES_AT_ONCE + place, row.name));
    }
    if (!isClosed) parts.history.namesCame();
  }

  // ---- reading

  async function readHead() {
    head = await get(`${of(id)}head`);
    if (isClosed) return;
    put(about, [head.method, head.summary, head.users, head.dim, head.status.study?.formula, isModelled(head)], () => [
      head.status.study ? [h("bdi", null, plain(head.status.study.formula, 300)), `, ${head.status.study.family}. `] : "",
      `${counted(head.users, "user")}${isModelled(head) ? `, ${counted(head.dim, "coordinate")}` : ""}. Method: `,
      h("code", null, head.method), head.summary ? `. ${sentence(head.summary)}` : "."].flat());
    onhead(head);
    short.update(head);
    parts.standing.update(head);
    parts.last.update(head);
    parts.coordinates.prepare(head);
    enter();
    speak(head);
  }

  // What was believed earlier is known once the server has replayed the record.
  let isWhole = false;

  async function readCurve() {
    const from = isWhole && curve?.n.length && curve.n.length < LONGEST_CURVE ? curve.n.at(-1) : 0;
    const isReplayed = head != null && head.status.replayed >= head.status.queries;
    curve = joined(curve, await get(`${of(id)}curve`, { from }), from);
    isWhole = isReplayed;
  }

  async function readAsked() {
    // What became of questions that were out may be known now.
    const open = asked ? asked.kind.findIndex((kind) => asked.kinds[kind] === "out") : -1;
    const place = open < 0 ? (asked?.n.length ?? 0) - 1 : open;
    const from = place >= 0 && asked.n.length < LONGEST_HISTORY ? asked.n[place] : 0;
    asked = joined(asked, await get(`${of(id)}asked`, { from }), from);
  }

  async function readPath() {
    if (!head || head.coordinates.length === 0) return;
    const wanted = parts.coordinates.wanted.join(",");
    if (!wanted) return;
    const path = await get(`${of(id)}path`, { coordinates: wanted });
    if (!isClosed && wanted === parts.coordinates.wanted.join(",")) parts.coordinates.update(path);
  }

  async function readResult() {
    const result = await get(`${of(id)}result`);
    if (isClosed) return;
    parts.coefficients.update(result);
    showLinks();
  }

  const draw = () => {
    if (isClosed || !head) return;
    if (curve) parts.standing.draw(curve, head);
    if (asked) parts.history.update(asked, head.users);
  };

  const failed = (error) => {
    if (!(error instanceof ApiError)) console.error(error);
    // The line at the top says that the connection is lost.
    if (isClosed || error.status === 0) return;
    fault.hidden = false;
    put(fault, error.message, () => [error.message]);
  };

  const all = (...reads) => Promise.all(reads.map((read) => read().catch(failed)));
  const fine = () => { fault.hidden = true; };

  // ---- keeping up

  let isReading = false;
  let isWanted = false;
  let laterAt = 0;
  let laterTimer = 0;
  let soonTimer = 0;
  let readAt = 0;

  function refresh() {
    if (document.hidden || isClosed) { isWanted = true; return; }
    if (isReading || soonTimer) { isWanted = true; return; }
    const wait = Math.max(0, readAt + SOON_MS - Date.now());
    soonTimer = setTimeout(() => { soonTimer = 0; once(); }, wait);
  }

  async function once() {
    isReading = true;
    isWanted = false;
    readAt = Date.now();
    try {
      // A session that was made anew may have fewer answers than the page has.
      await readHead();
      if (curve && head.status.queries < (curve.n.at(-1) ?? 0)) curve = asked = null;
      await all(readCurve, readAsked, parts.events.update);
      draw();
      fine();
    } catch (error) {
      failed(error);
    }
    isReading = false;
    later();
    if (isWanted) refresh();
    else if (head && head.status.replayed < head.status.queries) setTimeout(refresh, REPLAY_MS);
  }

  /** What is larger: the path, the table, the coefficients. */
  function later() {
    if (laterTimer || isClosed) return;
    laterTimer = setTimeout(async () => {
      laterTimer = 0;
      laterAt = Date.now();
      await all(readPath, readResult, parts.users.refresh);
    }, Math.max(0, laterAt + LATER_MS - Date.now()));
  }

  const seen = () => { if (!document.hidden && isWanted) { isWanted = false; refresh(); } };
  document.addEventListener("visibilitychange", seen);

  // ---- what a screen reader is told, rarely

  let told = null;
  function speak({ status, failing }) {
    const now = { stopped: status.stopped, failing: failing.length, tenth: status.part > 0 ? Math.ceil(Math.log10(status.part)) : null };
    if (told) {
      if (now.stopped && !told.stopped) announce(`The session has stopped: ${now.stopped}`);
      else if (now.failing > told.failing) announce(`${plain(failing.at(-1).name)} fails: ${failing.at(-1).words}`);
      else if (now.tenth != null && told.tenth != null && now.tenth < told.tenth) {
        announce(`${part(status.part)} of the gap is believed to remain, after ${counted(status.queries, "query", "queries")}`);
      }
    }
    told = now;
  }

  const ready = (async () => {
    isReading = true;
    const first = readHead();
    const drawn = (read) => async () => { await Promise.all([first, read()]); draw(); };
    await all(() => first, drawn(readCurve), drawn(readAsked), parts.users.open, parts.events.update);
    await first;
    isReading = false;
    await all(readPath, readResult);
    laterAt = Date.now();
    if (isWanted || (!isWhole && curve?.part.includes(null))) refresh();
    const at = view.get("at");
    if (SECTIONS.some(([target]) => target === at)) document.getElementById(`${at}-title`)?.scrollIntoView({ block: "start" });
  })();

  return {
    ready,
    refresh,
    close() {
      isClosed = true;
      clearTimeout(laterTimer);
      clearTimeout(soonTimer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}

/** Columns, with what is new put in place of what is known from a place on. */
function joined(known, more, from) {
  if (!known || from === 0) return more;
  const kept = known.n.findIndex((n) => n >= from);
  const isColumn = (key) => Array.isArray(known[key]) && known[key].length === known.n.length && more[key].length === more.n.length && key !== "kinds";
  const merged = (key) => (isColumn(key) ? known[key].slice(0, kept < 0 ? undefined : kept).concat(more[key]) : more[key]);
  return Object.fromEntries(Object.keys(more).map((key) => [key, merged(key)]));
}
