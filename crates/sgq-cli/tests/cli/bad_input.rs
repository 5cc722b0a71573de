//! Mistakes: each one is named by file, line and key, with exit code 2, and nothing is written.

use std::fs;

use tempfile::tempdir;

use crate::{GOOD, folder_with, refuses, succeeds, summary};

#[test]
fn a_file_with_a_mistake_is_refused_by_file_line_and_key() {
    for (good, bad, expected) in [
        ("p = 0.3", "p = 1.3", "x.toml:16: `p` of method \"A\": p is 1.3: it must lie in [0, 1]"),
        ("p = 0.3", "pp = 0.3", "x.toml:16: unknown key `pp` in method \"A\"; did you mean \"p\"?"),
        ("p = 0.3", "bonus = -1", "x.toml:16: `bonus` of method \"A\": bonus is -1"),
        ("p = 0.3", "inner_steps = 3", "x.toml:16: unknown key `inner_steps` in method \"A\""),
        (
            "\"sgq\"\np = 0.3",
            "\"svrg\"\ninner_steps = 0",
            "x.toml:16: `inner_steps` of method \"A\": inner_steps is 0: it must be finite and at least 1",
        ),
        ("= 0.015", "= -0.015", "x.toml:4: `step_size`: the step size is -0.015: it must be positive and finite"),
        ("= 0.015", "= \"theorem\"", "x.toml:4: `step_size`: expected a number, \"auto\", \"theory\""),
        (
            "= 0.015",
            "= { initial = 0.1, rte = 1 }",
            "x.toml:4: unknown key `rte` in `step_size`; did you mean \"rate\"?",
        ),
        (
            "= 0.015",
            "= { initial = 0.1, rate = nan, root = true }",
            "x.toml:4: `step_size`: the decay rate of the step size is NaN: it must be finite and not negative",
        ),
        (
            "= 0.015",
            "= { initial = 0, rate = 1, root = true }",
            "x.toml:4: `step_size`: the step size is 0: it must be positive and finite",
        ),
        (
            "= 0.015",
            "= { initial = 0.1, rate = 1, root = 2 }",
            "x.toml:4: `root` of `step_size`: expected true or false",
        ),
        (
            "= 0.015",
            "= { initial = 0.1, root = true }",
            "x.toml:4: `step_size`: expected a number, \"auto\", \"theory\"",
        ),
        ("= 0.015", "= { size = 0.1 }", "x.toml:4: `step_size`: expected a number, \"auto\", \"theory\""),
        (
            "= 0.015",
            "= { initial = 0.1, rate = 1, fall = 1 }",
            "x.toml:4: `step_size`: expected a number, \"auto\", \"theory\"",
        ),
        (
            "= 0.015",
            "= { size = 0.1, warm_up = 3, fall = -1 }",
            "x.toml:4: `step_size`: the power by which the step size falls is -1: it must be finite and not negative",
        ),
        (
            "= 0.015",
            "= { size = 0.1, warm_up = 0 }",
            "x.toml:4: `step_size`: a step size that warms up within 0 steps is a constant",
        ),
        (
            "= 0.015",
            "= { size = 0.1, warm_up = 2.5 }",
            "x.toml:4: `warm_up` of `step_size`: expected a whole number of steps",
        ),
        (
            "= 0.015",
            "= { pieces = [[0, 0.1]], root = true }",
            "x.toml:4: `step_size`: expected a number, \"auto\", \"theory\"",
        ),
        ("p = 0.3", "open = 0", "x.toml:16: `open` of method \"A\": 0 is not between 1 and 1000000"),
        (
            "method = \"sgq\"\np = 0.3",
            "method = \"katyusha\"\nopen = 2",
            "x.toml:16: `open` of method \"A\": A needs every answer before it can ask the next question",
        ),
        (
            "method = \"sgq\"\np = 0.3",
            "choice = \"shuffled\"\nupdate = \"heavy-ball\"\nmomentum = 1",
            "x.toml:17: `momentum` of method \"A\": momentum is 1: it must lie in [0, 1)",
        ),
        (
            "= 0.015",
            "= { pieces = [[5, 0.1]] }",
            "x.toml:4: `step_size`: a piecewise step size needs pieces in rising order",
        ),
        ("step_size", "stepsize", "x.toml:4: unknown key `stepsize` in the experiment; did you mean \"step_size\"?"),
        ("step_size = 0.015\n", "", "x.toml:12: method \"A\" has no `step_size`"),
        (
            "\"sgq\"",
            "\"sqg\"",
            "x.toml:15: `method` of method \"A\": there is no method \"sqg\"; did you mean \"sgq\"?",
        ),
        (
            "method = \"sgq\"",
            "choice = \"unifrom\"\nupdate = \"sgd\"",
            "x.toml:15: `choice` of method \"A\": there is no choice \"unifrom\"; did you mean \"uniform\"?",
        ),
        (
            "method = \"sgq\"",
            "choice = \"uniform\"",
            "x.toml:13: a method needs either `method` alone, or both `choice` and `update`",
        ),
        (
            "start = 5",
            "start = [5, 1]",
            "x.toml:11: `start` of problem \"toy\": 2 coordinates, but the problem has dimension 1",
        ),
        ("start = 5", "start = inf", "x.toml:11: `start` of problem \"toy\": inf is not finite"),
        ("[2, -1]", "[2, -1, 0]", "x.toml:9: `curvature` of problem \"toy\": 2 users have a curvature but 3 a center"),
        ("[2, -1]", "[2, nan]", "x.toml:10: `center` of problem \"toy\": the center of user 1 is NaN"),
        ("[1, 1]", "[1, -1]", "x.toml:9: `curvature` of problem \"toy\": the curvature of user 1 is -1"),
        ("[1, 1]", "[]", "x.toml:9: `curvature` of problem \"toy\": 0 users have a curvature but 2 a center"),
        ("[1, 1]", "[1, \"one\"]", "x.toml:9: `curvature` of problem \"toy\": expected numbers"),
        (
            "[1, 1]",
            "[[[1], [1]], [[1]]]",
            "x.toml:9: `curvature` of problem \"toy\": the curvature of user 0 is not a square matrix: 2 rows",
        ),
        (
            "[1, 1]",
            "[[[1, 0, 0, 1]], [[1]]]",
            "x.toml:9: `curvature` of problem \"toy\": the curvature of user 0 is not",
        ),
        ("[1, 1]", "[0, 0]", "x.toml:9: `curvature` of problem \"toy\": every number is 0"),
        ("[1, 1]", "[1.7e308, 1]", "x.toml:9: `curvature` of problem \"toy\": the numbers are too large"),
        ("start = 5", "start = 1e200", "x.toml:11: `start` of problem \"toy\": the objective there is too large"),
        ("\"A\"", "\"\"", "x.toml:14: `name` of method \"\": a name is not empty"),
        ("\"A\"", "\"a\\tb\"", "x.toml:14: `name` of method \"a\\tb\": a name is not empty"),
        ("quadratic", "cubic", "x.toml:8: `kind` of problem \"toy\": there is no problem \"cubic\""),
        ("trials = 3", "trials = 0", "x.toml:3: `trials`: 0 is not between 1 and"),
        ("budget = 30", "budget = -30", "x.toml:2: `budget`: expected a whole number"),
        ("budget = 30\n", "", "x.toml:1: the experiment has no `budget`"),
        ("budget = 30", "targets = [1, 0]\nbudget = 30", "x.toml:2: `targets`: every gap must be positive"),
        ("budget = 30", "gap_axis = [1, 0.1]\nbudget = 30", "x.toml:2: `gap_axis`: expected [low, high]"),
        ("[[method]]", "[method]", "x.toml:13: `method`: write each one under a heading [[method]]"),
        (
            "[[method]]",
            "[[method]]\nmethod = \"sgd\"\nname = \"A\"\n[[method]]",
            "`name` of method \"A\": the name \"A\" is taken",
        ),
        ("name = \"t\"", "name = t", "x.toml:1: "),
        ("name = \"t\"", "name = \"t", "x.toml:1: "),
        ("name = \"toy\"", "name = 3", "x.toml:7: `name` of problem number 1: expected a text"),
    ] {
        assert!(GOOD.contains(good));
        let place = folder_with("x.toml", &GOOD.replacen(good, bad, 1));
        let error = refuses(place.path(), &["run", "x.toml"]);
        assert!(error.contains(expected), "{bad}: {error}");
        assert!(!place.path().join("out").exists(), "nothing is written for a bad file");
    }
    // The message shows the line itself.
    let place = folder_with("x.toml", &GOOD.replace("p = 0.3", "p = 1.3"));
    assert!(refuses(place.path(), &["run", "x.toml"]).contains("16 | p = 1.3"));
}

