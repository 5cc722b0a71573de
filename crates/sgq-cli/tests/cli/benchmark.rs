//! `sgq run` on an experiment with tuning: the benchmark, in its quick mode, on data made up here.

use std::{collections::BTreeSet, fs, path::Path};

use tempfile::{TempDir, tempdir};

use crate::{read_text, refuses, root, succeeds};

fn suite() -> TempDir {
    suite_of("grouped.toml")
}

/// A suite as it stands in the repository, beside small data of the same shape: six users, two features.
fn suite_of(experiment: &str) -> TempDir {
    let place = tempdir().unwrap();
    let text = read_text(root().join("experiments").join(experiment));
    for folder in ["experiments", "data"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    let value = |block: &str, key: &str| {
        let line = block.lines().find(|line| line.starts_with(&format!("{key} = ")));
        line.unwrap_or_else(|| panic!("{key} in {block}")).split('"').nth(1).unwrap().to_owned()
    };
    for (number, block) in text.split("[[problem]]").skip(1).enumerate() {
        let (user, target, loss) = (value(block, "user"), value(block, "target"), value(block, "loss"));
        // The second feature is a factor where the data set has one with numbers among its levels.
        let has_factor = block.lines().any(|line| line.starts_with("factors = "));
        let second = if has_factor { value(block, "factors") } else { "two".to_owned() };
        let mut csv = format!("{user},{target},one,{second}\n");
        for row in 0..36 {
            let (one, two) = ((row * 7 + number) % 11, (row * 5 + 3 * number) % 13);
            let noise = (row * 29 + number * 17) % 10;
            let y = match &*loss {
                "logistic" => usize::from(one + noise > 9),
                "poisson" => (one + two + noise) / 8,
                _ => 3 * one + two + noise,
            };
            let two = if has_factor { ["0", "1", "2+"][two % 3].to_owned() } else { two.to_string() };
            csv += &format!("u{},{y},{one},{two}\n", row % 6);
        }
        let file = value(block, "file");
        fs::write(place.path().join("experiments").join(&file), csv).unwrap();
    }
    fs::write(place.path().join("experiments").join(experiment), text).unwrap();
    place
}

/// Every option of SGQ, alone and with others; what finds its own step size has the same numbers tuned and untuned.
#[test]
fn the_ablation_runs_in_its_quick_mode() {
    let place = suite_of("ablation.toml");
    succeeds(place.path(), &["run", "experiments/ablation.toml", "--quick", "--problems", "exam,medpar,epilepsy"]);
    let out = place.path().join("out/ablation-quick");
    assert_eq!(cells(&out).len(), 3 * 23);
    let summary = read_text(out.join("summary.csv"));
    let of = |method: &str, tuning: &str| -> Vec<String> {
        let marked = format!(",{method},{tuning},");
        summary.lines().filter(|line| line.contains(&marked)).map(|line| line.replace(&marked, ",")).collect()
    };
    for method in ["best step", "all", "all but lazy", "practical", "practical but learned", "frugal learned"] {
        assert!(!of(method, "tuned").is_empty());
        assert_eq!(of(method, "tuned"), of(method, "untuned"), "{method}");
    }
    assert_ne!(of("lazy", "tuned"), of("lazy", "untuned"));
}

const GOOD_HEAD: &str = "budget = 9\nstep_size = 0.1\n[[problem]]\nname = \"p\"\nkind = \"quadratic\"\ncurvature = [1]\n\
                         center = [0]\nstart = 1\n";

fn cells(folder: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(folder.join("cells")).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_suite_runs_in_its_quick_mode() {
    let place = suite();
    let run = |more: &[&str]| succeeds(place.path(), &[&["run", "experiments/grouped.toml", "--quick"], more].concat());
    // One of each loss.
    let problems = ["--problems", "exam,medpar,epilepsy"];
    // A part first: what it finished is not done again.
    run(&["--problems", "exam", "--methods", "SAGA,iag"]);
    let out = place.path().join("out/grouped-quick");
    let first = cells(&out);
    assert_eq!(first.len(), 2);
    // Every problem of the part has its limit; the pictures need a method that has nothing to tune.
    let limits = read_text(out.join("limit.csv"));
    assert_eq!(limits.lines().next(), Some("problem,target,queries"));
    assert_eq!(limits.lines().filter(|line| line.starts_with("exam,")).count(), 5);
    assert_eq!(limits.lines().count(), 6);
    assert!(!out.join("distance.svg").exists() && !out.join("share.svg").exists());
    let marked = out.join("cells").join(first.first().unwrap());
    let text = read_text(&marked).replace("\"step_size\":", "\"step_size\": ");
    fs::write(&marked, &text).unwrap();

    let stdout = run(&problems);
    assert!(cells(&out).is_superset(&first));
    assert_eq!(read_text(&marked), text, "a finished cell is left alone");
    let summary = read_text(out.join("summary.csv"));
    let mut lines = summary.lines();
    let heading = "problem,method,tuning,target,queries,queries_lo,queries_hi,status,step_size,decay,rate,settings";
    assert_eq!(lines.next(), Some(heading));
    let experiment = read_text(root().join("experiments/grouped.toml"));
    assert_eq!(lines.clone().count(), 3 * experiment.matches("[[method]]").count() * 3 * 5);
    let mut reached = 0;
    for line in lines {
        // Names may have a comma in them: count from the end.
        let cells: Vec<&str> = line.rsplitn(10, ',').collect();
        let (decay, step, status, high, low, queries) = (cells[2], cells[3], cells[4], cells[5], cells[6], cells[7]);
        assert!(["reached", "not reached", "diverged"].contains(&status), "{line}");
        assert_eq!(status == "reached", !queries.is_empty(), "{line}");
        if let (Ok(low), Ok(queries), Ok(high)) = (low.parse::<u64>(), queries.parse::<u64>(), high.parse::<u64>()) {
            assert!(low <= high && queries <= 200, "{line}");
            reached += 1;
        }
        assert!(["constant", "inverse", "root", "warm-up", ""].contains(&decay), "{line}");
        assert_eq!(step.is_empty(), decay.is_empty(), "{line}");
        assert!(step.parse().is_ok_and(|step: f64| step > 0.0) || step.is_empty(), "{line}");
    }
    assert!(reached > 300, "{reached}");
    let tuning = read_text(out.join("tuning.csv"));
    assert_eq!(tuning.lines().next(), Some("problem,method,settings_tried,queries,told_tuned,told_untuned,sees_more"));
    assert_eq!(tuning.lines().count(), 1 + 3 * experiment.matches("[[method]]").count());
    for line in ["exam,frugal,0,0,each L_i,each L_i,", "exam,frugal learned,0,0,nothing,nothing,"] {
        assert!(tuning.lines().any(|other| other == line), "{line} in {tuning}");
    }
    assert!(
        tuning.lines().any(|line| line.starts_with("exam,SAGA,") && line.ends_with(",nothing,a step from the L_i,"))
    );
    let limits = read_text(out.join("limit.csv"));
    assert_eq!(limits.lines().count(), 1 + 5 * 3);
    let fewest = limits.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap());
    assert!(fewest.clone().all(|queries| (1..=6).contains(&queries)) && fewest.max() > Some(1), "{limits}");
    for file in ["distance.svg", "distance.png", "share.svg", "share.png"] {
        assert!(out.join(file).exists(), "{file}");
    }
    for file in ["report.html", "profile-tuned.svg", "profile-untuned.png", "heat-tuned-0.1.svg", "curves-medpar.svg"] {
        assert!(out.join(file).exists(), "{file}");
    }
    assert!(
        stdout.contains("exam, tuned on other trials")
            && !stdout.contains("exam, tuned in hindsight")
            && stdout.contains("OGQ (oracle, looks not billed)"),
        "{stdout}"
    );

    // Once more: nothing is computed, and the bytes are the same, on one thread too.
    assert!(stdout.contains("limit for random order (yardstick, no method)"), "{stdout}");
    assert!(stdout.contains("Queries of frugal over the limit for random order"), "{stdout}");
    let before = read_text(out.join("report.html"));
    assert!(
        before.contains("exam, tuned in hindsight")
            && before.contains("limit for random order (yardstick, no method)")
            && before.contains("½ tr(H⁻¹Σ)(1/k − 1/n)")
    );
    let pictures =
        ["distance.svg", "distance.png", "share.svg", "share.png"].map(|file| fs::read(out.join(file)).unwrap());
    run(&[&problems[..], &["--threads", "1"]].concat());
    for (file, bytes) in ["distance.svg", "distance.png", "share.svg", "share.png"].iter().zip(&pictures) {
        assert_eq!(&fs::read(out.join(file)).unwrap(), bytes, "{file}");
    }
    assert_eq!(read_text(out.join("summary.csv")), summary);
    assert_eq!(read_text(out.join("report.html")), before);
    fs::remove_dir_all(out.join("cells")).unwrap();
    run(&["--threads", "1", "--problems", "medpar"]);
    let medpar = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("medpar")).map(str::to_owned).collect()
    };
    assert_eq!(medpar(&read_text(out.join("summary.csv"))), medpar(&summary));
}

