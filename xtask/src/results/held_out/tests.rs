//! Runs of all methods, and of some of them only.

use std::{fs, path::Path};

use super::super::{Site, files::FURTHER};

const HEADING: &str =
    "problem,method,tuning,target,queries,queries_lo,queries_hi,status,step_size,decay,rate,settings\n";

/// What each method needs on both sets, and what it is told.
const ALL: &[(&str, &str, [&str; 2])] = &[
    ("frugal", "each L_i", ["10", "20"]),
    ("frugal learned", "nothing", ["20", "30"]),
    ("DIAG, lazy", "nothing", ["20", "10"]),
    ("importance SGD", "each L_i", ["40", "5"]),
];

fn leave(folder: &Path, methods: &[(&str, &str, [&str; 2])]) {
    let mut summary = HEADING.to_owned();
    let mut tuning = "problem,method,settings_tried,queries,told_tuned,told_untuned,sees_more\n".to_owned();
    for (method, told, queries) in methods {
        for (set, queries) in ["north", "south"].iter().zip(queries) {
            tuning += &format!("{set},\"{method}\",1,10,{told},{told},\n");
            for ways in ["tuned", "hindsight", "untuned"] {
                summary += &format!("{set},\"{method}\",{ways},0.1,{queries},,,reached,,,,\n");
            }
        }
    }
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("summary.csv"), summary).unwrap();
    fs::write(folder.join("tuning.csv"), tuning).unwrap();
}

/// A run of `frugal` alone replaces its rows; the others stay, and a part is refused where nothing is kept.
#[test]
fn a_run_of_some_methods_replaces_only_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site { root: folder.path(), pages: &["page.md"] };
    let it = FURTHER.iter().find(|it| it.name == super::NAME).unwrap();
    for inside in ["experiments", "data"] {
        fs::create_dir_all(site.root.join(inside)).unwrap();
    }
    let names = ALL.iter().map(|(name, ..)| format!("[[method]]\nname = \"{name}\"\n")).collect::<String>();
    fs::write(site.root.join(it.experiment), names).unwrap();
    let text = "Mean <!--=held-out.frugal.ratio.tuned.0.1--><!--/-->\n<!-- results: held-out-queries -->\n<!-- /results -->\n\
        <!-- results: held-out -->\n<!-- /results -->\n";
    fs::write(site.root.join("page.md"), text).unwrap();
    let (whole, part) = (site.root.join("out/whole"), site.root.join("out/part"));
    leave(&whole, ALL);
    leave(&part, &[("frugal", "each L_i", ["5", "10"])]);
    let page = || fs::read_to_string(site.root.join("page.md")).unwrap();
    let shows = |line: &str| assert!(page().contains(line), "{line}\n{}", page());

    let refused = site.write(None, &[(it, part.clone())], &[]).unwrap_err();
    assert!(refused.starts_with("the run has no method \"frugal learned\""), "{refused}");
    site.write(None, &[(it, whole.clone())], &[]).unwrap();
    shows("| north | **10** / 20 / 20 DIAG, lazy |");
    shows("| south | 20 / 30 / 5 importance SGD† |");
    shows("Mean <!--=held-out.frugal.ratio.tuned.0.1-->1.41<!--/-->");
    shows("| the same over the best tuned one without each `L_i` | 1.73 |");
    shows("| `frugal` without `L_i` over `frugal` | 1.73 |");

    let kept = |name: &str| fs::read_to_string(site.root.join("docs/results").join(name)).unwrap();
    let (before, told) = (kept("held-out.csv"), kept("held-out-tuning.csv"));
    site.write(None, &[(it, part)], &[]).unwrap();
    site.check().unwrap();
    shows("| north | **5** / 20 / 20 DIAG, lazy |");
    shows("| south | 10 / 30 / 5 importance SGD† |");
    let changed = |(old, new): &(&str, &str)| old != new;
    let after = kept("held-out.csv");
    assert_eq!(before.lines().count(), after.lines().count());
    assert_eq!(before.replace('"', "").lines().zip(after.replace('"', "").lines()).filter(changed).count(), 6);
    assert_eq!(told.replace('"', ""), kept("held-out-tuning.csv").replace('"', ""));

    let other = fs::read_to_string(whole.join("summary.csv")).unwrap().replace("status", "state");
    fs::write(
        site.root.join("out/part/summary.csv"),
        other.lines().take(7).map(|line| format!("{line}\n")).collect::<String>(),
    )
    .unwrap();
    let refused = site.write(None, &[(it, site.root.join("out/part"))], &[]).unwrap_err();
    assert_eq!(refused, "held-out, summary.csv: other columns than those that are kept: take in a run of all of it");
    site.write(None, &[(it, whole)], &[]).unwrap();
    assert_eq!(kept("held-out.csv").lines().count(), before.lines().count());
}
