//! What may be replaced, and that it is replaced together.

use serde_json::json;
use tempfile::{TempDir, tempdir};

use super::*;
use crate::{
    Experiment,
    benchmark::{self, Store},
    limit::Limits,
    output::{curve_files, write_curves},
    run::{Control, run},
};

fn claim(settings: &serde_json::Value) -> Claim {
    Claim::new("test", settings).writes(["a.csv", "b.csv", "summary.json"])
}

fn text(place: &TempDir, name: &str) -> String {
    fs::read_to_string(place.path().join(name)).unwrap()
}

/// Writes all three files.
fn write(place: &TempDir, claim: Claim, contents: &str) -> Result<(), OutputError> {
    let mut folder = Folder::open(place.path(), claim)?;
    for name in ["summary.json", "a.csv", "b.csv"] {
        folder.write(name, contents)?;
    }
    folder.commit()?;
    assert_eq!(folder.written(), ["summary.json", "a.csv", "b.csv"]);
    Ok(())
}

fn names(place: &TempDir) -> BTreeSet<String> {
    fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_same_run_replaces_its_own_and_another_one_is_refused() {
    let place = tempdir().unwrap();
    let first = json!({ "target": "died", "seed": 0, "budget": null, "quick": false });
    write(&place, claim(&first), "old").unwrap();
    assert_eq!(names(&place), [".sgq-run.json", "a.csv", "b.csv", "summary.json"].map(str::to_owned).into());
    write(&place, claim(&first), "new").unwrap();
    assert_eq!(text(&place, "a.csv"), "new");
    // An option that nobody gave is as good as none.
    write(&place, claim(&json!({ "target": "died", "seed": 0, "later": [] })), "newer").unwrap();
    for (other, expected) in [
        (json!({ "target": "days", "seed": 0 }), "target was \"died\" and is now \"days\""),
        (json!({ "target": "died", "seed": 1 }), "seed was 0 and is now 1"),
        (json!({ "target": "died", "seed": 0, "step_size": 0.5 }), "step-size was not given and is now 0.5"),
    ] {
        let error = write(&place, claim(&other), "other").unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("--out") && error.contains("--force"), "{error}");
        assert_eq!(text(&place, "a.csv"), "newer");
    }
    let command = Claim::new("walk", &first).writes(["z.csv"]);
    let error = command.check(place.path()).unwrap_err().to_string();
    assert!(error.contains("they are of `sgq test`, and this is `sgq walk`"), "{error}");
    write(&place, claim(&json!({ "target": "days" })).force(true), "forced").unwrap();
    assert_eq!(text(&place, "summary.json"), "forced");
    // It is now that run's.
    write(&place, claim(&json!({ "target": "days" })), "again").unwrap();
    assert!(claim(&first).check(place.path()).is_err());
}

#[test]
fn a_run_is_about_a_file_and_not_about_its_contents_or_spelling() {
    let place = tempdir().unwrap();
    let out = place.path().join("out");
    let write = |name: &str| fs::write(place.path().join(name), name).unwrap();
    let open = |name: &str| Folder::open(&out, claim(&json!({})).about(&place.path().join(name)));
    write("a.csv");
    write("b.csv");
    let mut folder = open("a.csv").unwrap();
    folder.write("summary.json", "").unwrap();
    folder.commit().unwrap();
    drop(folder);
    let marker = fs::read_to_string(out.join(MARKER)).unwrap();
    assert!(marker.contains("\"source\": \"../a.csv\""), "{marker}");
    fs::write(place.path().join("a.csv"), "corrected").unwrap();
    open("out/../a.csv").unwrap();
    let error = open("b.csv").unwrap_err().to_string();
    assert!(error.contains("the file was \"../a.csv\" and is now \"../b.csv\""), "{error}");
    // Moved together, they are what they were.
    let moved = tempdir().unwrap();
    fs::rename(&out, moved.path().join("out")).unwrap();
    fs::rename(place.path().join("a.csv"), moved.path().join("a.csv")).unwrap();
    claim(&json!({})).about(&moved.path().join("a.csv")).check(&moved.path().join("out")).unwrap();
}

