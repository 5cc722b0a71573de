// Begins here: which page is shown, the connection, and the line that says how it is.

import * as view from "./view.js";
import { ApiError, follow, get } from "./api.js";
import { h, plain, say } from "./dom.js";
import { count, part, tickTimes } from "./words.js";
import { session } from "./session.js";
import { folder } from "./folder.js";

const TICK_MS = 1_000;
/** A screen reader is told something at most so often. */
const SILENCE_MS = 20_000;

const main = document.getElementById("main");
const title = document.getElementById("title");
const live = document.getElementById("live");
const liveWords = document.getElementById("live-words");
const retry = document.getElementById("retry");
const said = document.getElementById("said");
const home = document.getElementById("home");

let shown = null;
let shownId = null;
let sessions = [];
let connection = { state: "opening", until: 0 };
let head = null;
let hasFault = false;

// ---- what is said

let saidAt = 0;
let saidTimer = 0;
function announce(words) {
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => { saidAt = Date.now(); say(said, words); }, Math.max(0, saidAt + SILENCE_MS - Date.now()));
}

function showConnection() {
  const { state, until } = connection;
  const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000));
  const stopped = head?.status.stopped && shownId ? head.status : null;
  const [kind, words] = {
    opening: ["opening", "Connecting"],
    open: stopped ? ["ended", "The session has ended"] : ["open", "Live"],
    lost: ["lost", `Connection lost; next try in ${seconds} s`],
    refused: ["lost", "The server wants a token"],
  }[state];
  if (live.dataset.state !== kind) live.dataset.state = kind;
  say(liveWords, words);
  retry.hidden = state !== "lost";
}

function showTitle() {
  const name = shownId ? plain(head?.file ?? sessions.find((it) => it.id === shownId)?.file ?? shownId, 80) : "Sessions";
  say(title, name);
  const { status } = head ?? {};
  const progress = shownId && status ? (status.part != null ? `${part(status.part)} left` : `${count(status.queries)} queries`) : null;
  const words = [progress, name, "sgq"].filter(Boolean).join(" · ");
  if (document.title !== words) document.title = words;
}

// ---- which page

async function show() {
  shown?.close();
  shown = head = null;
  hasFault = false;
  shownId = view.get("s");
  try {
    if (!shownId) {
      sessions = await get("sessions");
      // A single file is shown at once.
      if (sessions.length === 1 && !sessions[0].error) shownId = sessions[0].id;
    }
    shown = shownId
      ? session(shownId, { root: main, view, announce, onhead: (it) => { head = it; showTitle(); showConnection(); } })
      : folder({ root: main, view, onlist: (list) => { sessions = list; } });
    showTitle();
    await shown.ready;
  } catch (error) {
    fault(error);
  }
}

function fault(error) {
  if (!(error instanceof ApiError)) {
    main.prepend(h("p", { class: "warning", role: "alert" }, `The page has a fault, and may be incomplete: ${error.message}`));
    throw error;
  }
  if (error.status === 401 || error.status === 403) return askForToken();
  const silent = "The server does not answer. The page goes on by itself once it does.";
  const words = error.status === 404 ? `There is no such session: ${plain(shownId, 80)}` : error.status ? error.message : silent;
  shown?.close();
  shown = null;
  hasFault = true;
  main.replaceChildren(h("p", { class: "warning", role: "alert" }, words), h("p", null, h("a", { href: "#", onclick: goHome }, "All sessions")));
}

function askForToken() {
  shown?.close();
  shown = null;
  const field = h("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false" });
  const enter = () => { if (field.value.trim()) { view.keepToken(field.value); tryNow(); show(); } };
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") enter(); });
  main.replaceChildren(h("section", { class: "token" },
    h("h2", null, "This server wants a token"),
    h("p", null, "Open the address that ", h("code", null, "sgq serve"), " has printed, with all that stands behind the #. ",
      "Or paste the token here; it is kept until this tab is closed."),
    h("p", null, h("label", { for: "token" }, "Token "), field, " ", h("button", { type: "button", onclick: enter }, "Open"))));
}

function goHome(event) {
  event.preventDefault();
  if (!view.get("s")) return;
  history.pushState(null, "", location.pathname);
  view.read();
  show();
}

home.addEventListener("click", goHome);
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); main.scrollIntoView(); });
retry.addEventListener("click", () => tryNow());
const moved = () => { if (view.read() || !shown) show(); };
addEventListener("hashchange", moved);
addEventListener("popstate", moved);

// ---- the connection

view.read();
show();

let wasLost = false;
const tryNow = follow(
  ({ id }) => {
    if (shownId && id !== shownId) return;
    if (shown) shown.refresh();
    // What could not be read may be there now.
    else if (hasFault) show();
  },
  (state, seconds = 0) => {
    connection = { state, until: Date.now() + 1000 * seconds };
    if (state === "lost" && !wasLost) announce("The connection to the server is lost. The page tries again by itself.");
    if (state === "open" && wasLost) announce("The connection is back.");
    if (state === "open" && (wasLost || !shown)) {
      // What happened meanwhile was not told.
      if (shown) shown.refresh();
      else if (hasFault) show();
    }
    wasLost = state === "lost";
    showConnection();
  },
);
setInterval(() => {
  if (document.hidden) return;
  tickTimes(document);
  if (connection.state === "lost") showConnection();
}, TICK_MS);
