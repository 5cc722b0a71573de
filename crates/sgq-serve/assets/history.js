// Who was asked when, as a picture: a column for each question, a row for each user.

import { h, headings, named, plain, put, scrolling, section } from "./dom.js";
import { count } from "./words.js";

/** Up to so many users have a row with their name; of more, only those who were asked have one. */
const NAMED_ROWS = 60;
/** Rows are closer together where there are more than so many. */
const WIDE_ROWS = 40;
const ROW_PX = 18;
const NARROW_ROW_PX = 14;
const PICTURE_PX = 360;
const AXIS_PX = 34;
const NAMES_PX = 150;
const NARROW_NAMES_PX = 84;
/** Rows of the table behind the picture. */
const TABLE_ROWS = 200;

/** What became of a question: a colour of the theme, a shape, and words. */
const LOOKS = {
  out: ["--quiet", "ring", "no answer yet"],
  answered: ["--curve-0", "dot", "answered"],
  late: ["--curve-0", "ring", "answered late"],
  flagged: ["--warn", "triangle", "answered, and looks odd"],
  failed: ["--bad", "cross", "failed"],
  withdrawn: ["--quiet", "diamond", "withdrawn"],
};

const lookOf = (word) => LOOKS[word] ?? ["--warn", "square", word];
const isFault = (word) => word === "failed";

const SHAPES = {
  dot: (c, x, y, r) => { c.beginPath(); c.arc(x, y, r, 0, 7); c.fill(); },
  ring: (c, x, y, r) => { c.beginPath(); c.arc(x, y, r, 0, 7); c.stroke(); },
  cross: (c, x, y, r) => { c.beginPath(); c.moveTo(x - r, y - r); c.lineTo(x + r, y + r); c.moveTo(x + r, y - r); c.lineTo(x - r, y + r); c.stroke(); },
  square: (c, x, y, r) => c.strokeRect(x - r, y - r, 2 * r, 2 * r),
  triangle: (c, x, y, r) => { c.beginPath(); c.moveTo(x, y - r); c.lineTo(x + r, y + r); c.lineTo(x - r, y + r); c.closePath(); c.fill(); },
  diamond: (c, x, y, r) => { c.beginPath(); c.moveTo(x, y - r); c.lineTo(x + r, y); c.lineTo(x, y + r); c.lineTo(x - r, y); c.closePath(); c.stroke(); },
};

