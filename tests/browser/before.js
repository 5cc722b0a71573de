// Before anything of a page runs: what the browser itself finds wrong with it, and what moves.
window.seen = { violations: [], shifts: [], firstPicture: null };
document.addEventListener("securitypolicyviolation", (event) => window.seen.violations.push(`${event.effectiveDirective} forbids ${event.blockedURI} (${event.sourceFile}:${event.lineNumber})`));
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    window.seen.shifts.push({ value: entry.value, at: entry.startTime, what: entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 120) ?? node?.data?.slice(0, 60) ?? "?") });
  }
}).observe({ type: "layout-shift", buffered: true });
const isPicture = () => [...document.querySelectorAll("svg path")].some((path) => !path.closest("defs, button") && path.getBoundingClientRect().width > 20);
new MutationObserver((_, observer) => {
  if (!isPicture()) return;
  observer.disconnect();
  // The frame in which it is painted.
  requestAnimationFrame(() => requestAnimationFrame(() => { window.seen.firstPicture = performance.now(); }));
}).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["d"] });