#[test]
fn what_nobody_knows_to_be_ours_is_left_alone() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("notes.txt"), "mine").unwrap();
    claim(&json!({})).check(place.path()).unwrap();
    fs::write(place.path().join("b.csv"), "mine").unwrap();
    let error = write(&place, claim(&json!({})), "new").unwrap_err().to_string();
    assert!(error.contains(": b.csv; choose another --out, or pass --force"), "{error}");
    assert_eq!(names(&place), ["b.csv", "notes.txt"].map(str::to_owned).into());
    // A name that was not announced is no way round it, and one that came up meanwhile neither.
    let mut folder = Folder::open(place.path(), Claim::new("test", &())).unwrap();
    folder.write("a.csv", "new").unwrap();
    folder.write("b.csv", "new").unwrap();
    assert!(matches!(folder.commit(), Err(OutputError::Foreign { .. })));
    drop(folder);
    assert_eq!((text(&place, "b.csv"), names(&place).len()), ("mine".into(), 2));
    // A marker that cannot be read says nothing.
    fs::write(place.path().join(MARKER), "{").unwrap();
    assert!(matches!(claim(&json!({})).check(place.path()), Err(OutputError::Foreign { .. })));
    write(&place, claim(&json!({})).force(true), "new").unwrap();
    assert_eq!((text(&place, "b.csv"), text(&place, "notes.txt")), ("new".into(), "mine".into()));
}

#[test]
fn folders_below_are_ours_or_not() {
    let place = tempdir().unwrap();
    let traced = || Claim::new("test", &()).writes(["trace/"]);
    fs::create_dir(place.path().join("trace")).unwrap();
    let mut folder = Folder::open(place.path(), traced()).unwrap();
    fs::create_dir(folder.stage("trace")).unwrap();
    fs::write(folder.stage("trace").join("x.jsonl"), "x").unwrap();
    folder.adopt("trace/x.jsonl".into());
    folder.commit().unwrap();
    drop(folder);
    assert_eq!(text(&place, "trace/x.jsonl"), "x");
    traced().check(place.path()).unwrap();
    fs::remove_file(place.path().join(MARKER)).unwrap();
    assert!(matches!(traced().check(place.path()), Err(OutputError::Foreign { .. })));
    fs::remove_dir_all(place.path().join("trace")).unwrap();
    fs::write(place.path().join("trace"), "").unwrap();
    assert!(matches!(traced().force(true).check(place.path()), Err(OutputError::InTheWay { .. })));
}

#[test]
fn inputs_are_never_replaced() {
    let place = tempdir().unwrap();
    let data = place.path().join("a.csv");
    fs::write(&data, "mine").unwrap();
    let refused = |input: &Path, out: &Path| {
        let claim = claim(&json!({})).about(input).force(true);
        matches!(claim.check(out), Err(OutputError::Input { .. }))
    };
    assert!(refused(&data, place.path()));
    assert!(refused(&place.path().join(".").join("a.csv"), place.path()));
    assert!(!refused(&data, &place.path().join("elsewhere")));
    #[cfg(unix)]
    {
        let other = tempdir().unwrap();
        std::os::unix::fs::symlink(&data, other.path().join("link.csv")).unwrap();
        assert!(refused(&other.path().join("link.csv"), place.path()));
        std::os::unix::fs::symlink(place.path(), other.path().join("folder")).unwrap();
        assert!(refused(&data, &other.path().join("folder")));
        fs::create_dir(other.path().join("out")).unwrap();
        fs::hard_link(&data, other.path().join("out/b.csv")).unwrap();
        assert!(refused(&data, &other.path().join("out")));
    }
}

/// A folder in the place of a file is refused before anything is replaced.
#[test]
fn what_is_in_the_way_is_told_before() {
    let place = tempdir().unwrap();
    write(&place, claim(&json!({})), "old").unwrap();
    let mut folder = Folder::open(place.path(), claim(&json!({}))).unwrap();
    fs::remove_file(place.path().join("b.csv")).unwrap();
    fs::create_dir(place.path().join("b.csv")).unwrap();
    folder.write("a.csv", "new").unwrap();
    folder.write("b.csv", "new").unwrap();
    assert!(matches!(folder.commit(), Err(OutputError::InTheWay { .. })));
    assert!(matches!(claim(&json!({})).check(place.path()), Err(OutputError::InTheWay { .. })));
    assert_eq!(text(&place, "a.csv"), "old");
}

/// The third of four renamings fails: the first two are undone, new files and old.
#[test]
fn a_failure_half_way_puts_everything_back() {
    let place = tempdir().unwrap();
    write(&place, claim(&json!({})), "old").unwrap();
    let before = names(&place);
    let marker = text(&place, MARKER);
    for missing in ["c.csv", "b.csv", "summary.json"] {
        let mut folder = Folder::open(place.path(), claim(&json!({}))).unwrap();
        for name in ["a.csv", "c.csv", "b.csv", "summary.json"] {
            folder.write(name, "new").unwrap();
        }
        folder.remove("b.csv");
        fs::remove_file(folder.stage(missing)).unwrap();
        assert!(matches!(folder.commit(), Err(OutputError::File { .. })));
        drop(folder);
        assert_eq!(names(&place), before, "{missing}");
        for name in ["a.csv", "b.csv", "summary.json"] {
            assert_eq!(text(&place, name), "old", "{name} without {missing}");
        }
        assert_eq!(text(&place, MARKER), marker);
    }
}

