//! CSV files that are refused, and what is said.

use std::fmt::Write as _;

use sgq::problem::Loss;
use sgq_data::csv::{Features, Options, from_reader};

use crate::gzip;

fn refused(text: &str, options: &Options) -> String {
    from_reader(text.as_bytes(), options).unwrap_err().to_string()
}

fn usual() -> Options {
    Options::new("user", "y")
}

fn only(names: &[&str]) -> Options {
    Options { features: Features::Only(names.iter().map(|name| (*name).to_owned()).collect()), ..usual() }
}

#[track_caller]
fn assert_refused(text: &str, options: &Options, expected: &str) {
    let message = refused(text, options);
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn names_that_are_not_there() {
    let text = "user,y,weight\n1,1,1\n";
    let unknown = r#"there is no column "usr"; did you mean "user"? (there are: "user", "y", "weight")"#;
    assert_eq!(refused(text, &Options::new("usr", "y")), unknown);
    assert_refused(text, &Options::new("user", "income"), r#"there is no column "income"; there are: "user", "y""#);
    assert_refused(text, &only(&["wieght"]), r#"there is no column "wieght"; did you mean "weight"?"#);
    let weight = Options { weight: Some("w".into()), ..usual() };
    assert_refused(text, &weight, r#"there is no column "w"; did you mean "y"?"#);
    let except = Options { features: Features::Except(vec!["z".into()]), ..usual() };
    assert_refused(text, &except, r#"there is no column "z""#);
}

#[test]
fn columns_used_twice_or_not_at_all() {
    let text = "user,y,x\n1,1,1\n";
    assert_refused(text, &Options::new("y", "y"), r#"column "y" is used as the user and as the target"#);
    assert_refused(text, &only(&["x", "user"]), r#"column "user" is used as the user and as a feature"#);
    assert_refused(text, &only(&["x", "x"]), r#"column "x" is used as a feature and as a feature"#);
    let weight = Options { weight: Some("y".into()), ..usual() };
    assert_refused(text, &weight, r#"column "y" is used as the target and as the weight"#);
    assert_refused("user,y\n1,1\n", &usual(), "no column is left for a feature");
    assert_refused(",user,y\n0,1,1\n", &usual(), "column 1 has no name: name it, or say which");
    assert_refused("user,y,x,x\n1,1,1,1\n", &usual(), "columns 3 and 4 are both named \"x\"");
}

#[test]
fn files_without_rows() {
    assert_refused("", &usual(), "the file is empty");
    assert_refused("\u{feff}", &usual(), "the file is empty");
    assert_refused("user,y,x\n", &usual(), "the file has a header and no rows");
}

#[test]
fn rows_that_are_broken() {
    assert_refused("user,y,x\n1,1,1\n2,2\n", &usual(), "line 3: 2 values, but the header names 3 columns");
    assert_refused("user,y,x\r\n1,1,\"a\r\nb\"\r\n2,2,3,4\r\n", &usual(), "line 4: 4 values");
    assert_refused("user,y,x\n1,1,a\n2,2,\"b\n3,3,c\n", &usual(), "line 3: a quote is opened and never closed");
    let latin = from_reader(&b"user,y,x\n1,1,caf\xe9\n2,2,a\n"[..], &usual()).unwrap_err();
    assert_eq!(latin.to_string(), "line 2: the text is not UTF-8: convert the file to it");
}

#[test]
fn missing_values() {
    let text = "user,y,x,z\n1,1,,a\n1,2,NA,.\n,3,1,b\n2,4,2,b\n";
    let message = "3 of 4 rows have missing values (\"user\": 1, \"x\": 2, \"z\": 1): fill them in, \
                   or have those rows left out";
    assert_eq!(refused(text, &usual()), message);
    let dropping = Options { drop_missing: true, ..usual() };
    assert_refused("user,y,x\n1,1,\n2,,1\n", &dropping, r#"every row has a missing value ("y": 1, "x": 1)"#);
}

#[test]
fn targets_that_the_loss_cannot_use() {
    let text = "user,y,x\n1,1,1\n1,two,2\n1,-3,3\n";
    assert_refused(text, &usual(), r#"line 3: the target "y" is "two", which is not a finite number"#);
    assert_refused("user,y,x\n1,inf,1\n", &usual(), r#"line 2: the target "y" is "inf""#);
    let logistic = Options { loss: Loss::Logistic, ..usual() };
    let three = r#"the target "y" has 3 levels, and a logistic loss needs 2: "-3", "1", "two""#;
    assert_eq!(refused(text, &logistic), three);
    let many: String = "user,y,x\n1,10,1\n1,9,2\n1,1e1,3\n1,11,4\n".into();
    assert!(refused(&many, &logistic).ends_with(r#"needs 2: "9", "10", "11""#));
    let poisson = Options { loss: Loss::Poisson, ..usual() };
    assert_refused("user,y,x\n1,1,1\n1,-3,2\n", &poisson, r#"line 3: the target "y" is -3: a count"#);
    for (loss, y) in [(Loss::Squares, "5"), (Loss::Logistic, "yes"), (Loss::Poisson, "2")] {
        let text = format!("user,y,x\n1,{y},1\n1,{y},2\n");
        let options = Options { loss, ..usual() };
        assert_refused(&text, &options, &format!("the target \"y\" is {y:?} in every row"));
    }
}

#[test]
fn weights_that_cannot_be() {
    let weighted = Options { weight: Some("w".into()), ..usual() };
    assert_refused("user,y,x,w\n1,1,1,1\n1,2,2,much\n", &weighted, r#"line 3: the weight "w" is "much""#);
    assert_refused("user,y,x,w\n1,1,1,-1\n", &weighted, r#"line 2: the weight "w" is -1: a weight is not negative"#);
    assert_refused("user,y,x,w\n1,1,1,1\nB,2,2,0\n", &weighted, r#"all weights of user "B" are 0"#);
}

#[test]
fn features_that_say_nothing_or_too_much() {
    let text = "user,y,x,c,k\n1,1,1,0.1,a\n1,2,2,0.1,a\n1,3,3,0.1,a\n";
    let message = r#"columns with the same value in every row say nothing: leave out "c", "k""#;
    assert_eq!(refused(text, &usual()), message);
    assert_eq!(refused(text, &Options { standardise: false, ..usual() }), message);
    assert_refused("user,y,x\n1,1,1e200\n1,2,-1e200\n", &usual(), r#"column "x" cannot be standardised"#);
    let mut text = String::from("user,y,x\n");
    for row in 0..1002 {
        writeln!(text, "1,{row},level {row}").unwrap();
    }
    let message = r#"column "x" has more than 1000 levels (line 1002 has one more: "level 1000")"#;
    assert_refused(&text, &usual(), message);
}

/// A slip of the pen in a column of numbers does not turn each of them into a level.
#[test]
fn columns_of_numbers_and_something_else() {
    let with = |rows: usize, at: usize, value: &str| {
        let x = |row: usize| if row == at { value.to_owned() } else { format!("{row}.5") };
        (0..rows).fold(String::from("user,y,x\n"), |text, row| format!("{text}1,{row},{}\n", x(row)))
    };
    for value in ["1O", "inf", "-Infinity", "1e400", "?"] {
        let message = format!(
            "column \"x\" has numbers in 29 rows and something else in 1: line 9 has {value:?}, which is not a finite \
             number; correct it, leave the column out, or declare that it has levels: factor(x) in the formula, or --factors x"
        );
        assert_eq!(refused(&with(30, 7, value), &usual()), message);
    }
    // The first row decides nothing, and neither do few of them.
    assert_refused(
        &with(2000, 0, "1O"),
        &usual(),
        r#"column "x" has numbers in 1999 rows and something else in 1: line 2"#,
    );
    assert_refused(
        &with(2, 1, "b"),
        &usual(),
        r#"column "x" has numbers in 1 rows and something else in 1: line 3 has "b""#,
    );
    assert_refused(&with(4, 2, r#""12,5""#), &usual(), r#"column "x" has decimal commas (line 4: "12,5")"#);
    assert_refused(
        "user,y,x\n1,1,\"1,5\"\n1,2,\"2,5\"\n",
        &usual(),
        r#"column "x" has decimal commas (line 2: "1,5")"#,
    );
    // Where the numbers are fewer, they are the slip.
    let words = "user,y,x\n1,1,a\n1,2,b\n1,3,7\n";
    let message = r#"column "x" has numbers in 1 rows and something else in 2: line 4 has "7", which is a number;"#;
    assert_refused(words, &usual(), message);
    let blanks = words.replace("y,x", "y,my x").replace(",b", ",8");
    assert!(refused(&blanks, &usual()).ends_with("factor(`my x`) in the formula, or --factors my x"));
    // What is declared is what it is declared to be.
    let declared = Options { factors: vec!["x".into()], ..usual() };
    assert_eq!(from_reader(words.as_bytes(), &declared).unwrap().column_names, ["intercept", "x=a", "x=b"]);
    assert!(from_reader(with(30, 7, "none").as_bytes(), &declared).is_ok());
    let wrong = Options { factors: vec!["z".into()], ..usual() };
    assert_refused(words, &wrong, r#"there is no column "z""#);
    let unused = Options { factors: vec!["user".into()], ..usual() };
    assert_refused(
        words,
        &unused,
        r#""user" is to be a factor (--factors), but is no column that is used; there are: "x""#,
    );
}

#[test]
fn gzip_that_is_cut_off_or_damaged() {
    let text: String = (0..500).map(|row| format!("{row},{},{}\n", row * 7 % 13, row * 31 % 17)).collect();
    let packed = gzip(&format!("user,y,x\n{text}"));
    assert!(from_reader(&packed[..], &usual()).is_ok());
    for length in [3, 12, packed.len() / 2, packed.len() - 1] {
        let error = from_reader(&packed[..length], &usual()).unwrap_err().to_string();
        assert_eq!(error, "the gzip data ends too early: the file is cut off; fetch it again");
    }
    let mut damaged = packed.clone();
    let check = damaged.len() - 6;
    damaged[check] ^= 1;
    let error = from_reader(&damaged[..], &usual()).unwrap_err().to_string();
    assert!(error.starts_with("the gzip data are damaged"), "{error}");
}
