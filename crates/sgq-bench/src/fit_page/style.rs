//! How the page looks besides what every report has.

/// Pictures are drawn for white paper; here they take the page's colours in the dark. Colours of text are those whose contrast
/// with the page is at least 4.5, in light and dark.
pub(super) const STYLE: &str = "
.formula { overflow-wrap: anywhere; max-height: 9rem; overflow-y: auto; }
.status { display: inline-block; margin: 0; padding: .1rem .7rem; border-radius: 1rem; font-weight: 600; border: 2px solid; }
.good { color: #00664b; } .bad { color: #a33c00; }
.warnings { border-left: 4px solid #d55e00; margin: 1rem 0; padding: .2rem 1rem; }
.warnings p { margin: .4rem 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: 12rem 1fr; gap: .25rem 1.2rem; margin: 0; }
dt { color: #595959; } dd { margin: 0; overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid #8888; vertical-align: bottom; }
:root { --paper: #fff; } body { background: var(--paper); color: #1a1a1a; }
th:first-child { position: sticky; left: 0; background: var(--paper); }
th { font-weight: 600; } tbody th { font-weight: 400; max-width: 22rem; overflow-wrap: anywhere; }
td { white-space: nowrap; } th.words, td.words { text-align: left; white-space: normal; overflow-wrap: anywhere; max-width: 22rem; }
.quiet, .quiet th, figcaption { color: #595959; }
.mark { font-weight: 600; color: #a33c00; }
figure { margin: 0; } figcaption { font-size: .85rem; margin-top: .4rem; }
.scrolls { overflow-x: auto; margin-top: 1.5rem; } .scrolls svg { min-width: 34rem; }
.narrow { display: none; }
footer { opacity: 1; color: #595959; }
@media screen and (max-width: 40rem) {
  body { margin: 1rem auto; } h1 { font-size: 1.35rem; overflow-wrap: anywhere; }
  .wide { display: none; } .narrow { display: block; } .narrow svg { width: 100%; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
  th, td { padding: .3rem .5rem; } tbody th { max-width: 9rem; }
}
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #15171a; } body { color: #e8e8e8; }
  .good { color: #4fd1a5; } .bad, .mark { color: #ff9d5c; }
  dt, .quiet, .quiet th, figcaption, footer { color: #b0b4ba; }
  .themed svg[fill='#222'] { fill: #e8e8e8; }
  .themed svg [fill='#fff'] { fill: #15171a; } .themed svg [stroke='#fff'] { stroke: #15171a; }
  .themed svg [fill='#f4f4f4'] { fill: #1e2125; } .themed svg [stroke='#e3e3e3'] { stroke: #33373d; }
  .themed svg [stroke='#555'] { stroke: #a0a4aa; } .themed svg [stroke='#666'] { stroke: #b0b4ba; }
  .themed svg [fill='#666'] { fill: #b0b4ba; }
  .themed svg [fill='#004a9f'] { fill: #6aa9ff; } .themed svg [stroke='#004a9f'] { stroke: #6aa9ff; }
}
@media print {
  body { max-width: none; margin: 0; font-size: 10pt; } .table, .scrolls { overflow: visible; }
  tr, figure, dl > * { break-inside: avoid; } h2 { break-after: avoid; } thead { display: table-header-group; }
  th, td { padding: .15rem .5rem; } .formula { max-height: none; }
}
";
