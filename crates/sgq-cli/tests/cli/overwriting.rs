//! Never overwrite what we did not write, nor what another run did.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{GOOD, folder_with, read_text, refuses, succeeds};

const DATA: &str = "who,x,y,z\nA,0,1,1\nA,2,3,0\nB,1,5,1\nB,4,4,0\n";

/// Every file below a folder, with its contents.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(snapshot(&path)),
            false => drop(all.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    all
}

/// Is refused, with these words, and changes nothing.
fn leaves_alone(place: &TempDir, arguments: &[&str], expected: &[&str]) {
    let before = snapshot(place.path());
    let error = refuses(place.path(), arguments);
    assert!(expected.iter().all(|words| error.contains(words)), "{arguments:?}: {error}");
    assert!(snapshot(place.path()) == before, "{arguments:?} changed something");
}

fn fit<'a>(file: &'a str, target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["fit", file, "--user", "who", "--target", target, "--budget", "20", "--quiet"], more].concat()
}

#[test]
fn a_fit_does_not_replace_its_data() {
    let place = folder_with("d.csv", DATA);
    fs::create_dir(place.path().join("q")).unwrap();
    fs::write(place.path().join("q/gap.csv"), DATA).unwrap();
    for out in ["q", "./q/", "q/../q"] {
        for more in [&[][..], &["--force"]] {
            let arguments = fit("q/gap.csv", "y", &[&["--out", out], more].concat());
            leaves_alone(&place, &arguments, &["gap.csv is a file that this run reads", "choose another --out"]);
        }
    }
    let absolute = place.path().join("q/gap.csv");
    leaves_alone(&place, &fit(absolute.to_str().unwrap(), "y", &["--out", "q"]), &["a file that this run reads"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("q/gap.csv", place.path().join("link.csv")).unwrap();
        leaves_alone(&place, &fit("link.csv", "y", &["--out", "q"]), &["a file that this run reads"]);
        fs::create_dir(place.path().join("h")).unwrap();
        fs::hard_link(place.path().join("d.csv"), place.path().join("h/queries.csv")).unwrap();
        leaves_alone(&place, &fit("d.csv", "y", &["--out", "h", "--force"]), &["h/queries.csv is a file that"]);
    }
    // Data beside the results are in nobody's way.
    fs::remove_file(place.path().join("q/gap.csv")).unwrap();
    succeeds(place.path(), &fit("d.csv", "y", &["--out", "."]));
    assert_eq!(read_text(place.path().join("d.csv")), DATA);
}

#[test]
fn a_fit_does_not_replace_another_one_but_itself() {
    let place = folder_with("d.csv", DATA);
    succeeds(place.path(), &fit("d.csv", "y", &["--out", "o"]));
    let first = snapshot(&place.path().join("o"));
    leaves_alone(
        &place,
        &fit("d.csv", "z", &["--out", "o"]),
        &["o has the results of another run: target was \"y\" and is now \"z\"; choose another --out, or pass --force"],
    );
    leaves_alone(&place, &fit("d.csv", "y", &["--out", "o", "--l2", "0.5"]), &["l2 was 0.0 and is now 0.5"]);
    fs::create_dir(place.path().join("other")).unwrap();
    fs::write(place.path().join("other/d.csv"), DATA).unwrap();
    leaves_alone(
        &place,
        &fit("other/d.csv", "y", &["--out", "o"]),
        &["the file was \"../d.csv\" and is now \"../other/d.csv\""],
    );
    // The very same, spelled in another way: the bytes are the same.
    let absolute = place.path().join("d.csv");
    succeeds(place.path(), &fit(absolute.to_str().unwrap(), "y", &["--out", "./o", "--json"]));
    assert!(snapshot(&place.path().join("o")) == first);
    // New rows in the same file are the same command.
    fs::write(place.path().join("d.csv"), format!("{DATA}C,3,2,1\n")).unwrap();
    succeeds(place.path(), &fit("d.csv", "y", &["--out", "o"]));
    assert!(read_text(place.path().join("o/queries.csv")).contains("\nC,"));
    succeeds(place.path(), &fit("d.csv", "z", &["--out", "o", "--force"]));
    assert!(read_text(place.path().join("o/model.json")).contains("\"target\": \"z\""));
    leaves_alone(&place, &fit("d.csv", "y", &["--out", "o"]), &["target was \"z\" and is now \"y\""]);
}

#[test]
fn files_of_somebody_else_are_not_replaced() {
    let place = folder_with("d.csv", DATA);
    fs::create_dir(place.path().join("o")).unwrap();
    fs::write(place.path().join("o/model.json"), "mine").unwrap();
    fs::write(place.path().join("o/queries.csv"), "mine").unwrap();
    let expected = "o has files that would be replaced, and no record of sgq says that a run wrote them: \
                    model.json, queries.csv; choose another --out, or pass --force";
    leaves_alone(&place, &fit("d.csv", "y", &["--out", "o"]), &[expected]);
    succeeds(place.path(), &fit("d.csv", "y", &["--out", "o", "--force"]));
    assert_ne!(read_text(place.path().join("o/model.json")), "mine");
    // The same goes for all that write a folder.
    fs::write(place.path().join("x.toml"), GOOD).unwrap();
    for (name, arguments) in [
        ("curves.svg", &["run", "x.toml"][..]),
        ("report.html", &["run", "x.toml"]),
        ("fig2.png", &["reproduce", "--trials", "1"]),
        ("summary.json", &["bench", "random", "--problems", "1"]),
        ("mean.f64", &["bench", "choose", "--users", "5", "--dim", "1", "--steps", "3"]),
        ("trace/A-0.jsonl", &["run", "x.toml", "--trace"]),
    ] {
        let _ = fs::remove_dir_all(place.path().join("p"));
        fs::create_dir_all(place.path().join("p").join(name).parent().unwrap()).unwrap();
        fs::write(place.path().join("p").join(name), "mine").unwrap();
        let out = if arguments.contains(&"choose") { "--dump" } else { "--out" };
        let shown = if name.starts_with("trace") { "trace/" } else { name };
        leaves_alone(&place, &[arguments, &[out, "p"]].concat(), &[&format!("wrote them: {shown}; choose another")]);
        succeeds(place.path(), &[arguments, &[out, "p", "--force", "--quiet"]].concat());
        assert_ne!(read(&place, &format!("p/{name}")), b"mine", "{name}");
        // It is known from then on.
        succeeds(place.path(), &[arguments, &[out, "p", "--quiet"]].concat());
    }
}

fn read(place: &TempDir, name: &str) -> Vec<u8> {
    fs::read(place.path().join(name)).unwrap()
}

#[test]
fn an_experiment_adds_to_its_own_folder_and_to_no_other() {
    let more = "\n[[method]]\nname = \"B\"\nmethod = \"sgd\"\n";
    let place = folder_with("x.toml", &format!("{GOOD}{more}"));
    fs::write(place.path().join("y.toml"), GOOD).unwrap();
    let run = |file: &'static str, more: &[&'static str]| [&["run", file, "--out", "o", "--quiet"], more].concat();
    succeeds(place.path(), &run("x.toml", &["--methods", "A"]));
    succeeds(place.path(), &run("x.toml", &["--methods", "B", "--trace"]));
    succeeds(place.path(), &run("x.toml", &["--problems", "toy"]));
    leaves_alone(&place, &run("y.toml", &[]), &["the file was \"../x.toml\" and is now \"../y.toml\""]);
    leaves_alone(&place, &run("x.toml", &["--seed", "3"]), &["seed was not given and is now 3"]);
    leaves_alone(&place, &["reproduce", "--out", "o"], &["they are of `sgq run`, and this is `sgq reproduce`"]);
    // A corrected experiment is the same one.
    fs::write(place.path().join("x.toml"), GOOD.replace("trials = 3", "trials = 4")).unwrap();
    succeeds(place.path(), &run("x.toml", &[]));
}

