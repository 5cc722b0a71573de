// Asks the server. Everything is read, nothing is written.

import { token } from "./view.js";

/** The server sends a sign of life every 15 s. */
const SILENCE_MS = 40_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** What the server said in place of an answer; status 0 where it said nothing. */
export class ApiError extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

const headers = () => (token() ? { Authorization: `Bearer ${token()}` } : {});

/** The answer to a question, as JSON. */
export async function get(path, parameters) {
  const known = Object.entries(parameters ?? {}).filter(([, value]) => value != null && value !== "");
  const query = known.length ? `?${new URLSearchParams(known)}` : "";
  const response = await fetch(`/api/${path}${query}`, { headers: headers(), cache: "no-store" }).catch(() => {
    throw new ApiError(0, "The server does not answer.");
  });
  if (!response.ok) throw await failure(response);
  return response.json();
}

async function failure(response) {
  const text = (await response.text()).slice(0, 500);
  let words = text;
  try {
    const told = JSON.parse(text);
    words = typeof told === "string" ? told : (told.error ?? told.message ?? text);
  } catch {} // not JSON: the text as it is
  return new ApiError(response.status, words || `the server says ${response.status}`);
}

/** A session's part of the address. */
export const of = (id) => `s/${encodeURIComponent(id)}/`;

/**
 * Follows what changes, for ever. `onchange({id, seq, queries})` for each change, `onstate(state, wait)` when the connection is
 * "open", "lost" (with the seconds until the next try) or "refused" (the token is wrong). Returns a function that tries now.
 */
export function follow(onchange, onstate) {
  let wait = FIRST_WAIT_MS;
  let wake = () => {};
  let isWaiting = false;
  const pause = (ms) => new Promise((resolve) => {
    isWaiting = true;
    const timer = setTimeout(resolve, ms);
    wake = () => { clearTimeout(timer); resolve(); };
  }).finally(() => { isWaiting = false; });

  async function once() {
    const control = new AbortController();
    let silence = setTimeout(() => control.abort(), SILENCE_MS);
    try {
      const response = await fetch("/api/live", { headers: headers(), cache: "no-store", signal: control.signal });
      if (!response.ok) throw await failure(response);
      wait = FIRST_WAIT_MS;
      onstate("open");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silence);
        silence = setTimeout(() => control.abort(), SILENCE_MS);
        const blocks = (rest + value).split(/\r?\n\r?\n/);
        rest = blocks.pop();
        for (const block of blocks) {
          const data = block.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
          if (data) onchange(JSON.parse(data));
        }
      }
    } finally {
      clearTimeout(silence);
      control.abort();
    }
  }

  (async () => {
    for (;;) {
      let isRefused = false;
      try {
        await once();
      } catch (error) {
        isRefused = error.status === 401 || error.status === 403;
      }
      const ms = wait * (0.75 + Math.random() / 2);
      wait = Math.min(2 * wait, LONGEST_WAIT_MS);
      onstate(isRefused ? "refused" : "lost", Math.ceil(ms / 1000));
      await pause(ms);
    }
  })();
  const now = () => { if (isWaiting) { wait = FIRST_WAIT_MS; wake(); } };
  addEventListener("online", now);
  return now;
}