#[test]
fn the_theory_step_is_refused_where_no_theorem_gives_one() {
    let file = GOOD.replace("0.015", "\"theory\"").replace("\"sgq\"", "\"saga-sgq\"");
    let place = folder_with("x.toml", &file);
    let error = refuses(place.path(), &["run", "x.toml"]);
    assert!(error.contains("x.toml:4: `step_size`: no theorem bounds the step size of A"), "{error}");
    let place = folder_with("x.toml", &GOOD.replace("0.015", "\"theory\""));
    succeeds(place.path(), &["run", "x.toml"]);
    let settings = &summary(&place.path().join("out/t"))["experiments"][0]["results"][0]["settings"];
    // n = 2, L = L_max = 2, p = 0.3: the third term of Theorem 2's minimum.
    let expected = 0.3 / (96.0 * 2.0 * 4.0) / 0.7;
    assert!((settings["step_size"]["theory"].as_f64().unwrap() - expected).abs() < 1e-15);
}

#[test]
fn files_and_folders_that_are_not_there_are_named() {
    let place = folder_with("x.toml", GOOD);
    assert!(refuses(place.path(), &["run", "y.toml"]).contains("cannot read the experiment y.toml"));
    let error = refuses(place.path(), &["run", "x.toml", "--out", "x.toml/below"]);
    assert!(error.contains("cannot write to the folder x.toml/below"), "{error}");
    fs::write(place.path().join("latin.toml"), b"name = \"\xe9\"").unwrap();
    assert!(refuses(place.path(), &["run", "latin.toml"]).contains("UTF-8"));
}

#[test]
fn options_are_checked() {
    let place = tempdir().unwrap();
    for arguments in [
        &["reproduce", "fig3"][..],
        &["reproduce", "--trials", "0"],
        &["reproduce", "--queries", "-4"],
        &["reproduce", "--threads", "0"],
        &["reproduce", "--sed", "3"],
        &["rnu"],
        &["run"],
    ] {
        refuses(place.path(), arguments);
    }
    assert!(refuses(place.path(), &["methdos"]).contains("methods"));
}
