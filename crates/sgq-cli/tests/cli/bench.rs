//! `sgq bench choose`: what it measures, and what it refuses.

use serde_json::Value;
use tempfile::tempdir;

use crate::{refuses, sgq, succeeds, text};

fn measured(arguments: &[&str]) -> Value {
    let place = tempdir().unwrap();
    let stdout = succeeds(place.path(), &[&["bench", "choose", "--json"], arguments].concat());
    serde_json::from_str(&stdout).unwrap()
}

const SMALL: [&str; 6] = ["--users", "60", "--dim", "7", "--steps", "300"];

#[test]
fn both_searches_agree_and_everything_is_measured() {
    for method in ["sgq", "saga-sgq"] {
        for (explore, bonus_weight) in [("0", "1"), ("0.3", "1"), ("0", "0"), ("0", "0.1")] {
            let options = ["--method", method, "--explore", explore, "--bonus-weight", bonus_weight];
            let it = measured(&[&SMALL[..], &options].concat());
            for (key, expected) in [
                ("users", Value::from(60)),
                ("dim", 7.into()),
                ("steps", 300.into()),
                ("agree", true.into()),
                ("compared", 300.into()),
                ("averaged_from_step", 100.into()),
                ("method", method.into()),
                ("seed", 0.into()),
                ("table", "f64".into()),
                ("table_bytes", (60 * 7 * 8).into()),
                ("disagreement", Value::Null),
                ("ended_early", Value::Null),
            ] {
                assert_eq!(it[key], expected, "{key}: {it}");
            }
            for key in ["naive_us_per_step", "lazy_us_per_step", "ratio", "shared_us_per_step", "first_choice_us"] {
                assert!(it[key].as_f64().unwrap() > 0.0, "{key}: {it}");
            }
            for key in ["naive_us_per_step", "lazy_us_per_step", "ratio", "rows_read", "distinct_points"] {
                assert!(it["medians"][key].as_f64().unwrap() > 0.0, "{key}: {it}");
            }
            let rows_read = it["rows_read_mean"].as_f64().unwrap();
            let distinct_points = it["distinct_points_mean"].as_f64().unwrap();
            assert!((1.0..=60.0).contains(&distinct_points) && rows_read > 0.0 && rows_read <= 60.0, "{it}");
            assert_eq!(it["explored"].as_u64().unwrap() > 0, explore != "0");
            assert!(it["gap_at_end"].as_f64().unwrap() < it["gap_at_start"].as_f64().unwrap(), "{it}");
            assert_eq!(it["peak_rss_bytes"].is_u64(), cfg!(target_os = "linux"), "{it}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let without_times = |seed: &str| {
        let mut it = measured(&[&SMALL[..], &["--seed", seed, "--explore", "0.2"]].concat());
        let keys = it.as_object_mut().unwrap();
        keys.retain(|key, _| !key.ends_with("_us_per_step") && key != "seed");
        for key in ["ratio", "first_choice_us", "first_sweep_seconds", "peak_rss_bytes"] {
            assert!(keys.remove(key).is_some(), "{key}");
        }
        keys["medians"].as_object_mut().unwrap().retain(|key, _| !key.ends_with("_us_per_step") && key != "ratio");
        it
    };
    assert_eq!(without_times("5"), without_times("5"));
    assert_ne!(without_times("5"), without_times("6"));
}

#[test]
fn the_naive_scan_can_be_left_out() {
    let it = measured(&[&SMALL[..], &["--naive-every", "50"]].concat());
    assert_eq!((&it["compared"], &it["agree"]), (&6.into(), &true.into()));
    assert!(it["naive_us_per_step"].is_f64());
    let it = measured(&[&SMALL[..], &["--naive-every", "0"]].concat());
    assert_eq!((&it["compared"], &it["agree"], &it["ratio"]), (&0.into(), &Value::Null, &Value::Null));
    assert!(it["lazy_us_per_step"].is_f64());
}

#[test]
fn short_runs_and_single_users_are_measured_too() {
    for sizes in [["1", "1", "1"], ["1", "3", "20"], ["5", "1", "200"], ["300", "17", "2"]] {
        let it = measured(&["--users", sizes[0], "--dim", sizes[1], "--steps", sizes[2]]);
        assert_eq!((&it["agree"], &it["averaged_from_step"]), (&true.into(), &0.into()), "{it}");
    }
}

#[test]
fn a_person_reads_a_table() {
    let place = tempdir().unwrap();
    let arguments = [&["bench", "choose"], &SMALL[..]].concat();
    let stdout = succeeds(place.path(), &arguments);
    for expected in [
        "\n  3.36 kB in memory: 60 users × 7 parameters in f64, and up to 3.36 kB for the points\n",
        "naive / lazy\n",
        "\n  a step, mean  ",
        "\n  rows read a step                  60",
        "\n  All 300 choices that were compared agree. Means and medians are from step 100 on.\n",
    ] {
        assert!(stdout.contains(expected), "{expected}: {stdout}");
    }
    assert_eq!(succeeds(place.path(), &[&arguments[..], &["--quiet"]].concat()), "");
    let help = succeeds(place.path(), &["bench", "--help"]);
    assert!(help.contains("Examples:\n  sgq bench choose "), "{help}");
    let help = succeeds(place.path(), &["bench", "choose", "--help"]);
    assert!(help.contains("Examples:\n  sgq bench choose ") && help.contains("--naive-every <K>"), "{help}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = tempdir().unwrap();
    for (option, value, expected) in [
        ("--users", "0", "invalid value '0' for '--users <N>'"),
        ("--dim", "0", "invalid value '0' for '--dim <D>'"),
        ("--steps", "0", "invalid value '0' for '--steps <T>'"),
        ("--explore", "1.5", "p is 1.5: it must lie in [0, 1]"),
        ("--explore", "-0.5", "p is -0.5: it must lie in [0, 1]"),
        ("--explore", "NaN", "p is NaN: it must lie in [0, 1]"),
        ("--bonus-weight", "-1", "bonus is -1: it must be finite and at least 0"),
        ("--step-size", "NaN", "the step size is NaN: it must be positive and finite"),
        ("--step-size", "-0.1", "the step size is -0.1: it must be positive and finite"),
        ("--step-size", "inf", "the step size is inf: it must be positive and finite"),
        ("--users", "18446744073709551615", "more than this machine can address"),
        ("--method", "sgd", "invalid value 'sgd' for '--method <METHOD>'"),
    ] {
        let message = refuses(place.path(), &["bench", "choose", option, value]);
        assert!(message.contains(expected), "{message}");
    }
    let message = refuses(place.path(), &["bench", "choose", "--users", "100000000", "--dim", "1000000"]);
    assert!(message.contains("does not fit (800 TB in a file in ") && message.contains("keep it in f32"), "{message}");
    let message = refuses(place.path(), &["bench", "choose", "--table", "f32", "--table-folder", "missing"]);
    assert!(message.contains("cannot be kept in a file in missing: "), "{message}");
}

#[test]
fn a_run_that_diverges_says_so() {
    let place = tempdir().unwrap();
    let output = sgq(place.path(), &["bench", "choose", "--users", "9", "--dim", "2", "--step-size", "1e6", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: the run diverged after "), "{}", text(&output.stderr));
    let it: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(it["ended_early"], "diverged");
}

#[cfg(unix)]
#[test]
fn ctrl_c_shows_what_was_measured() {
    use std::{
        io::{BufRead, BufReader, Read},
        process::{Command, Stdio},
        thread::sleep,
        time::Duration,
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["bench", "choose", "--users", "50", "--dim", "2", "--steps", "10000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    // What is about to be measured is said once an interrupt is listened to.
    let mut announcement = String::new();
    while !announcement.contains("users") {
        assert!(stdout.read_line(&mut announcement).unwrap() > 0, "it ended by itself");
    }
    sleep(Duration::from_millis(500));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let mut table = String::new();
    stdout.read_to_string(&mut table).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.starts_with("interrupted: ") && stderr.contains(" of 10000000 steps were measured"), "{stderr}");
    assert!(table.contains("a step, mean") && table.contains("choices that were compared agree."), "{table}");
}
