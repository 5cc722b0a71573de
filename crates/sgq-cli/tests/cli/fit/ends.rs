//! When a fit ends, and what is known of it then.

use serde_json::json;

use super::*;

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_a_model_that_predicts() {
    use std::{
        thread::sleep,
        time::{Duration, Instant},
    };
    let place = place();
    let child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(LOGISTIC)
        .args(["--budget", "10000000", "--tol", "off", "--out", "o"])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The folder is made when interrupts are already heard.
    let begun = Instant::now();
    while !place.path().join("o").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never began");
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(100));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{stdout}{stderr}");
    assert!(stdout.contains("stopped            interrupted"), "{stdout}");
    let model: Value = serde_json::from_slice(&read(place.path().join("o/model.json"))).unwrap();
    let billed = model["queries"].as_u64().unwrap();
    assert!(stderr.contains(&format!("interrupted: what was reached after {billed} queries is in o")), "{stderr}");
    assert_eq!((&model["interrupted"], &model["stop"]), (&Value::from(true), &Value::from("interrupted")));
    assert!(billed < 10_000_000);
    let last = read_text(place.path().join("o/gap.csv"));
    assert!(last.lines().last().unwrap().starts_with(&format!("{billed},")));
    let output = sgq(place.path(), &["predict", "o/model.json", "patients.csv"]);
    assert!(output.status.success() && text(&output.stdout).lines().count() == 91);
    assert!(text(&output.stderr).contains("was interrupted"), "{}", text(&output.stderr));
}

/// A fit stops by itself, says what it believes to remain, and whether that is enough.
#[test]
fn a_fit_knows_whether_it_has_converged() {
    let place = place();
    let model = fit(place.path(), &[]);
    assert_eq!(model["converged"], true);
    assert!(model["stop"].as_str().unwrap().starts_with("converged: "), "{}", model["stop"]);
    assert_eq!((&model["settings"]["precision"], &model["settings"]["tolerance"]), (&json!(0.01), &json!(1e-4)));
    let [gap, low, high, at_start] =
        ["gap", "low", "high", "at_start"].map(|name| model["remaining"][name].as_f64().unwrap());
    assert!(low < gap && gap < high, "{}", model["remaining"]);
    // W (f − f*) = δ²/2, with 90 rows.
    let off = model["believed_off"].as_f64().unwrap();
    assert!(off <= 0.01 && (off * off / 180.0 / gap - 1.0).abs() < 1e-12, "{off}");
    let closer = fit(place.path(), &["--precision", "1e-4"]);
    assert!(closer["queries"].as_u64() > model["queries"].as_u64());
    assert!(closer["converged"] == true && closer["believed_off"].as_f64().unwrap() <= 1e-4);
    assert!(closer["diagnostic"]["relative_gap"].as_f64().unwrap() < 1e-8);
    // A tolerance says when to stop, and a precision does not then.
    let rough = fit(place.path(), &["--tol", "1e-2"]);
    assert!(rough["queries"].as_u64() < model["queries"].as_u64() && rough["converged"] == true);
    assert!(rough["settings"]["precision"].is_null() && rough["settings"]["tolerance"] == 1e-2);
    let part = rough["remaining"]["gap"].as_f64().unwrap() / rough["remaining"]["at_start"].as_f64().unwrap();
    assert!(part <= 1e-2 && part * at_start > gap, "{part}");
    // Within the first tolerance, and not within the precision.
    let short = fit(place.path(), &["--precision", "1e-9", "--budget", "45"]);
    let remaining = &short["remaining"];
    assert!(remaining["gap"].as_f64().unwrap() < 1e-4 * remaining["at_start"].as_f64().unwrap(), "{remaining}");
    assert!(short["queries"] == 45 && short["believed_off"].as_f64().unwrap() > 1e-9);
    assert_eq!(short["converged"], false);
    // Neither a method that cannot tell nor a run that was told another end has a tolerance.
    for more in [&["--method", "saga"][..], &["--target-gap", "0.5"], &["--tol", "off"]] {
        let model = fit(place.path(), more);
        let settings = &model["settings"];
        assert!(settings["tolerance"].is_null() && settings["precision"].is_null(), "{more:?}");
        assert!(model["converged"].is_null(), "{more:?}");
    }
    let shown = |more: &[&str]| succeeds(place.path(), &[&LOGISTIC[..], &["--force"], more].concat());
    let enough = |option| format!("not converged: give a larger --budget, or a larger {option} if that is enough");
    for (more, verdict) in [
        (&["--budget", "12"][..], &*enough("--precision")),
        (&["--budget", "12", "--tol", "1e-5"], &enough("--tol")),
        (&["--budget", "1"], "NOT CONVERGED: "),
        (&["--method", "saga"], "not known without a tolerance: see the gap, which a real run does not know"),
    ] {
        let shown = shown(more);
        assert!(shown.contains(&format!("verdict            {verdict}")), "{more:?}: {shown}");
    }
    for (more, words) in [
        (&["--tol", "0"][..], "expected a positive number, or off"),
        (&["--tol", "never"], "expected a positive number, or off"),
        (&["--tol", "0.1", "--method", "sgd"], "sgd cannot tell what remains"),
        (&["--precision", "0.1", "--method", "sgd"], "sgd cannot tell what remains"),
    ] {
        let told = refuses(place.path(), &[&LOGISTIC[..], &["--force"], more].concat());
        assert!(told.contains(words), "{more:?}: {told}");
    }
}

