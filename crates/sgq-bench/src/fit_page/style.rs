//! How the page looks besides what every report has.

/// Colours of text are those whose contrast with the page is at least 4.5, in light and dark.
pub(super) const STYLE: &str = "
.formula { overflow-wrap: anywhere; max-height: 9rem; overflow-y: auto; }
.status { display: inline-block; margin: 0; padding: .1rem .7rem; border-radius: 1rem; font-weight: 600; border: 2px solid; }
.good { color: var(--good); } .bad { color: var(--bad); }
.warnings { margin: 1rem 0; padding: .2rem 1rem; color: var(--ink); } .warnings p { margin: .4rem 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: 12rem 1fr; gap: .25rem 1.2rem; margin: 0; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid var(--rule); vertical-align: bottom; }
th:first-child { position: sticky; left: 0; background: var(--paper); }
tbody th { max-width: 22rem; overflow-wrap: anywhere; }
td { white-space: nowrap; } th.words, td.words { white-space: normal; overflow-wrap: anywhere; max-width: 22rem; }
.quiet th { color: var(--quiet); } .mark { font-weight: 600; color: var(--warn); }
figure { margin: 0; } figcaption { font-size: .85rem; margin-top: .4rem; }
.narrow { display: none; }
@media screen and (max-width: 40rem) {
  .wide { display: none; } .narrow { display: block; } .narrow svg { width: 100%; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } tbody th { max-width: 9rem; }
}
@media print {
  dl > * { break-inside: avoid; } th, td { padding: .15rem .5rem; } .formula { max-height: none; }
}
";
