// A table that sorts, searches, copies, and scrolls through 10⁵ rows: only the rows in view are in the page.
//
//   const it = table(element, {
//     caption,                                     what the table is, for a screen reader
//     columns: [{ key, label, kind, format, width, title, sort }],
//                                                  kind "text" or "number"; format: value, row → text; width in rem;
//                                                  sort: false: there is no such order
//     rows,                                        objects or lists, by key; or else
//     fetch: (sort, desc, search, from, count) → { rows, total } or a promise of it,
//     sort, desc,                                  the order at first
//     search,                                      false: no field to search in
//     cell: (td, value, row, column) → true,       what is more than text in a cell is for the caller to make
//     empty,                                       what stands there where no row is
//   });
//   it.update(changed)    other rows, the same order, search and place      it.refresh()    fetch again
//   it.destroy()
//
//   sortable(tableElement)    gives a table of the page's own markup buttons to sort and to copy.
//
// All text is set as text.

// Rows beyond the window that are in the page too, and rows that are fetched at once.
const AHEAD = 12, BLOCK = 100;
// A table of so many rows is in the page as a whole.
const FEW = 60;
// A row's height until one can be measured, in pixels.
const ROW_HEIGHT = 33;
let tables = 0;

// An element with attributes: true stands for one without a value, null and false for none.
export function make(name, attributes = {}, ...children) {
  const it = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) it.setAttribute(key, value === true ? "" : value);
  }
  it.append(...children);
  return it;
}

// Text to the clipboard; where the page may not, through a selection.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { readonly: "", "aria-hidden": "true", class: "only-read" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

const flat = (text) => String(text).replace(/[\t\r\n]+/g, " ");

function copyButton(text) {
  const button = make("button", { type: "button", title: "As tab-separated values, which spreadsheets take" }, "Copy");
  const said = make("span", { class: "table-count", role: "status" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      said.textContent = (await copyText(await text())) ? "copied" : "the browser does not let this page copy";
    } catch (error) {
      said.textContent = `not copied: ${error.message}`;
    }
    button.disabled = false;
    button.focus();
  });
  return [button, said];
}

// Numbers before words, and what is missing last in either order.
function order(one, other, desc) {
  const missing = (value) => value === null || value === undefined || value === "" || Number.isNaN(value);
  if (missing(one) || missing(other)) return missing(one) - missing(other);
  let result;
  if (typeof one === "number" && typeof other === "number") result = one - other;
  else if (typeof one !== typeof other) result = typeof one === "number" ? -1 : 1;
  else result = String(one).localeCompare(String(other), "en", { numeric: true });
  return desc ? -result : result;
}