#[test]
fn a_fit_far_from_the_optimum_is_warned_of() {
    let place = place();
    for more in [&[][..], &["--quiet"], &["--json"]] {
        let told = |budget| {
            let output = sgq(place.path(), &[&LOGISTIC[..], &["--force", "--budget", budget], more].concat());
            assert!(output.status.success());
            text(&output.stderr)
        };
        let warning = told("1");
        assert!(warning.starts_with("warning: NOT CONVERGED: ") && warning.lines().count() == 1, "{more:?}: {warning}");
        assert_eq!(told("500"), "", "{more:?}");
    }
}

/// Of squares, whose least curvature is the constant `μ` of a proof: no penalty is needed.
const SQUARES: [&str; 8] = ["fit", "patients.csv", "--user", "hospital", "--target", "days", "--features", "age,ward"];

#[test]
fn a_proven_gap_ends_a_fit() {
    let place = place();
    let fit = |more: &[&str]| -> Value {
        let arguments = [&SQUARES[..], &["--json", "--quiet", "--force", "--out", "o"], more].concat();
        serde_json::from_str(&succeeds(place.path(), &arguments)).unwrap()
    };
    let model = fit(&["--certified-gap", "0.001"]);
    let proven = model["certified"].as_f64().unwrap();
    let gap = model["diagnostic"]["gap"].as_f64().unwrap();
    assert!(proven <= 1e-3 && gap <= proven && gap > 0.0, "{gap} {proven}");
    assert!(model["stop"].as_str().unwrap().starts_with("converged: a gap of at most "), "{}", model["stop"]);
    assert!(model["converged"] == true && model["settings"]["tolerance"].is_null() && model["uncertified"].is_null());
    assert!(model["settings"]["precision"].is_null());
    // A smaller one goes the same way, and further.
    let further = fit(&["--certified-gap", "0.00001"]);
    assert!(further["queries"].as_u64() > model["queries"].as_u64());
    let short = fit(&["--certified-gap", "1e-9", "--budget", "12"]);
    assert_eq!(short["converged"], false);
    for (more, words) in [
        (&["--certified-gap", "0"][..], "expected a positive number"),
        (&["--certified-gap", "1", "--method", "sgd"], "the method does not keep everybody's answer"),
    ] {
        let told = refuses(place.path(), &[&SQUARES[..], &["--force"], more].concat());
        assert!(told.contains(words), "{more:?}: {told}");
    }
    // The logistic loss may be flat, and so is the intercept, which has no penalty.
    for l2 in ["0", "0.01"] {
        let told = refuses(place.path(), &[&LOGISTIC[..], &["--force", "--certified-gap", "1", "--l2", l2]].concat());
        assert!(told.contains("a proof needs the constant μ of strong convexity"), "{told}");
    }
}

/// What `sgq certify` says of a fit that is done.
#[test]
fn a_fit_is_certified() {
    let place = place();
    let certified = |more: &[&str]| succeeds(place.path(), &[&["certify"], more].concat());
    let fit_days = |more: &[&str]| -> Value {
        let arguments = [&SQUARES[..], &["--json", "--quiet", "--force", "--out", "o"], more].concat();
        serde_json::from_str(&succeeds(place.path(), &arguments)).unwrap()
    };
    // Another loss than what is minimised could be certified, but not without constants: they are there where a proof is wanted.
    let model = fit_days(&["--certified-gap", "1e-9", "--budget", "20"]);
    for path in ["o", "o/model.json"] {
        let shown = certified(&[path]);
        for words in ["proven    a gap of ", "G²/2μ, with the constant μ = ", "believed  a gap of ", "measured  "] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(shown.contains("verdict   proven: the gap is at most "), "{shown}");
        assert!(shown.trim_end().ends_with("; it has not converged"), "{shown}");
    }
    let json: Value = serde_json::from_str(&certified(&["o", "--json"])).unwrap();
    assert_eq!((&json["proven"]["gap"], &json["believed"]), (&model["certified"], &model["remaining"]));
    assert_eq!((&json["queries"], &json["target"]), (&Value::from(20), &Value::from("days")));
    let [gap, bound, mu] = ["gap", "gradient_bound", "pl_constant"].map(|name| json["proven"][name].as_f64().unwrap());
    assert!((bound * bound / (2.0 * mu) / gap - 1.0).abs() < 1e-12);
    fit_days(&["--certified-gap", "0.001"]);
    assert!(certified(&["o", "-q"]).ends_with(", as was asked for\n"));
    let too_short = ["--certified-gap", "1e-9", "--budget", "2"];
    for (start, more, why) in [
        (SQUARES, &[][..], "no proof was asked for, and it needs constants of the data: fit with --certified-gap"),
        (
            LOGISTIC,
            &["--l2", "0.01"],
            "no proof was asked for, and it needs constants of the data: fit with --certified-gap",
        ),
        (SQUARES, &too_short, "not everybody was asked yet"),
        (LOGISTIC, &["--method", "saga", "--l2", "0.01"], "a proof needs the constant μ"),
        (SQUARES, &["--method", "sgd", "--budget", "20"], "the method does not keep everybody's answer"),
    ] {
        succeeds(place.path(), &[&start[..], &["--quiet", "--force", "--out", "o"], more].concat());
        let shown = certified(&["o"]);
        assert!(shown.contains(&format!("proven    nothing: {why}")), "{more:?}: {shown}");
        assert!(shown.contains("verdict   nothing is proven; "), "{more:?}: {shown}");
    }
    fs::create_dir(place.path().join("empty")).unwrap();
    fs::write(place.path().join("other.json"), "{}").unwrap();
    assert!(refuses(place.path(), &["certify", "empty"]).contains("cannot read the model"));
    assert!(refuses(place.path(), &["certify", "other.json"]).contains("is not a model of sgq fit"));
}
