// The users: a row each, sorted and searched by the server, so that a hundred thousand scroll.

import { get, of } from "./api.js";
import { table } from "./table.js";
import { h, isMarked, named, section } from "./dom.js";
import { STATES, ago, count, money, sentence } from "./words.js";
import { short } from "./format.js";

const known = (format) => (value) => (value == null ? "–" : format(value));
const digits = known((value) => short(Number(value.toPrecision(3))));

/** What the columns are. `when` says whether a session has such a number at all. */
const COLUMNS = [
  { key: "name", label: "User", kind: "text", width: 11, words: "whom a question goes to" },
  { key: "state", label: "State", kind: "text", width: 9.5, words: "whether it can be asked now, and why not" },
  { key: "asked", label: "Asked", kind: "number", width: 5, format: count, words: "how many questions it was put" },
  { key: "answered", label: "Answers", kind: "number", width: 6, format: count, words: "how many of them it answered" },
  { key: "last_at", label: "Last answer", kind: "number", width: 9.5, format: known((at) => ago(at)), words: "how long ago it answered" },
  { key: "stale", label: "Answers since", kind: "number", width: 6, format: known(count), words: "staleness: how many answers of others have come since its last one" },
  { key: "tell", label: "Would tell", kind: "number", width: 5.5, format: digits, words: "what asking it now would tell, as the method scores it: the larger, the sooner it is asked", when: (row) => row.tell != null },
  { key: "failures", label: "Failures", kind: "number", width: 6, format: count, words: "questions that it did not answer" },
  { key: "refused", label: "Refused", kind: "number", width: 6, format: count, words: "answers of it that were not taken" },
  { key: "flagged", label: "Flagged", kind: "number", width: 6, format: count, words: "answers that were taken and look odd" },
  { key: "cost", label: "Cost", kind: "number", width: 5, format: known(money), words: "what its answers have cost so far" },
  { key: "numbers", label: "Numbers sent", kind: "number", width: 6, format: known(count), words: "how many numbers it has disclosed so far" },
  { key: "size", label: "Size", kind: "number", width: 5, format: digits, words: "how long its gradients are beside the others’, as the method believes: 1 is an average user", when: (row) => row.size != null },
  { key: "weight", label: "Weight", kind: "number", width: 5, format: digits, words: "how much it counts in the objective", when: (row) => row.weight != null && row.weight !== 1 },
  { key: "epsilon", label: "ε", kind: "number", width: 4, format: digits, words: "what it has disclosed by the account of differential privacy, where all its answers had noise: the smaller, the less", when: (row) => row.epsilon != null },
  { key: "words", label: "Note", kind: "text", width: 14, sort: false, words: "the last reason of a failure, or why it is not asked" },
];

export function users(id, view) {
  const place = h("div", { class: "users" });
  const meaning = h("details", { class: "folded" }, h("summary", null, "What the columns mean"),
    h("dl", { class: "pairs" }, COLUMNS.map((column) => h("div", null, h("dt", null, column.label), h("dd", null, sentence(column.words))))));
  const element = section("users", "Users", [
    "A row for each user, whether it can be asked or not. Press a column’s name to sort by it, “Failures” for those who fail.",
  ], place, meaning);
  const [key, direction] = (view.get("sort") ?? "").split("~");
  const first = COLUMNS.find((column) => column.key === key && column.sort !== false);
  element.classList.add("wide");
  let it = null;
  // The first rows are needed before there is a table.
  let begun = null;

  // Columns that nobody has a number for are left out, until somebody has one.
  const shown = new Set(COLUMNS.filter((column) => !column.when || column.key === key).map((column) => column.key));
  const columns = () => COLUMNS.filter((column) => shown.has(column.key)).map((column) => ({ ...column, title: column.words }));
  const show = (rows) => {
    const more = COLUMNS.filter((column) => !shown.has(column.key) && rows.some(column.when));
    more.forEach((column) => shown.add(column.key));
    return more.length > 0;
  };

  const fetchRows = async (sort, desc, search, from, many) => {
    view.set("sort", sort ? `${sort}${desc ? "~down" : ""}` : "");
    view.set("search", search);
    const known = begun;
    begun = null;
    if (known && !sort && !search && from === 0) return known;
    const found = await get(`${of(id)}users`, { sort, desc: sort ? desc : null, search, from, count: many });
    if (show(found.rows)) it?.update({ columns: columns() });
    return found;
  };

  async function open() {
    begun = await get(`${of(id)}users`, { from: 0, count: 100 });
    show(begun.rows);
    it = table(place, {
      caption: "Users", columns: columns(), fetch: fetchRows, cell, sort: first?.key ?? null, desc: direction === "down", empty: "There is no user.",
    });
    const sought = view.get("search");
    const field = place.querySelector("input[type=search]");
    if (sought && field) {
      field.value = sought;
      field.dispatchEvent(new Event("input"));
    }
  }

  return {
    element,
    open,
    async refresh() {
      if (it && !isMarked(place)) await it.refresh();
    },
  };
}

function cell(td, value, row, column) {
  if (column.key === "name") {
    td.replaceChildren(named(row.name));
    return true;
  }
  if (column.key === "state") {
    const [mark, words] = STATES[row.state] ?? ["·", row.state];
    td.className = `words state state-${row.state}`;
    td.replaceChildren(h("span", { class: "mark", "aria-hidden": "true" }, mark), ` ${words}`);
    td.title = words;
    return true;
  }
  if (column.key === "words" && value) {
    td.replaceChildren(named(value, 120));
    return true;
  }
  if (["failures", "refused", "flagged"].includes(column.key) && value > 0) td.classList.add("trouble");
  return false;
}
