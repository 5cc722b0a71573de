//! `sgq fit --ledger`: a fit whose every answer is on the disk.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use crate::{fit::patients, folder_with, read, refuses, sgq, succeeds, text};

const FIT: [&str; 9] =
    ["fit", "patients.csv", "--user", "hospital", "--target", "died", "--exclude", "days", "--quiet"];
const FILES: [&str; 3] = ["model.json", "queries.csv", "gap.csv"];

fn files(place: &Path, out: &str) -> [Vec<u8>; 3] {
    FILES.map(|name| read(place.join(out).join(name)))
}

/// The same files to the byte, whether the answers are kept or not.
#[test]
fn a_ledger_changes_nothing() {
    let place = folder_with("patients.csv", &patients());
    let place = place.path();
    for (name, more) in [
        ("frugal", &["--budget", "60"][..]),
        ("saga", &["--method", "saga", "--budget", "80", "--open", "3"]),
        ("hessians", &["--answers", "hessian"]),
        ("sgq", &["--method", "sgq", "--budget", "40", "--seed", "3"]),
    ] {
        let ledger = format!("{name}.sgq");
        let with = format!("{name}-with");
        succeeds(place, &[&FIT[..], &["--out", name], more].concat());
        succeeds(place, &[&FIT[..], &["--out", &with, "--ledger", &ledger], more].concat());
        assert_eq!(files(place, name), files(place, &with), "{name}");
        // Once more: nobody is asked again, and the files are the same.
        let before = succeeds(place, &["session", "history", &ledger]);
        succeeds(place, &[&FIT[..], &["--out", &with, "--force", "--ledger", &ledger], more].concat());
        assert_eq!(files(place, name), files(place, &with), "{name}");
        assert_eq!(succeeds(place, &["session", "history", &ledger]), before);
        assert!(succeeds(place, &["session", "verify", &ledger]).contains("is sound"));
    }
}

/// Killed in the middle, the same command goes on, and ends with the same bytes.
#[test]
fn a_fit_that_was_killed_goes_on() {
    let place = folder_with("patients.csv", &patients());
    let place = place.path();
    let more = ["--method", "saga", "--budget", "3000", "--open", "2"];
    succeeds(place, &[&FIT[..], &["--out", "whole"], &more].concat());
    let pieces = [&FIT[..], &["--out", "pieces", "--ledger", "study.sgq"], &more].concat();
    for time in [150, 300, 100] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
            .args(&pieces)
            .current_dir(place)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(time));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let output = sgq(place, &[&pieces[..], &["--force"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(files(place, "whole"), files(place, "pieces"));
}

#[test]
fn another_fit_is_named() {
    let place = folder_with("patients.csv", &patients());
    let place = place.path();
    let fit =
        |more: &[&'static str]| [&FIT[..], &["--out", "o", "--ledger", "study.sgq", "--budget", "30"], more].concat();
    succeeds(place, &fit(&[]));
    for (more, expected) in [
        (
            &["--method", "saga", "--force"][..],
            "study.sgq is of another fit: its method is frugal, and this one is saga",
        ),
        (&["--seed", "4", "--force"], "its seed is 0, and this one's 4"),
        (&["--tol", "1e-7", "--force"], "its tolerance is 0.0001, and this one's 1e-7"),
        (&["--l2", "0.5", "--force"], "is not that of these data with this --weigh and --l2"),
        (&["--weigh", "users", "--force"], "is not that of these data with this --weigh and --l2"),
        (&["--loss", "squares", "--target-gap", "0.1"], "--target-gap looks at the gap, which no user knows"),
    ] {
        let arguments: Vec<&str> = fit(more);
        let arguments: Vec<&str> = arguments.into_iter().collect();
        if more.contains(&"squares") {
            let days = ["fit", "patients.csv", "--user", "hospital", "--target", "days", "--out", "o", "--force"];
            let told = refuses(place, &[&days[..], &["--ledger", "study.sgq", "--target-gap", "0.1"]].concat());
            assert!(told.contains(expected), "{told}");
            continue;
        }
        let told = refuses(place, &arguments);
        assert!(told.contains(expected), "{more:?}: {told}");
    }
    // Another target begins at another null model.
    let changed = patients().replace(",yes,", ",maybe,").replace(",no,", ",yes,").replace(",maybe,", ",no,");
    fs::write(place.join("patients.csv"), changed).unwrap();
    let told = refuses(place, &fit(&["--force"]));
    assert!(told.contains("it begins elsewhere: its columns or its targets are others"), "{told}");
    // The same one, with another value in some row.
    fs::write(place.join("patients.csv"), patients().replacen(",north,", ",west,", 1)).unwrap();
    let told = refuses(place, &fit(&["--force"]));
    assert!(told.contains("its answer to question") && told.contains("is not that of these data"), "{told}");
    let told = refuses(place, &[&FIT[..], &["--ledger", "patients.csv", "--force"]].concat());
    assert!(told.contains("patients.csv is no ledger of sgq"), "{told}");
}