#[test]
fn nothing_is_there_before_all_is() {
    let place = tempdir().unwrap();
    let mut folder = Folder::open(place.path(), claim(&json!({}))).unwrap();
    folder.write("a.csv", "new").unwrap();
    assert!(!place.path().join("a.csv").exists());
    drop(folder);
    assert_eq!(names(&place), BTreeSet::new());
}

/// What a run that crashed left behind goes away with the next one; what a run that lives has there stays.
#[test]
fn leftovers_are_cleared_away() {
    let place = tempdir().unwrap();
    let crashed = place.path().join(".sgq-1-0.partial");
    fs::create_dir_all(crashed.join("new")).unwrap();
    fs::write(crashed.join("lock"), "").unwrap();
    let mut first = Folder::open(place.path(), claim(&json!({}))).unwrap();
    assert!(!crashed.exists());
    first.write("a.csv", "first").unwrap();
    let mut second = Folder::open(place.path(), claim(&json!({}))).unwrap();
    second.write("a.csv", "second").unwrap();
    first.commit().unwrap();
    assert_eq!(text(&place, "a.csv"), "first");
    // The same run, side by side: the last one to end counts.
    second.commit().unwrap();
    assert_eq!(text(&place, "a.csv"), "second");
    // Another run that was here meanwhile has its results kept.
    second.write("a.csv", "third").unwrap();
    write(&place, claim(&json!({ "seed": 1 })).force(true), "other").unwrap();
    assert!(matches!(second.commit(), Err(OutputError::OtherRun { .. })));
    assert_eq!(text(&place, "a.csv"), "other");
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let place = tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Folder::open(&file.join("below"), claim(&json!({}))).unwrap_err();
    assert!(error.to_string().contains("--out"), "{error}");
}

/// Every file that is written was announced: otherwise it could only be refused after everything was computed.
#[test]
fn what_is_written_was_announced() {
    let problem = |name: &str| {
        format!(
            "[[problem]]\nname = \"{name}\"\nkind = \"quadratic\"\ncurvature = [1, 2]\ncenter = [0, 1]\nstart = 3\n"
        )
    };
    let methods = ["frugal", "shuffled-sgd", "ogq", "sgq"].map(|name| format!("[[method]]\nmethod = \"{name}\"\n"));
    let experiment = |head: &str, problems: &[&str]| {
        let problems: String = problems.iter().map(|name| problem(name)).collect();
        let text = format!("budget = 40\ntrials = 2\n{head}\n{problems}{}", methods.concat());
        Experiment::from_toml("e.toml", &text).unwrap()
    };
    let interrupt = false.into();
    let written = |announced: Vec<String>, write: &dyn Fn(&mut Folder)| {
        let place = tempdir().unwrap();
        let mut folder = Folder::open(place.path(), Claim::new("test", &())).unwrap();
        write(&mut folder);
        let announced: BTreeSet<&String> = announced.iter().collect();
        let written: BTreeSet<&String> = folder.written().iter().collect();
        assert_eq!(written.difference(&announced).collect::<Vec<_>>(), Vec::<&&String>::new());
        (written.len(), announced.len())
    };
    for (stem, problems) in [("curves", &["p", "q/r"][..]), ("fig", &["p"])] {
        let experiment = experiment("step_size = 0.1", problems);
        let control = Control { interrupt: &interrupt, on_trial: &|| {}, trace: None, choices: true };
        let mut results = run(&experiment, &control);
        if stem == "curves" {
            results.limits = Limits::of(&experiment);
        }
        let (written, announced) = written(curve_files(stem, &experiment, true), &|folder| {
            write_curves(folder, stem, true, &experiment, &results).unwrap();
        });
        assert_eq!(written, announced);
    }
    let tuned = experiment("targets = [1, 0.1, 0.01]\n[tuning]\nfrom = -2\nto = 1", &["p", "q/r"]);
    let cells = tempdir().unwrap();
    let outcome = benchmark::run(&tuned, &Store::open(cells.path()).unwrap(), &interrupt, &|_| {}).unwrap();
    let (written, announced) = written(benchmark::files(&tuned), &|folder| {
        benchmark::write(folder, &tuned, &outcome).unwrap();
    });
    assert_eq!(written, announced);
}
