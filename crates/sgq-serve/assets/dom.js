// Elements. Whatever comes from a ledger is set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
/** Longer names are cut; the whole name is in the tooltip, as far as it is bearable. */
const LONGEST_NAME = 48;
const LONGEST_TOOLTIP = 600;
/** Characters that turn the direction of what follows: by them a name could look like another. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(2).filter((child) => child != null && child !== false));
  return element;
}

/** An element of HTML. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** An element of SVG. */
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Somebody else's words, so that they turn nothing beside them. */
export const tidy = (words) => String(words ?? "").replace(TURNS, "").trim();

/** A name as one line without control characters, cut where it is long. */
export function plain(name, longest = LONGEST_NAME) {
  const line = tidy(name).replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  if (line === "") return "(no name)";
  const characters = Array.from(line.slice(0, longest * 8));
  const cut = characters.length > longest || line.length > longest * 8;
  return cut ? `${characters.slice(0, longest - 1).join("")}…` : line;
}

/** A name in a sentence or a table: it turns the direction of nothing beside it. */
export function named(name, longest = LONGEST_NAME) {
  const short = plain(name, longest);
  const whole = short === name ? null : plain(name, LONGEST_TOOLTIP);
  return h("bdi", { class: "name", title: whole, dir: "auto" }, short);
}

/** Whether somebody marks words in an element, to copy them. */
export function isMarked(element) {
  const marked = getSelection();
  return !marked.isCollapsed && (element.contains(marked.anchorNode) || element.contains(marked.focusNode));
}

/**
 * Puts children in place of what an element has, unless the same were put there the last time, or somebody marks words there. What
 * can have the focus or be scrolled is better made once, and filled by this.
 */
export function put(element, key, make) {
  const written = JSON.stringify(key);
  if (element.putKey === written || (element.putKey !== undefined && isMarked(element))) return;
  element.putKey = written;
  element.replaceChildren(...[make()].flat(2).filter((child) => child != null && child !== false));
}

/** Sets a text, if it is another one. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Content with words that are emphasised: ["Ask ", strong(name)]. */
export const strong = (...children) => h("strong", null, ...children);

/** A region that scrolls by itself must be reachable by keyboard. */
export const scrolling = (label, ...children) => h("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": label }, ...children);

/** The first line of a table. Columns of words are marked, to stand at the left. */
export const headings = (labels, isOfWords) => h("tr", { role: "row" }, labels.map((words, place) =>
  h("th", { scope: "col", role: "columnheader", class: isOfWords(place) ? "words" : null }, words)));

/** A section: its heading with what it answers, an explanation beside it, and its content. */
export function section(id, title, explanation, ...content) {
  return h("section", { id, class: "part", "aria-labelledby": `${id}-title` },
    h("header", { class: "gutter" },
      h("h2", { id: `${id}-title`, tabindex: "-1" }, title),
      ...[explanation].flat().map((words) => h("p", null, words))),
    h("div", { class: "content" }, ...content));
}
