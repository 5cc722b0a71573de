//! LIBSVM files, good and bad.

use sgq::{
    Problem as _,
    problem::{Loss, Rows},
};
use sgq_data::{
    Dataset, Target, csv,
    libsvm::{Options, Users, from_reader},
};

use crate::{dense, gzip};

fn usual() -> Options {
    Options { intercept: false, ..Options::new(Users::EachRow) }
}

fn loaded(text: &str, options: &Options) -> Dataset {
    from_reader(text.as_bytes(), options).unwrap()
}

#[track_caller]
fn assert_refused(text: &str, options: &Options, expected: &str) {
    let message = from_reader(text.as_bytes(), options).unwrap_err().to_string();
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn indices_count_from_one_unless_there_is_a_zero() {
    let from_one = loaded("# a comment\n1 1:0.5 3:-2e1 # more\r\n\n2\t4:+1\n3\n", &usual());
    let expected = [[0.5, 0.0, -20.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0; 4]];
    assert_eq!(dense(&from_one.rows), expected);
    assert_eq!(from_one.column_names, ["1", "2", "3", "4"]);
    assert_eq!(from_one.targets, [1.0, 2.0, 3.0]);
    let from_zero = loaded("1 1:0.5 2:3\n2 0:7\n3", &usual());
    assert_eq!(dense(&from_zero.rows), [[0.0, 0.5, 3.0], [7.0, 0.0, 0.0], [0.0; 3]]);
    assert_eq!(from_zero.column_names, ["0", "1", "2"]);
    // Zeros are not stored, and their indices count.
    let zeros = loaded("1 1:2 5:0\n2 2:1\n", &usual());
    let Rows::Sparse { dim, starts, columns, values } = zeros.rows else { panic!("sparse") };
    assert_eq!((dim, starts, columns, values), (5, vec![0, 1, 2], vec![0, 1], vec![2.0, 1.0]));
}

#[test]
fn an_intercept_goes_first() {
    let with = Options { intercept: true, ..usual() };
    let from_one = loaded("1 1:5\n2 2:6\n3\n", &with);
    assert_eq!(dense(&from_one.rows), [[1.0, 5.0, 0.0], [1.0, 0.0, 6.0], [1.0, 0.0, 0.0]]);
    let from_zero = loaded("1 0:5\n2 1:6\n3\n", &with);
    assert_eq!(dense(&from_zero.rows), dense(&from_one.rows));
    assert_eq!(from_zero.column_names, ["intercept", "0", "1"]);
}

#[test]
fn two_labels_are_levels_and_others_numbers() {
    let target = |text: &str, loss: Option<Loss>| {
        let data = loaded(text, &Options { loss, ..usual() });
        (data.targets, data.target)
    };
    let levels = Target::Levels { negative: "0".into(), positive: "1".into() };
    let two = "1 1:1\n0 1:2\n1 1:3\n";
    assert_eq!(target(two, None), (vec![1.0, -1.0, 1.0], levels.clone()));
    assert_eq!(target(two, Some(Loss::Logistic)).1, levels);
    assert_eq!(target(two, Some(Loss::Squares)).0, [1.0, 0.0, 1.0]);
    assert_eq!(target(two, Some(Loss::Poisson)), (vec![1.0, 0.0, 1.0], Target::Count));
    let (targets, kind) = target("1 1:1\n2 1:2\n3.5 1:3\n", None);
    assert!(matches!(kind, Target::Number(_)));
    assert_eq!(targets, [1.0, 2.0, 3.5]);
    let logistic = Options { loss: Some(Loss::Logistic), ..usual() };
    assert_refused(
        "1 1:1\n2 1:1\n3 1:1\n",
        &logistic,
        "a logistic loss needs two different labels, and there are more",
    );
    assert_refused("1 1:1\n1 1:2\n", &logistic, "a logistic loss needs two different labels, and every one is 1");
    let poisson = Options { loss: Some(Loss::Poisson), ..usual() };
    assert_refused("1 1:1\n-1 1:1\n", &poisson, "a label is -1: a count is not negative");
}

#[test]
fn malformed_lines_are_named() {
    let qid = Options { users: Users::Qid, ..usual() };
    for (text, expected) in [
        ("", "the file has no rows"),
        ("# nothing\n\n", "the file has no rows"),
        ("1\n2\n", "no row has a feature"),
        ("1 1:1\n\nyes 1:1\n", "line 3: the label is \"yes\""),
        ("nan 1:1\n", "line 1: the label is \"nan\""),
        ("1 1:1\n1 2\n", "line 2: \"2\" is not `index:value`"),
        ("1 1:1\n1 2:\n", "line 2: the value of \"2:\" is not a finite number: the line is malformed, or cut off"),
        ("1 1:x\n", "line 1: the value of \"1:x\""),
        ("1 1:inf\n", "line 1: the value of \"1:inf\""),
        ("1 -1:1\n", "line 1: the index of \"-1:1\" is not a whole number"),
        ("1 :1\n", "line 1: the index of \":1\""),
        (
            "1 99999999999999999999:1\n",
            "line 1: the index of \"99999999999999999999:1\" is not a whole number up to 16777216",
        ),
        ("1 1:1:1\n", "line 1: the value of \"1:1:1\""),
        ("1 3:1 2:1\n", "line 1: the index 2 comes after 3"),
        ("1 2:1 2:1\n", "line 1: the index 2 comes after 2"),
        ("1 1:1 qid:3\n", "line 1: the index of \"qid:3\""),
    ] {
        assert_refused(text, &usual(), expected);
    }
    assert_refused("1 qid:1 1:1\n1 1:1\n", &qid, "line 2: there is no `qid:N` after the label");
    assert_refused("1 qid:a 1:1\n", &qid, "line 1: \"qid:a\" is not `qid:N`");
    let binary = from_reader(&b"1 1:1\n\xff\xfe 1:1\n"[..], &usual()).unwrap_err().to_string();
    assert!(binary.starts_with("line 2: the label is"), "{binary}");
}

#[test]
fn gzip_is_read_and_must_be_whole() {
    let text: String = (0..300).map(|row| format!("{} 1:{row} 2:{}\n", row % 7, row * 37 % 101)).collect();
    let packed = gzip(&text);
    assert_eq!(from_reader(&packed[..], &usual()).unwrap(), loaded(&text, &usual()));
    for length in [5, packed.len() / 2, packed.len() - 1] {
        let error = from_reader(&packed[..length], &usual()).unwrap_err().to_string();
        assert_eq!(error, "the gzip data ends too early: the file is cut off; fetch it again");
    }
}

/// The same data, once sparse and once as a table, make the same problem.
#[test]
fn both_readers_agree() {
    let (mut sparse, mut table) = (String::new(), String::from("user,a,b,c,y\n"));
    for row in 0..30u32 {
        let (user, a, b, c) = (row % 3, row % 5, row * 7 % 4, row * 11 % 9);
        let y = (row * 13 % 7) as f64 / 2.0;
        sparse += &format!("{y} qid:{user} 1:{a} 2:{b} 3:{c}\n");
        table += &format!("{user},{a},{b},{c},{y}\n");
    }
    let sparse = loaded(&sparse, &Options { loss: Some(Loss::Squares), ..Options::new(Users::Qid) });
    let options = csv::Options { standardise: false, ..csv::Options::new("user", "y") };
    let table = csv::from_reader(table.as_bytes(), &options).unwrap();
    assert_eq!(dense(&sparse.rows), dense(&table.rows));
    assert_eq!(
        (&sparse.targets, &sparse.blocks, &sparse.user_names),
        (&table.targets, &table.blocks, &table.user_names)
    );
    let values = [&sparse, &table].map(|data| data.regression(Loss::Squares, 0.1).unwrap().optimum().unwrap().value);
    assert!((values[0] - values[1]).abs() < 1e-12);
}