export function table(element, given) {
  let options = { ...given };
  let { sort = null, desc = false } = options;
  let search = "", total = 0, sorted = [], generation = 0, pending = 0, rowHeight = ROW_HEIGHT;
  // Blocks of fetched rows by number; null while one is on its way.
  let blocks = new Map();
  const id = `table-${++tables}`;

  const field = make("input", { type: "search", placeholder: "Search", "aria-label": `Search in ${options.caption ?? "the table"}` });
  const count = make("span", { class: "table-count", role: "status" });
  const head = make("div", { class: "table-head" });
  const row = make("tr");
  const body = make("tbody");
  const caption = make("caption", { class: "only-read", id }, options.caption ?? "");
  const markup = make("table", {}, caption, make("thead", {}, row), body);
  const scroller = make("div", { class: "table-long", tabindex: "0", role: "region", "aria-labelledby": id }, markup);
  if (options.search !== false) head.append(field);
  head.append(count, ...copyButton(allAsText));
  const whole = make("div", {}, head, scroller);
  element.append(whole);

  const isHere = () => !options.fetch;
  const text = (value, line, column) => (column.format ? column.format(value, line) : value === null || value === undefined ? "" : String(value));

  function headings() {
    const widths = options.columns.map((column) => column.width ?? (column.kind === "number" ? 7 : 12));
    markup.style.setProperty("--table-width", `${widths.reduce((sum, width) => sum + width, 0)}rem`);
    row.replaceChildren(
      ...options.columns.map((column, k) => {
        const cell = make("th", { scope: "col", class: column.kind === "number" ? null : "words", title: column.title });
        cell.style.width = `${widths[k]}rem`;
        if (column.sort === false) {
          cell.append(column.label);
          return cell;
        }
        const button = make("button", { type: "button" }, column.label);
        button.addEventListener("click", () => {
          // Numbers are looked through from the largest.
          desc = sort === column.key ? !desc : column.kind === "number";
          sort = column.key;
          scroller.scrollTop = 0;
          reload();
        });
        cell.append(button);
        cell.key = column.key;
        return cell;
      }),
    );
  }

  function reload() {
    generation++;
    blocks = new Map();
    for (const cell of row.children) {
      if (cell.key === undefined) continue;
      if (cell.key === sort) cell.setAttribute("aria-sort", desc ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    if (isHere()) {
      const wanted = search.toLowerCase();
      sorted = options.rows;
      if (wanted) {
        const holds = (line) => options.columns.some((column) => text(line[column.key], line, column).toLowerCase().includes(wanted));
        sorted = sorted.filter(holds);
      }
      if (sort !== null) sorted = [...sorted].sort((one, other) => order(one[sort], other[sort], desc));
      total = sorted.length;
    }
    schedule();
  }

  // Rows from … to, those that are here; what is not is asked for.
  function at(place) {
    if (isHere()) return sorted[place];
    const number = Math.floor(place / BLOCK);
    if (!blocks.has(number)) load(number);
    return blocks.get(number)?.[place - number * BLOCK];
  }

  async function load(number) {
    const asked = generation;
    blocks.set(number, null);
    try {
      const found = await options.fetch(sort, desc, search, number * BLOCK, BLOCK);
      if (asked !== generation) return;
      blocks.set(number, found.rows);
      total = found.total;
      whole.removeAttribute("data-error");
    } catch (error) {
      if (asked !== generation) return;
      whole.dataset.error = error.message;
    }
    schedule();
  }

  function schedule() {
    if (!pending) pending = requestAnimationFrame(draw);
  }

  function space(rows) {
    const cell = make("td", { colspan: options.columns.length });
    cell.style.height = `${rows * rowHeight}px`;
    return make("tr", { class: "space", "aria-hidden": "true" }, cell);
  }

  function draw() {
    pending = 0;
    if (!isHere() && !blocks.has(0)) load(0);
    const window = Math.ceil(Math.min(scroller.clientHeight || 500, 2000) / rowHeight);
    const all = total <= FEW;
    const first = all ? 0 : Math.max(0, Math.min(total - window, Math.floor(scroller.scrollTop / rowHeight)) - AHEAD);
    const last = all ? total : Math.min(total, first + window + 2 * AHEAD);
    const lines = [];
    for (let place = first; place < last; place++) lines.push(line(at(place), place));
    if (total === 0) {
      const words = whole.dataset.error ?? (isHere() || blocks.get(0) ? (search ? "Nothing is found." : (options.empty ?? "There is nothing.")) : "…");
      lines.push(make("tr", {}, make("td", { colspan: options.columns.length, class: "words" }, words)));
    }
    body.replaceChildren(...(first > 0 ? [space(first)] : []), ...lines, ...(last < total ? [space(total - last)] : []));
    markup.setAttribute("aria-rowcount", total + 1);
    const measured = first < last ? body.querySelector("tr:not(.space)")?.offsetHeight : 0;
    if (measured && Math.abs(measured - rowHeight) > 0.5) {
      rowHeight = measured;
      schedule();
    }
    const rows = (number) => number.toLocaleString("en");
    count.textContent = whole.dataset.error ?? `${rows(total)} ${total === 1 ? "row" : "rows"}`;
  }

  function line(values, place) {
    const it = make("tr", { "aria-rowindex": place + 2 });
    for (const column of options.columns) {
      const cell = make("td", { class: column.kind === "number" ? null : "words", dir: column.kind === "number" ? null : "auto" });
      if (values === undefined || values === null) cell.textContent = "…";
      else {
        const value = values[column.key];
        if (options.cell?.(cell, value, values, column) !== true) {
          const words = text(value, values, column);
          cell.textContent = words;
          if (words.length > 12) cell.title = words.slice(0, 500);
        }
      }
      it.append(cell);
    }
    return it;
  }

  async function allAsText() {
    let rows = sorted;
    if (!isHere()) rows = (await options.fetch(sort, desc, search, 0, Math.max(1, total))).rows;
    const lines = rows.map((values) => options.columns.map((column) => flat(plain(values, column))).join("\t"));
    return [options.columns.map((column) => flat(column.label)).join("\t"), ...lines, ""].join("\n");
  }

  // Numbers are copied with all their digits.
  function plain(values, column) {
    const value = values[column.key];
    return typeof value === "number" ? String(value) : text(value, values, column);
  }

  let waiting = 0;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      search = field.value.trim();
      scroller.scrollTop = 0;
      reload();
    }, isHere() ? 60 : 200);
  });
  scroller.addEventListener("scroll", schedule, { passive: true });
  const size = new ResizeObserver(schedule);
  size.observe(scroller);

  headings();
  reload();
  return {
    element: whole,
    update(changes) {
      const before = options.columns;
      options = { ...options, ...changes };
      caption.textContent = options.caption ?? "";
      if (options.columns !== before) headings();
      reload();
    },
    // The rows that are seen stay until the new ones are there.
    async refresh() {
      if (isHere()) return reload();
      const asked = ++generation;
      const first = Math.floor(scroller.scrollTop / rowHeight / BLOCK);
      const numbers = [...new Set([0, first, first + 1])].filter((number) => number === 0 || number * BLOCK < total);
      try {
        const found = await Promise.all(numbers.map((number) => options.fetch(sort, desc, search, number * BLOCK, BLOCK)));
        if (asked !== generation) return;
        blocks = new Map(numbers.map((number, k) => [number, found[k].rows]));
        total = found[0].total;
        whole.removeAttribute("data-error");
      } catch (error) {
        if (asked !== generation) return;
        whole.dataset.error = error.message;
      }
      schedule();
    },
    destroy() {
      size.disconnect();
      cancelAnimationFrame(pending);
      clearTimeout(waiting);
      generation++;
      whole.remove();
    },
  };
}

