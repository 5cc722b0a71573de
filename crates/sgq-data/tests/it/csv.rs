//! CSV files that can be read: every number by hand.

use std::fs;

use sgq::problem::Loss;
use sgq_data::{
    Dataset, Target,
    csv::{Features, Options, from_reader, read},
};

use crate::{assert_close, dense, gzip};

/// Two numbers and a column of three levels, one of which looks like a number, so that it is declared; users out of order.
const TEXT: &str = "\
town,age,colour,income,votes
Rome,1,red,10,0
Oslo,2,blue,20,1
Rome,3,7,30,1
Oslo,6,red,60,0
";

fn loaded(text: &str, options: &Options) -> Dataset {
    from_reader(text.as_bytes(), options).unwrap()
}

fn plain() -> Options {
    Options { standardise: false, factors: names(&["colour"]), ..Options::new("town", "income") }
}

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn rows_are_grouped_and_levels_have_columns() {
    let data = loaded(TEXT, &plain());
    assert_eq!(data.user_names, ["Oslo", "Rome"]);
    assert_eq!(data.blocks, [0, 2, 4]);
    assert_eq!(data.column_names, ["intercept", "age", "colour=blue", "colour=red", "votes"]);
    let expected =
        [[1.0, 2.0, 1.0, 0.0, 1.0], [1.0, 6.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0, 0.0], [1.0, 3.0, 0.0, 0.0, 1.0]];
    assert_eq!(dense(&data.rows), expected);
    assert_eq!(data.targets, [20.0, 60.0, 10.0, 30.0]);
    assert_eq!(data.weights, [1.0; 4]);
    assert_eq!((data.dropped_rows, data.rows_total), (0, 4));
}

#[test]
fn standardised_columns_have_mean_zero_and_sample_deviation_one() {
    let data = loaded(TEXT, &Options { standardise: true, ..plain() });
    let rows = dense(&data.rows);
    for column in 1..data.column_names.len() {
        let values: Vec<f64> = rows.iter().map(|row| row[column]).collect();
        let squares: f64 = values.iter().map(|value| value * value).sum();
        assert_close(&[values.iter().sum(), squares / 3.0], &[0.0, 1.0]);
    }
    // By hand: ages 2, 6, 1, 3 have mean 3 and sample variance 14/3; incomes 20, 60, 10, 30 mean 30 and variance 350.
    let age: Vec<f64> = rows.iter().map(|row| row[1]).collect();
    let sd = (14.0f64 / 3.0).sqrt();
    assert_close(&age, &[-1.0 / sd, 3.0 / sd, -2.0 / sd, 0.0]);
    // One blue among four: mean 1/4, sample variance 1/4.
    assert_close(&[rows[0][2], rows[1][2]], &[1.5, -0.5]);
    let sd = 350f64.sqrt();
    assert_close(&data.targets, &[-10.0 / sd, 30.0 / sd, -20.0 / sd, 0.0]);
}

#[test]
fn features_can_be_named_or_left_out() {
    let plain = || Options { factors: Vec::new(), ..plain() };
    let only = Options { features: Features::Only(names(&["votes", "age"])), ..plain() };
    assert_eq!(loaded(TEXT, &only).column_names, ["intercept", "votes", "age"]);
    let except = Options { features: Features::Except(names(&["colour", "votes"])), ..plain() };
    assert_eq!(loaded(TEXT, &except).column_names, ["intercept", "age"]);
}

#[test]
fn logistic_targets_are_plus_for_the_last_level() {
    let logistic = |text: &str| {
        let options = Options { loss: Loss::Logistic, standardise: false, ..Options::new("u", "y") };
        let data = loaded(text, &options);
        (data.targets, data.target)
    };
    let levels = |negative: &str, positive: &str| Target::Levels {
        negative: negative.to_owned(),
        positive: positive.to_owned(),
    };
    assert_eq!(logistic("u,x,y\n1,1,yes\n1,2,no\n"), (vec![1.0, -1.0], levels("no", "yes")));
    // As numbers 10 is past 9, and 9.0 is 9; as text neither.
    assert_eq!(logistic("u,x,y\n1,1,9\n1,2,10\n1,4,9.0"), (vec![-1.0, 1.0, -1.0], levels("9", "10")));
    assert_eq!(logistic("u,x,y\n1,1,9\n1,2,10x\n"), (vec![1.0, -1.0], levels("10x", "9")));
}

