// The state of the view, in the address behind `#`: a link keeps it. The token never stays there.

const TOKEN = "sgq-token";
let state = new URLSearchParams();

/** Reads the address, takes a token out of it, and says whether the page has changed to another session. */
export function read() {
  const before = state.get("s");
  const fragment = location.hash.slice(1);
  state = new URLSearchParams(fragment.includes("=") ? fragment : "");
  // A fragment that is nothing but a token is one, too.
  const token = state.get("token") ?? (/^[\w-]{16,}$/.test(fragment) ? fragment : null);
  if (token) {
    keepToken(token);
    state.delete("token");
    write();
  }
  return before !== state.get("s");
}

function write() {
  const fragment = state.toString();
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname);
}

export const get = (key) => state.get(key);

/** Sets a part of the state; nothing removes it. */
export function set(key, value) {
  if ((state.get(key) ?? "") === (value ?? "")) return;
  if (value) state.set(key, value);
  else state.delete(key);
  write();
}

/** The address of this view with a part of the state set. */
export function href(key, value) {
  const other = new URLSearchParams(state);
  other.set(key, value);
  return `#${other}`;
}

/** The address of a session. */
export const link = (id) => `#${new URLSearchParams({ s: id })}`;

export const token = () => sessionStorage.getItem(TOKEN);
export const keepToken = (value) => sessionStorage.setItem(TOKEN, value.trim());