// What a cell of the page's own markup is sorted by: the number it begins with, or its words.
function keyOf(cell) {
  const words = cell?.textContent.trim() ?? "";
  if (words === "–" || words === "NA") return null;
  const number = Number.parseFloat(words.replace("−", "-").replace(/^[<(]\s*/, "").replace(/(\d),(?=\d{3})/g, "$1"));
  return Number.isNaN(number) ? words : number;
}

export function sortable(markup) {
  const lines = () => [...markup.querySelectorAll("tr")];
  const headings = [...(lines()[0]?.children ?? [])];
  const rows = lines().slice(1);
  const place = rows[0]?.parentElement;
  if (rows.length > 1) {
    headings.forEach((cell, column) => {
      if (!cell.textContent.trim()) return;
      const button = make("button", { type: "button" }, ...cell.childNodes);
      cell.replaceChildren(button);
      button.addEventListener("click", () => {
        const desc = cell.getAttribute("aria-sort") === "ascending";
        for (const other of headings) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", desc ? "descending" : "ascending");
        const keyed = rows.map((row) => [keyOf(row.children[column]), row]);
        keyed.sort((one, other) => order(one[0], other[0], desc));
        place.append(...keyed.map(([, row]) => row));
      });
    });
  }
  const asText = () => lines().filter((row) => !row.hidden).map((row) => [...row.children].map((cell) => flat(cell.textContent.trim())).join("\t")).join("\n") + "\n";
  const bar = make("div", { class: "table-head" }, ...copyButton(asText));
  (markup.closest(".table") ?? markup).after(bar);
}