#[test]
fn names_and_files_that_are_not_there_are_named() {
    let place = suite();
    let run = ["run", "experiments/grouped.toml", "--quick"];
    let message = refuses(place.path(), &[&run[..], &["--methods", "saga,adam"]].concat());
    assert!(
        message.contains("the experiment has no method \"adam\"; there are: frugal, frugal learned, SGD"),
        "{message}"
    );
    let message = refuses(place.path(), &[&run[..], &["--problems", "moon"]].concat());
    assert!(message.contains("the experiment has no problem \"moon\"; there are: exam"), "{message}");
    for option in ["--trace", "--bounds"] {
        assert!(refuses(place.path(), &[&run[..], &[option]].concat()).contains("without [tuning]"));
    }
    assert!(refuses(place.path(), &["certify", "experiments/grouped.toml"]).contains("without [tuning]"));
    fs::remove_file(place.path().join("data/exam.csv")).unwrap();
    succeeds(place.path(), &[&run[..], &["--problems", "radon", "--methods", "saga"]].concat());
    let message = refuses(place.path(), &run);
    assert!(message.contains("grouped.toml:") && message.contains("python3 scripts/datasets.py"), "{message}");

    let head = "budget = 9\ntrials = 1\nstep_size = 0.1\n[[problem]]\nname = \"p\"\n";
    let tail = "[[method]]\nmethod = \"sgd\"\n";
    fs::write(place.path().join("d.csv"), "who,y,x\na,1,2\na,2,5\nb,4,3\n").unwrap();
    fs::write(place.path().join("d.svm"), "1 1:2 3:1\n-1 2:1\n1 1:1\n").unwrap();
    let tuned = format!("[tuning]\nfrom = -2\nto = 1\n{tail}");
    fs::write(place.path().join("t.toml"), format!("{}{tuned}", GOOD_HEAD)).unwrap();
    let message = refuses(place.path(), &["run", "t.toml"]);
    assert!(message.contains("`step_size`") && message.contains("take this one out"), "{message}");
    let without_step = GOOD_HEAD.replace("step_size = 0.1\n", "");
    for (tuning, method, expected) in [
        ("[tuning]\nfrom = 2\nto = 1\n", "", "the first power, 2, is above the last, 1"),
        ("[tuning]\nfrom = 0.5\n", "", "a whole power of two between -20 and 20"),
        ("[tuning]\ntrials = 0\n", "", "0 is not between 1 and 1000000"),
        ("[tuning]\nper_octave = 2\n", "", "`per_octave`"),
        ("[tuning]\n", "tune = { p = [0.1] }\n", "the method has no setting \"p\""),
        ("[tuning]\n", "tune = { p = [0.1] }\n", "; it has none"),
        ("[tuning]\n", "tune = { step_size = [0.1] }\n", "; steps are always searched for"),
        ("targets = []\n[tuning]\n", "", "there is nothing to tune for"),
        ("[tuning]\n", "tune = [1]\n", "expected lists of values"),
        ("step_size = 1\n", "tune = {}\n", "nothing is tuned without [tuning]"),
    ] {
        let (before, after) = tuning.split_at(tuning.find("[tuning]").unwrap_or(tuning.len()));
        fs::write(place.path().join("t.toml"), format!("{before}{without_step}{after}{tail}{method}")).unwrap();
        let message = refuses(place.path(), &["run", "t.toml"]);
        assert!(message.contains(expected) && message.contains("t.toml:"), "{expected}: {message}");
    }
    for (values, expected) in
        [("[\"2m\"]", "expected lists"), ("[0]", "must be"), ("[true]", "whole number"), ("[]", "expected lists")]
    {
        let svrg = format!("[[method]]\nmethod = \"svrg\"\ntune = {{ inner_steps = {values} }}\n");
        fs::write(place.path().join("t.toml"), format!("{without_step}[tuning]\n{svrg}")).unwrap();
        let message = refuses(place.path(), &["run", "t.toml"]);
        assert!(message.contains(expected) && message.contains("t.toml:"), "{expected}: {message}");
    }
    let many = "[[method]]\nmethod = \"power-of-choice\"\ntune = { candidates = [\"2n\"] }\n";
    fs::write(place.path().join("t.toml"), format!("{without_step}[tuning]\n{many}")).unwrap();
    let message = refuses(place.path(), &["run", "t.toml"]);
    assert!(message.contains("candidates is") && message.contains("t.toml:"), "{message}");
    for (problem, expected) in [
        ("kind = \"csv\"\nfile = \"d.csv\"\nuser = \"whom\"\ntarget = \"y\"\nloss = \"squares\"\n", "\"who\""),
        ("kind = \"csv\"\nfile = \"d.csv\"\nuser = \"who\"\ntarget = \"y\"\nloss = \"square\"\n", "squares"),
        ("kind = \"csv\"\nfile = \"d.csv\"\nuser = \"who\"\ntarget = \"y\"\n", "has no `loss`"),
        (
            "kind = \"csv\"\nfile = \"d.csv\"\nuser = \"who\"\ntarget = \"y\"\nloss = \"squares\"\nfeature = 1\n",
            "features",
        ),
        ("kind = \"csvs\"\n", "did you mean \"csv\"?"),
        ("kind = \"libsvm\"\nfile = \"d.svm\"\nusers = \"all\"\n", "expected \"qid\", \"rows\", a number"),
        ("kind = \"libsvm\"\nfile = \"d.svm\"\nusers = 9\n", "d.svm"),
    ] {
        fs::write(place.path().join("x.toml"), format!("{head}{problem}{tail}")).unwrap();
        let message = refuses(place.path(), &["run", "x.toml"]);
        assert!(message.contains(expected) && message.contains("x.toml:"), "{expected}: {message}");
    }
    fs::write(place.path().join("names.txt"), "b\na\nb\n").unwrap();
    // And what is right runs, relative gaps and all.
    for problem in [
        "kind = \"libsvm\"\nfile = \"d.svm\"\nusers = \"rows\"\n",
        "kind = \"libsvm\"\nfile = \"d.svm\"\nusers = { file = \"names.txt\" }\n",
        "kind = \"libsvm\"\nfile = \"d.svm\"\nusers = { dirichlet = 2, concentration = 1, seed = 4 }\n",
        "kind = \"csv\"\nfile = \"d.csv\"\nuser = \"who\"\ntarget = \"y\"\nloss = \"huber\"\ndelta = 0.5\n",
    ] {
        fs::write(place.path().join("x.toml"), format!("relative = true\n{head}{problem}{tail}")).unwrap();
        let stdout = succeeds(place.path(), &["run", "x.toml", "--out", "x"]);
        assert!(stdout.contains("rows a user"), "{stdout}");
        let csv = read_text(place.path().join("x/curves.csv"));
        assert_eq!(csv.lines().nth(1), Some("p,sgd,0,1.0,NaN"));
    }
}

#[test]
fn a_run_without_tuning_has_its_limit_too() {
    let place = tempdir().unwrap();
    let text = format!("targets = [1.5, 0.1]\n{GOOD_HEAD}[[method]]\nmethod = \"sgd\"\n");
    let text = text.replace("curvature = [1]", "curvature = [1, 1]").replace("center = [0]", "center = [-1, 1]");
    let text = text.replace("start = 1", "start = 2");
    fs::write(place.path().join("x.toml"), text).unwrap();
    succeeds(place.path(), &["run", "x.toml", "--out", "x"]);
    // H = 2, gradients ∓2: ½ · 8 / 2 (1/k − 1/2) is 1 after one query and 0 after both.
    assert_eq!(read_text(place.path().join("x/limit.csv")), "problem,target,queries\np,1.5,1\np,0.1,2\n");
    let report = read_text(place.path().join("x/report.html"));
    assert!(
        report.contains("<td>limit for random order (yardstick, no method)</td><td>1</td><td>2</td><td></td></tr>")
    );
}