#[test]
fn counts_stay_as_they_are() {
    let options = Options { loss: Loss::Poisson, ..Options::new("u", "y") };
    let data = loaded("u,x,y\n1,1,0\n1,2,12\n", &options);
    assert_eq!((data.targets, data.target), (vec![0.0, 12.0], Target::Count));
}

#[test]
fn rows_with_missing_values_can_be_dropped() {
    // Only used columns count, and only rows that are kept say what a column is.
    let text = "u,x,z,y,unused\n1,1,a,1,\nNA,2,b,2,1\n2,oops,b,NaN,1\n2,3,n/a,3,1\n2,4,b,5,1\n";
    let features = Features::Except(names(&["unused"]));
    let data = loaded(text, &Options { drop_missing: true, features, standardise: false, ..Options::new("u", "y") });
    assert_eq!((data.dropped_rows, data.rows_total), (3, 5));
    let missing = [("u", 1), ("z", 1), ("y", 1)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(data.missing_by_column, missing);
    assert_eq!(data.column_names, ["intercept", "x", "z=b"]);
    assert_eq!(dense(&data.rows), [[1.0, 1.0, 0.0], [1.0, 4.0, 1.0]]);
    assert_eq!(data.user_names, ["1", "2"]);
}

#[test]
fn whole_numbers_order_users_and_one_user_is_enough() {
    let data = loaded("u,x,y\n10,1,1\n9,2,2\n10,3,4\n", &Options::new("u", "y"));
    assert_eq!((data.user_names, data.blocks), (names(&["9", "10"]), vec![0, 1, 3]));
    let data = loaded("u,x,y\nme,1,1\nme,2,2\n", &Options::new("u", "y"));
    assert_eq!((data.users(), data.blocks), (1, vec![0, 2]));
}

#[test]
fn weights_come_along() {
    let options = Options { weight: Some("w".into()), ..Options::new("u", "y") };
    let data = loaded("u,w,x,y\n2,0.5,1,1\n1,3,2,2\n2,0,5,4\n", &options);
    assert_eq!(data.weights, [3.0, 0.5, 0.0]);
    assert_eq!(data.column_names, ["intercept", "x"]);
    assert!(data.regression(Loss::Squares, 0.1).is_ok());
}

/// However it is written, it is the same table.
#[test]
fn the_way_it_is_written_does_not_matter() {
    let expected = loaded(TEXT, &plain());
    let variants = [
        format!("\u{feff}{TEXT}"),
        TEXT.replace('\n', "\r\n"),
        TEXT.replace(',', ";"),
        TEXT.replace(',', "\t"),
        TEXT.replace(',', " , "),
        TEXT.replace("red", "\"red\"").replace("town", "\"town\""),
        TEXT.trim_end().to_owned(),
    ];
    for variant in &variants {
        assert_eq!(loaded(variant, &plain()), expected, "{variant:?}");
    }
    assert_eq!(from_reader(&gzip(TEXT)[..], &plain()).unwrap(), expected);
    // Two members one after the other are one file.
    let (head, tail) = TEXT.split_at(40);
    assert_eq!(from_reader(&[gzip(head), gzip(tail)].concat()[..], &plain()).unwrap(), expected);
    let pipes = from_reader(TEXT.replace(',', "|").as_bytes(), &Options { delimiter: Some(b'|'), ..plain() }).unwrap();
    assert_eq!(dense(&pipes.rows), dense(&expected.rows));
}

#[test]
fn files_are_read_by_their_first_bytes_not_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let expected = loaded(TEXT, &plain());
    for (name, bytes) in [("a.csv", TEXT.as_bytes().to_vec()), ("b.csv", gzip(TEXT)), ("c.gz", TEXT.into())] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        assert_eq!(read(&path, &plain()).unwrap(), expected);
    }
    let error = read(folder.path().join("none.csv"), &plain()).unwrap_err().to_string();
    assert!(error.contains("none.csv: cannot be read: "), "{error}");
}

#[test]
fn a_loss_that_does_not_fit_is_refused() {
    let data = loaded(TEXT, &plain());
    assert!(data.regression(Loss::Huber { delta: 1.0 }, 0.1).is_ok());
    let error = data.regression(Loss::Logistic, 0.1).unwrap_err().to_string();
    assert!(error.starts_with("the targets were read as numbers, which does not fit the loss Logistic"), "{error}");
}