/** `names(indices)` gives the names of users, some later: it returns a map, and calls back once it has more. */
export function whoWasAsked(namesOf) {
  const canvas = h("canvas", {
    class: "when", tabindex: "0", role: "slider", "aria-label": "Who was asked when: arrow keys go from question to question",
    "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0",
  });
  const reading = h("p", { class: "chart-reading" });
  const legend = h("ul", { class: "shapes" });
  const [caption, lines] = [h("caption"), h("tbody")];
  const behind = h("details", { class: "folded" }, h("summary", null, "The same as a table"),
    scrolling("Who was asked, the last first", h("table", null, caption,
      h("thead", null, headings(["Ticket", "User", "What came of it"], (place) => place > 0)), lines)));
  behind.lastChild.classList.add("tall");
  const frame = h("div", { class: "when-frame" }, canvas);
  const empty = h("p", { class: "quiet" }, "No question has been put yet.");
  const body = h("div", { hidden: true }, legend, frame, reading, behind);
  const element = section("history", "Who was asked, and when", [
    "Each mark is a question: from left to right in the order in which they were put, which their ticket counts; each user in a row of its own.",
    "A user with many marks was asked often; crosses are questions that nobody answered.",
  ], empty, body);

  let asked = { n: [], user: [], kind: [], kinds: [] };
  let users = 0;
  let cursor = null;
  let rows = { of: new Map(), count: 0, order: [] };
  let layout = null;

  function arrange() {
    if (users <= NAMED_ROWS) {
      setRows(Array.from({ length: users }, (_, index) => index));
      return;
    }
    setRows([...new Set(asked.user)]);
  }

  function setRows(order) {
    rows = { of: new Map(order.map((user, row) => [user, row])), count: order.length, order };
  }

  function draw() {
    const width = frame.clientWidth;
    if (!width || asked.n.length === 0) return;
    const isNamed = users <= NAMED_ROWS;
    const rowPx = rows.count > WIDE_ROWS ? NARROW_ROW_PX : ROW_PX;
    const left = isNamed ? (width < 480 ? NARROW_NAMES_PX : NAMES_PX) : 52;
    const height = (isNamed ? rows.count * rowPx : PICTURE_PX) + AXIS_PX;
    const scale = Math.max(devicePixelRatio || 1, 1);
    if (frame.style.height !== `${height}px`) frame.style.height = `${height}px`;
    const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    const c = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name).trim() || style.color;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    const [first, end] = [asked.n[0], asked.n[asked.n.length - 1]];
    const bottom = height - AXIS_PX;
    const margin = 8;
    const x = (n) => left + margin + ((width - left - 2 * margin) * (n - first)) / Math.max(1, end - first);
    const y = (user) => ((rows.of.get(user) + 0.5) * bottom) / rows.count;
    layout = { x, y, left, bottom, width, height };

    c.font = `12px ${style.fontFamily}`;
    c.textBaseline = "middle";
    if (isNamed) {
      const names = namesOf(rows.order);
      rows.order.forEach((user, row) => {
        const middle = (row + 0.5) * rowPx;
        c.fillStyle = colour("--grid");
        c.fillRect(left, Math.round(middle), width - left, 1);
        c.fillStyle = colour("--ink");
        c.textAlign = "left";
        c.direction = "ltr";
        c.fillText(fit(c, names.has(user) ? plain(names.get(user), 40) : `user ${user + 1}`, left - 10), 0, middle);
      });
    } else {
      c.fillStyle = colour("--quiet");
      c.textAlign = "right";
      [0, 0.25, 0.5, 0.75, 1].forEach((part) => {
        const at = Math.round(part * (bottom - 1));
        c.fillText(count(Math.max(1, part * rows.count)), left - 8, Math.min(bottom - 7, Math.max(7, at)));
        c.fillStyle = colour("--grid");
        c.fillRect(left, at, width - left, 1);
        c.fillStyle = colour("--quiet");
      });
    }
    c.fillStyle = colour("--control");
    c.fillRect(left, bottom, width - left, 1);
    c.fillStyle = colour("--quiet");
    for (const n of ticks(first, end, Math.max(2, Math.floor((width - left) / 90)))) {
      c.textAlign = x(n) > width - 24 ? "right" : "center";
      c.fillRect(Math.round(x(n)), bottom, 1, 5);
      c.fillText(count(n), x(n), bottom + 13);
    }
    c.textAlign = "center";
    c.fillText("Ticket: questions in the order in which they were put".slice(0, width < 480 ? 6 : undefined), left + (width - left) / 2, bottom + 27);

    const room = Math.min(width / asked.n.length, bottom / rows.count);
    const r = Math.min(4, Math.max(1.5, room * (isNamed ? 0.9 : 0.45)));
    const looks = asked.kinds.map(lookOf);
    const colours = looks.map(([name]) => colour(name));
    c.lineWidth = isNamed ? 1.6 : 1;
    // Faults lie on top, and are larger.
    for (const pass of [false, true]) {
      for (let index = 0; index < asked.n.length; index++) {
        const kind = asked.kind[index];
        const isOn = isFault(asked.kinds[kind] ?? "");
        if (isOn !== pass || !rows.of.has(asked.user[index])) continue;
        c.fillStyle = c.strokeStyle = colours[kind];
        SHAPES[looks[kind][1]](c, x(asked.n[index]), y(asked.user[index]), looks[kind][1] === "dot" ? r : Math.max(r, isNamed ? 3 : 2));
      }
    }
    if (cursor != null) {
      c.strokeStyle = colour("--focus");
      c.beginPath();
      c.arc(x(asked.n[cursor]), y(asked.user[cursor]), 7, 0, 7);
      c.stroke();
    }
  }

  function readOut(index) {
    cursor = index;
    draw();
    if (index == null) return put(reading, "none", () => ["Point at a mark, or use the arrow keys, to read who it is."]);
    const user = asked.user[index];
    const name = namesOf([user]).get(user);
    const word = lookOf(asked.kinds[asked.kind[index]])[2];
    canvas.setAttribute("aria-valuenow", String(asked.n[index]));
    canvas.setAttribute("aria-valuetext", `Ticket ${asked.n[index]}: ${name == null ? `user ${user + 1}` : plain(name)}, ${word}`);
    const who = () => (name == null ? `user ${count(user + 1)}` : named(name));
    put(reading, [index, user, name, word], () => [`Ticket ${count(asked.n[index])}: `, who(), `, ${word}`]);
  }

  function nearest(event) {
    if (!layout) return null;
    const box = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let [best, distance] = [null, 900];
    for (let index = 0; index < asked.n.length; index++) {
      if (!rows.of.has(asked.user[index])) continue;
      const d = (layout.x(asked.n[index]) - px) ** 2 + (layout.y(asked.user[index]) - py) ** 2;
      if (d < distance) [best, distance] = [index, d];
    }
    return best;
  }

  canvas.addEventListener("pointermove", (event) => readOut(nearest(event)));
  canvas.addEventListener("pointerdown", (event) => readOut(nearest(event)));
  canvas.addEventListener("keydown", (event) => {
    const last = asked.n.length - 1;
    const from = cursor ?? last + 1;
    const same = (step) => {
      for (let index = from + step; index >= 0 && index <= last; index += step) if (asked.user[index] === asked.user[cursor]) return index;
      return from;
    };
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from - 20, PageDown: from + 20, Home: 0, End: last,
      ArrowUp: cursor == null ? last : same(-1), ArrowDown: cursor == null ? last : same(1) }[event.key];
    if (to == null) return;
    event.preventDefault();
    readOut(Math.min(last, Math.max(0, to)));
  });
  canvas.addEventListener("blur", () => readOut(null));
  canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) readOut(null); });
  new ResizeObserver(draw).observe(frame);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("print").addEventListener("change", draw);
  behind.addEventListener("toggle", list);
  readOut(null);

  function list() {
    if (!behind.open) return;
    const from = Math.max(0, asked.n.length - TABLE_ROWS);
    const indices = Array.from({ length: asked.n.length - from }, (_, index) => asked.n.length - 1 - index);
    const names = namesOf(indices.map((index) => asked.user[index]));
    put(caption, [from > 0, asked.n.length], () => [from > 0 ? `The last ${TABLE_ROWS} of the questions` : "Every question, the last first"]);
    put(lines, [asked.n.length, asked.kind.at(-1), names.size], () => indices.map((index) => h("tr", null, h("td", null, count(asked.n[index])),
      h("td", { class: "words" }, names.has(asked.user[index]) ? named(names.get(asked.user[index])) : `user ${count(asked.user[index] + 1)}`),
      h("td", { class: "words" }, lookOf(asked.kinds[asked.kind[index]])[2]))));
  }

  return {
    element,
    namesCame() { draw(); list(); },
    update(data, userCount) {
      asked = data;
      users = userCount;
      arrange();
      empty.hidden = asked.n.length > 0;
      body.hidden = asked.n.length === 0;
      if (asked.n.length === 0) return;
      if (cursor != null && cursor >= asked.n.length) cursor = null;
      canvas.setAttribute("aria-valuemin", String(asked.n[0]));
      canvas.setAttribute("aria-valuemax", String(asked.n[asked.n.length - 1]));
      const present = asked.kinds.map((word, kind) => [word, asked.kind.filter((it) => it === kind).length]).filter(([, times]) => times > 0);
      put(legend, present.map(([word]) => word), () => [
        ...present.map(([word]) => h("li", null, key(lookOf(word)), h("span", null, lookOf(word)[2]))),
        users > NAMED_ROWS ? h("li", { class: "quiet" }, "rows: users in the order of their first question") : null]);
      draw();
      list();
    },
  };
}

/** A mark of the legend. */
function key([colour, shape]) {
  const canvas = h("canvas", { class: "key", width: 28, height: 28, "aria-hidden": "true" });
  const paint = () => {
    const c = canvas.getContext("2d");
    c.setTransform(2, 0, 0, 2, 0, 0);
    c.clearRect(0, 0, 14, 14);
    c.fillStyle = c.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue(colour).trim();
    c.lineWidth = 1.6;
    SHAPES[shape](c, 7, 7, 4);
  };
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  return canvas;
}

/** Cut in the middle: names often differ at their end. */
function fit(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const characters = Array.from(text);
  for (let kept = characters.length - 1; kept > 1; kept--) {
    const head = Math.ceil(kept / 2);
    const cut = `${characters.slice(0, head).join("")}…${characters.slice(characters.length - (kept - head)).join("")}`;
    if (context.measureText(cut).width <= width) return cut;
  }
  return "…";
}

function ticks(first, last, most) {
  const raw = Math.max(1, (last - first) / most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * power).find((it) => it >= raw);
  const from = Math.ceil(first / step) * step;
  return Array.from({ length: Math.max(0, Math.floor((last - from) / step) + 1) }, (_, index) => from + index * step);
}