#[test]
fn an_experiment_does_not_replace_what_it_reads() {
    let place = folder_with("d.csv", DATA);
    let experiment = "budget = 9\ntrials = 1\nstep_size = 0.1\n[[problem]]\nname = \"p\"\nkind = \"csv\"\n\
                      file = \"curves.csv\"\nuser = \"who\"\ntarget = \"y\"\nloss = \"squares\"\n\
                      [[method]]\nmethod = \"sgd\"\n";
    fs::write(place.path().join("x.toml"), experiment).unwrap();
    fs::write(place.path().join("curves.csv"), DATA).unwrap();
    let expected = "curves.csv is a file that this run reads";
    for force in [&[][..], &["--force"]] {
        leaves_alone(&place, &[&["run", "x.toml", "--out", "."], force].concat(), &[expected]);
    }
    fs::rename(place.path().join("x.toml"), place.path().join("report.html")).unwrap();
    let error = refuses(place.path(), &["run", "report.html", "--out", ".", "--force"]);
    assert!(error.contains("is a file that this run reads"), "{error}");
    // Whose rows they are is read too.
    fs::write(place.path().join("d.svm"), "1 1:2 3:1\n-1 2:1\n1 1:1\n").unwrap();
    fs::write(place.path().join("limit.csv"), "b\na\nb\n").unwrap();
    let experiment = experiment.replace("kind = \"csv\"", "kind = \"libsvm\"").replace("curves.csv", "d.svm");
    let experiment = experiment.replace("user = \"who\"\ntarget = \"y\"\n", "users = { file = \"limit.csv\" }\n");
    fs::write(place.path().join("z.toml"), experiment.replace("squares", "logistic")).unwrap();
    leaves_alone(&place, &["run", "z.toml", "--out", ".", "--force"], &["limit.csv is a file that this run reads"]);
}

