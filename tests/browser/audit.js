// What a page can be asked about itself. Each function returns what is wrong, in words; an empty list is a page as it should be.
(() => {
  const isSeen = (element) => {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) return false;
    const box = element.getBoundingClientRect();
    // Text for screen readers alone is one pixel large, or cut away.
    return box.width > 1 && box.height > 1;
  };
  const about = (element) => {
    const words = (element.textContent || element.getAttribute("aria-label") || "").trim().replace(/\s+/g, " ").slice(0, 40);
    const classes = element.getAttribute("class");
    return `<${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}${classes ? `.${classes.trim().split(/\s+/).join(".")}` : ""}> ${JSON.stringify(words)}`;
  };

  // ---- colours

  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  // Any colour of CSS as red, green, blue from 0 to 255 and alpha from 0 to 1.
  const colour = (words) => {
    if (!known.has(words)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = words;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(words, [red, green, blue, alpha / 255]);
    }
    return known.get(words);
  };
  const over = ([r, g, b, a], [r2, g2, b2]) => [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
  const faded = ([r, g, b, a], part) => [r, g, b, a * part];
  const luminance = ([r, g, b]) => {
    const linear = (value) => (value <= 10.31475 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const paper = () => over(colour(getComputedStyle(document.body).backgroundColor), over(colour(getComputedStyle(document.documentElement).backgroundColor), matchMedia("(prefers-color-scheme: dark)").matches && getComputedStyle(document.documentElement).colorScheme.includes("dark") && !matchMedia("print").matches ? [18, 18, 18, 1] : [255, 255, 255, 1]));
  // What is behind an element: all backgrounds up to the page's.
  const behind = (element) => {
    const layers = [];
    for (let it = element; it && it !== document.body; it = it.parentElement) {
      const style = getComputedStyle(it);
      const shape = it instanceof SVGElement && !(it instanceof SVGSVGElement);
      if (!shape) layers.push(faded(colour(style.backgroundColor), Number(style.opacity)));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), paper());
  };
  // An SVG's own paper: its first rectangle, if that is as large as the drawing.
  const drawnBehind = (element) => {
    const svg = element.closest("svg");
    const below = behind(svg ?? element);
    const first = svg?.querySelector(":scope > rect");
    if (!first || first.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_PRECEDING) return below;
    const [own, all] = [first.getBoundingClientRect(), svg.getBoundingClientRect()];
    return own.width >= 0.98 * all.width && own.height >= 0.98 * all.height ? over(colour(getComputedStyle(first).fill), below) : below;
  };
  // Shapes in a drawing that stand under a text, such as the cells of a heat map.
  const cellBehind = (text) => {
    let below = drawnBehind(text);
    const box = text.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    for (const rect of text.closest("svg").querySelectorAll("rect")) {
      if (!(rect.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
      const own = rect.getBoundingClientRect();
      const style = getComputedStyle(rect);
      if (style.fill === "none" || rect.closest("defs, clipPath")) continue;
      if (own.left <= x && x <= own.right && own.top <= y && y <= own.bottom) below = over(faded(colour(style.fill), Number(style.fillOpacity) * Number(style.opacity)), below);
    }
    return below;
  };
  const opacityOf = (element) => {
    let part = 1;
    for (let it = element; it; it = it.parentElement) part *= Number(getComputedStyle(it).opacity);
    return part;
  };

  function texts() {
    const wrong = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.data.trim() || ["SCRIPT", "STYLE", "NOSCRIPT", "TITLE", "DESC"].includes(element.tagName.toUpperCase())) continue;
      if (!isSeen(element) || element.closest("button:disabled, [aria-disabled=true]")) continue;
      const style = getComputedStyle(element);
      const isDrawn = element instanceof SVGElement;
      const below = isDrawn ? cellBehind(element) : behind(element);
      const ink = over(faded(colour(isDrawn ? style.fill : style.color), opacityOf(element)), below);
      const ratio = contrast(ink, below);
      if (ratio < 4.5) wrong.set(`${about(element)} ${isDrawn ? style.fill : style.color}`, `text ${about(element)}: ${ratio.toFixed(2)}`);
    }
    return [...wrong.values()];
  }

  // Curves, of reports and of drawings: what is stroked and wider than a grid's line.
  function lines() {
    const wrong = [];
    for (const path of document.querySelectorAll("svg path, svg polyline, svg line")) {
      const style = getComputedStyle(path);
      if (style.stroke === "none" || path.closest("defs, clipPath, marker, .faded") || !path.getBoundingClientRect().width) continue;
      if (Number.parseFloat(style.strokeWidth) < 1.4 || !path.checkVisibility()) continue;
      const below = drawnBehind(path);
      const ink = over(faded(colour(style.stroke), Number(style.strokeOpacity) * opacityOf(path)), below);
      // A rim in the colour of the paper keeps a marker apart from a line; what is to be seen of it is filled.
      const rim = contrast(colour(style.stroke), below) < 1.05 && style.fill !== "none";
      if (!rim && contrast(ink, below) < 3) wrong.push(`line ${about(path)} ${style.stroke}: ${contrast(ink, below).toFixed(2)}`);
    }
    return [...new Set(wrong)];
  }

  // ---- names, headings, focus

  const named = (element) => {
    const by = (element.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
    const labels = [...(element.labels ?? [])].map((label) => label.textContent).join(" ");
    const inside = element.matches("input, select, textarea") ? "" : element.textContent;
    const drawn = element.querySelector?.("svg title, img[alt]")?.textContent ?? "";
    return [element.getAttribute("aria-label"), by, labels, inside, drawn, element.title].map((words) => (words ?? "").trim()).find(Boolean) ?? "";
  };

  const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";
  const reachable = () => [...document.querySelectorAll(FOCUSABLE)].filter((element) => {
    if (element.tabIndex < 0 || element.disabled || element.closest("[inert]") || !element.checkVisibility({ visibilityProperty: true })) return false;
    const closed = element.parentElement?.closest("details:not([open])");
    return !closed || (element.matches("summary") && element.parentElement === closed && !closed.parentElement?.closest("details:not([open])"));
  });

  function controls() {
    return reachable().filter((element) => !named(element)).map((element) => `no name: ${about(element)}`);
  }

  function headings() {
    const wrong = [];
    const all = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter((it) => it.checkVisibility());
    const levels = all.map((it) => Number(it.tagName[1]));
    if (levels.filter((level) => level === 1).length !== 1) wrong.push(`${levels.filter((level) => level === 1).length} headings of the first level`);
    levels.forEach((level, place) => {
      if (place > 0 && level > levels[place - 1] + 1) wrong.push(`heading ${about(all[place])} is two levels below the one before it`);
    });
    for (const heading of all) if (!heading.textContent.trim()) wrong.push("an empty heading");
    return wrong;
  }

  function pictures() {
    const isNamed = (svg) => svg.closest("[aria-hidden=true]") || svg.getAttribute("aria-label") || svg.querySelector(":scope > title")?.textContent.trim();
    return [...document.querySelectorAll("svg")].filter((svg) => !isNamed(svg)).map((svg) => `a drawing without a description: ${about(svg.parentElement)}`);
  }

  function ids() {
    const all = [...document.querySelectorAll("[id]")].map((element) => element.id);
    return all.filter((id, place) => all.indexOf(id) !== place).map((id) => `the id ${id} stands twice`);
  }

  // What is focused, and whether one sees it: the look of it with and without the focus.
  const looks = (element) => {
    const style = getComputedStyle(element);
    return [style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) > 0 ? `${style.outlineStyle} ${style.outlineWidth} ${style.outlineColor}` : "", style.boxShadow, style.borderColor, style.backgroundColor].join("|");
  };
  let number = 0;
  const visited = new Set();
  function begin() {
    visited.clear();
    document.activeElement?.blur();
    for (const element of reachable()) {
      element.dataset.auditPlace ??= String(++number);
      element.auditLook = looks(element);
    }
  }
  // After each press of Tab: false once nothing new is reached.
  function visit() {
    const element = document.activeElement;
    if (!element || element === document.body) return visited.size === 0;
    const isNew = !visited.has(element);
    visited.add(element);
    if (isNew) element.auditFocused = looks(element);
    return isNew;
  }
  function unreached() {
    const missed = reachable().filter((element) => element.auditLook !== undefined && !visited.has(element)).map((element) => `Tab does not reach ${about(element)}`);
    const unseen = [...visited].filter((element) => element.isConnected && element.auditFocused === element.auditLook).map((element) => `the focus does not show on ${about(element)}`);
    return [...missed, ...unseen];
  }

  window.audit = { texts, lines, controls, headings, pictures, ids, begin, visit, unreached };
})();
