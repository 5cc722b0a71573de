//! `sgq predict`.

use super::*;

#[test]
fn predictions_that_cannot_be_made_are_refused() {
    let place = place();
    fit(place.path(), &[]);
    let model = read_text(place.path().join("o/model.json"));
    let write = |name: &str, contents: &str| fs::write(place.path().join(name), contents).unwrap();
    for (file, contents, expected) in [
        ("level.csv", "age,ward\n40,east\n40,attic\n", "level.csv: line 3: \"ward\" is \"attic\", which was not among"),
        ("column.csv", "agee,ward\n40,east\n", "there is no column \"age\", which the predictions need; did you mean"),
        ("text.csv", "age,ward\nold,east\n", "line 2: \"age\" is \"old\""),
        ("empty.csv", "", "empty.csv: "),
    ] {
        write(file, contents);
        let error = refuses(place.path(), &["predict", "o/model.json", file, "--out", "p.csv"]);
        assert!(error.contains(expected), "{error}");
    }
    for (good, bad, expected) in [
        (
            "\"format\": 2",
            "\"format\": 1",
            "has format 1, written by sgq 0.1.0; this is sgq 0.1.0, which reads format 2",
        ),
        ("\"format\": 2", "\"fromat\": 2", "bad.json is not a model of sgq fit"),
        ("\"standardised\": ", "\"standardised\": \"x\", \"y\": ", "bad.json is damaged"),
        ("\"standardised\": [", "\"standardised\": [0.5, ", "it has 5 coefficients for 4 columns, intercept, age"),
        ("\"scale\": ", "\"scale\": -", "the scale of a column is not positive"),
        ("\"level\": 1", "\"level\": 9", "a column is made of variables or levels that are not there"),
        ("\"family\": \"binomial\"", "\"family\": \"poisson\"", "its target does not fit the family poisson"),
        ("\"family\": \"binomial\"", "\"family\": \"negbin\"", "lacks its theta"),
    ] {
        assert!(model.contains(good), "{good}");
        write("bad.json", &model.replacen(good, bad, 1));
        let error = refuses(place.path(), &["predict", "bad.json", "patients.csv", "--out", "p.csv"]);
        assert!(error.contains(expected), "{bad}: {error}");
    }
    write("cut.json", &model[..model.len() / 2]);
    let error = refuses(place.path(), &["predict", "cut.json", "patients.csv"]);
    assert!(error.contains("the model cut.json is damaged") && error.contains("fit it again"), "{error}");
    assert!(refuses(place.path(), &["predict", "no.json", "patients.csv"]).contains("cannot read the model no.json"));
    assert!(refuses(place.path(), &["predict", "o/model.json", "no.csv"]).contains("no.csv: cannot be read"));
    assert!(!place.path().join("p.csv").exists());
}

#[test]
fn rows_keep_their_names_and_gaps() {
    let place = place();
    let stdout_and_stderr = |place: &Path, arguments: &[&str]| {
        let output = sgq(place, arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    fit(place.path(), &[]);
    let rows = "id,age,ward\nb-7,40,east\n\"a, 1\",,east\nNA,55,NA\n";
    fs::write(place.path().join("new.csv"), rows).unwrap();
    let predict = ["predict", "o/model.json", "new.csv"];
    let (printed, note) = stdout_and_stderr(place.path(), &predict);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines[0], lines[2], lines[3]), ("row,prediction,probability of yes", "2,NA,NA", "3,NA,NA"));
    assert!(note.contains("2 of 3 rows have no prediction, since a value is missing"), "{note}");
    let named = [&predict[..], &["--id", "id"]].concat();
    let (printed, _) = stdout_and_stderr(place.path(), &named);
    let with_names: Vec<&str> = printed.lines().collect();
    assert_eq!(with_names[0], "row,id,prediction,probability of yes");
    assert_eq!(with_names[1], lines[1].replacen("1,", "1,b-7,", 1));
    assert_eq!(with_names[2..], ["2,\"a, 1\",NA,NA", "3,NA,NA,NA"]);
    let (json, _) = stdout_and_stderr(place.path(), &[&named[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["predictions"][1]["id"], "a, 1");
    assert!(json["predictions"][1]["prediction"].is_null() && json["predictions"][0]["probability"].is_f64());
    let error = refuses(place.path(), &[&predict[..], &["--id", "idd"]].concat());
    assert!(error.contains("there is no column \"idd\" to tell the rows by; did you mean \"id\"?"), "{error}");
    // A file of predictions may be replaced by one with names, and the other way round.
    for arguments in [&predict[..], &named, &predict] {
        let out = ["--out", "p.csv", "--force"];
        assert_eq!(stdout_and_stderr(place.path(), &[arguments, &out].concat()).0, "");
    }
    // The standard input.
    let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["predict", "o/model.json", "-"])
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), rows.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().collect::<Vec<_>>(), lines);
}