#[test]
fn predictions_replace_predictions_only() {
    let place = folder_with("d.csv", DATA);
    succeeds(place.path(), &fit("d.csv", "y", &["--out", "o"]));
    let predict = |more: &[&'static str]| [&["predict", "o/model.json", "d.csv"], more].concat();
    for out in ["d.csv", "./d.csv", "o/../d.csv"] {
        leaves_alone(&place, &predict(&["--out", out, "--force"]), &["d.csv is a file that this run reads"]);
    }
    leaves_alone(
        &place,
        &predict(&["--out", "o/model.json", "--force"]),
        &["model.json is a file that this run reads"],
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("d.csv", place.path().join("link.csv")).unwrap();
        leaves_alone(&place, &predict(&["--out", "link.csv", "--force"]), &["link.csv is a file that this run reads"]);
    }
    fs::write(place.path().join("notes.csv"), "mine\n").unwrap();
    leaves_alone(
        &place,
        &predict(&["--out", "notes.csv"]),
        &["notes.csv is there already, and is nothing that this command writes: choose another --out, or pass --force"],
    );
    leaves_alone(&place, &predict(&["--out", "o"]), &["o is in the way: it is no file"]);
    #[cfg(unix)]
    leaves_alone(&place, &predict(&["--out", "/dev/null", "--force"]), &["/dev/null is in the way"]);
    succeeds(place.path(), &predict(&["--out", "notes.csv", "--force"]));
    // Its own, as CSV and as JSON, need no force.
    for more in [&[][..], &["--json"], &["--json"], &[]] {
        succeeds(place.path(), &predict(&[&["--out", "notes.csv"], more].concat()));
    }
    assert!(read_text(place.path().join("notes.csv")).starts_with("row,prediction\n"));
}

/// A folder in the place of one of the files: nothing is computed, and the others stay as they were.
#[test]
fn all_files_are_replaced_or_none() {
    let place = folder_with("d.csv", DATA);
    succeeds(place.path(), &fit("d.csv", "y", &["--out", "o"]));
    fs::remove_file(place.path().join("o/gap.png")).unwrap();
    fs::create_dir(place.path().join("o/gap.png")).unwrap();
    leaves_alone(&place, &fit("d.csv", "y", &["--out", "o"]), &["o/gap.png is in the way: it is no file"]);
}

/// A limit on the size of files stands for a disk that is full: the page does not fit, and so nothing is replaced.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_files() {
    let place = folder_with("d.csv", DATA);
    succeeds(place.path(), &fit("d.csv", "y", &["--out", "o"]));
    fs::write(place.path().join("d.csv"), format!("{DATA}C,3,2,1\n")).unwrap();
    let before = snapshot(place.path());
    let output = std::process::Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_sgq")])
        .args(fit("d.csv", "y", &["--out", "o"]))
        .current_dir(place.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = crate::text(&output.stderr);
    assert!(error.contains("cannot write o/report.html"), "{error}");
    assert!(snapshot(place.path()) == before);
    succeeds(place.path(), &fit("d.csv", "y", &["--out", "o"]));
    assert!(snapshot(place.path()) != before);
}
