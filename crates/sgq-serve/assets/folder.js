// The sessions of a folder: a row each.

import { get } from "./api.js";
import { h, headings, named, plain, put, scrolling, section } from "./dom.js";
import { count, counted, money, part, since } from "./words.js";

const SOON_MS = 1_000;

export function folder({ root, view, onlist }) {
  const body = h("tbody");
  const note = h("p", { class: "lead" });
  const labels = ["Session", "State", "Queries", "Believed to remain", "Cost", "Users", "Last event"];
  const list = section("sessions", "Sessions", [
    "Every session of the folder has a row. “Believed to remain” is the part of the gap at the start that the method believes to be left: 100% at the start, 0 at the optimum.",
  ], note, scrolling("Sessions", h("table", { class: "sessions" }, h("thead", null, headings(labels, (place) => place < 2)), body)));
  list.classList.add("wide");
  root.replaceChildren(list);

  let timer = 0;
  let isClosed = false;

  async function read() {
    const list = await get("sessions");
    if (isClosed) return list;
    onlist(list);
    put(note, list.length, () => [list.length === 0 ? "There is no session in this folder yet: a file *.sgq that is put there appears here." : ""]);
    const before = new Map([...body.children].map((row) => [row.dataset.id, row]));
    const rows = list.map((it) => {
      const row = before.get(it.id) ?? newRow(it.id);
      fillRow(row, it);
      return row;
    });
    // Rows that stay are not moved: a link in them keeps the focus.
    if (rows.length !== body.children.length || rows.some((row, place) => row !== body.children[place])) body.replaceChildren(...rows);
    return list;
  }

  const newRow = (id) => h("tr", { "data-id": id }, h("th", { scope: "row" }),
    labels.slice(1).map((_, place) => h("td", { class: place === 0 ? "words" : null })));

  function fillRow(row, it) {
    const [name, state, queries, remains, cost, users, last] = row.children;
    put(name, it.file, () => [h("a", { href: view.link(it.id) }, named(it.file, 60))]);
    put(state, [it.error, it.stopped, it.out, it.formula], () => (it.error
      ? [h("span", { class: "trouble" }, "✕ cannot be read: "), h("bdi", null, plain(it.error, 300))]
      : [stateOf(it), it.formula ? h("span", { class: "quiet below" }, plain(it.formula, 120)) : null]));
    put(queries, [it.queries, it.budget], () => [it.queries == null ? "–" : `${count(it.queries)}${it.budget ? ` of ${count(it.budget)}` : ""}`]);
    put(remains, [it.part], () => [it.part == null ? "–" : part(it.part)]);
    put(cost, [it.cost], () => [it.cost == null ? "–" : money(it.cost)]);
    put(users, [it.users], () => [count(it.users)]);
    put(last, [it.last_event], () => [it.last_event ? since(it.last_event) : "–"]);
  }

  return {
    ready: read(),
    refresh() {
      if (timer || isClosed) return;
      timer = setTimeout(() => { timer = 0; read().catch(() => {}); }, SOON_MS);
    },
    close() { isClosed = true; clearTimeout(timer); },
  };
}

function stateOf({ stopped, out }) {
  if (stopped) return `■ stopped: ${plain(stopped, 200)}`;
  return out ? `▶ going on, ${counted(out, "question")} out` : "▷ going on, nobody is asked now";
}
