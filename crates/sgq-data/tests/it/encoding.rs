//! What is done with an encoding: both scales, offsets, other files, and reading it back.

use sgq::{Problem as _, Random, problem::Loss};
use sgq_data::{
    Dataset, Encoding, Scaling, Target,
    csv::{Options, from_reader},
};

use crate::{assert_close, dense};

/// Rows of three sites, with a number, factors of two and of three levels, a time and three targets.
fn table() -> String {
    let mut random = Random::new(8, "encoding");
    let mut text = String::from("site,x,sex,kind,days,events,died,cost,w\n");
    for row in 0..60 {
        let (sex, kind) = (["m", "f"][random.index(2)], ["a", "b", "c"][random.index(3)]);
        let (x, days) = (10.0 + 3.0 * random.unit(), 1.0 + 9.0 * random.unit());
        let (events, died) = (random.index(5), ["no", "yes"][random.index(2)]);
        let (cost, weight) = (100.0 + 20.0 * random.unit(), 0.5 + random.unit());
        text += &format!("S{},{x},{sex},{kind},{days},{events},{died},{cost},{weight}\n", row % 3);
    }
    text
}

fn read(formula: &str, loss: Loss, change: impl FnOnce(&mut Options)) -> Dataset {
    let mut options = Options { loss, ..Options::with_formula("site", formula.parse().unwrap()) };
    change(&mut options);
    from_reader(table().as_bytes(), &options).unwrap()
}

const FORMULAS: [(&str, Loss); 5] = [
    ("log(cost) ~ x * sex + x:kind + log(days)", Loss::Squares),
    ("cost ~ 0 + x + kind + I(x^2):sex", Loss::Squares),
    ("died ~ (x + sex + kind)^2", Loss::Logistic),
    ("events ~ -1 + kind * x", Loss::Poisson),
    ("cost ~ x + offset(3 * days) + offset(x)", Loss::Huber { delta: 1.0 }),
];

fn random_vector(random: &mut Random, length: usize) -> Vec<f64> {
    (0..length).map(|_| random.unit() - 0.5).collect()
}

/// The scaled columns with the scaled coefficients, and the file's own columns with the others: the same.
#[test]
fn both_scales_say_the_same() {
    let mut random = Random::new(1, "both scales");
    for (formula, loss) in FORMULAS {
        let data = read(formula, loss, |_| {});
        let raw = read(formula, loss, |options| options.standardise = false);
        let encoding = data.encoding.as_ref().unwrap();
        let scaled = random_vector(&mut random, encoding.dim());
        let original = encoding.on_original_scale(&scaled).unwrap();
        for row in 0..data.targets.len() {
            let raw = raw.rows.dot(row, &original);
            let scaled = data.rows.dot(row, &scaled);
            let expected = match data.target {
                Target::Number(scaling) => scaling.mean + scaling.scale * scaled,
                _ => scaled,
            };
            assert_close(&[raw], &[expected]);
        }
        assert_close(&encoding.original_scale().coefficients(&scaled), &original);
    }
}

#[test]
fn another_file_is_encoded_in_the_same_way() {
    let text = table();
    for (formula, loss) in FORMULAS {
        let data = read(formula, loss, |options| options.weight = Some("w".into()));
        let encoding = data.encoding.as_ref().unwrap();
        // The rows of one site alone, without the column that says so, in another order of columns.
        for (user, name) in data.user_names.iter().enumerate() {
            let own = text.lines().filter(|line| line.starts_with(&**name)).map(|line| {
                let mut values: Vec<&str> = line.split(',').skip(1).collect();
                values.reverse();
                values.join(",") + "\n"
            });
            let own = "w,cost,died,events,days,kind,sex,x\n".to_owned() + &own.collect::<String>();
            let encoded = encoding.encode(own.as_bytes(), name, false).unwrap();
            let block = data.blocks[user]..data.blocks[user + 1];
            assert_eq!(dense(&encoded.rows), dense(&data.rows)[block.clone()]);
            assert_eq!(encoded.targets, data.targets[block.clone()]);
            assert_eq!(encoded.weights, data.weights[block.clone()]);
            assert_eq!(encoded.offsets.as_deref(), data.offsets.as_ref().map(|offsets| &offsets[block.clone()]));
            assert_eq!((encoded.user_names, encoded.blocks), (vec![name.clone()], vec![0, block.len()]));
            assert_eq!((encoded.column_names, encoded.target), (data.column_names.clone(), data.target.clone()));
        }
    }
}

#[test]
fn rows_that_cannot_be_encoded_are_named() {
    let text = "site,x,n,k,died,w\nA,1,1,a,no,1\nA,2,2,b,yes,1\nB,4,1,b,no,1\nB,3,2,a,yes,2\n";
    let made = |formula: &str, loss| {
        let options =
            Options { loss, weight: Some("w".into()), ..Options::with_formula("site", formula.parse().unwrap()) };
        from_reader(text.as_bytes(), &options).unwrap().encoding.unwrap()
    };
    let logistic = made("died ~ log(x) * k + factor(n)", Loss::Logistic);
    let header = "x,n,k,died,w\n";
    let refused = |encoding: &Encoding, rows: &str| {
        encoding.encode(format!("{header}{rows}").as_bytes(), "me", false).unwrap_err().to_string()
    };
    for (rows, message) in [
        ("", "the file has a header and no rows below it"),
        (
            "1,1,a,no,1\n1,1,c,no,1\n",
            r#"line 3: "k" is "c", which is not among the levels that were agreed on ("a", "b")"#,
        ),
        ("1,3,a,no,1\n", r#"line 2: "n" is "3", which is not among the levels that were agreed on ("1", "2")"#),
        ("one,1,a,no,1\n", r#"line 2: "x" is "one", and the model needs a finite number there"#),
        ("0,1,a,no,1\n", "line 2: log(x) is -inf, which is not a finite number"),
        (
            "1,1,a,maybe,1\n",
            r#"line 2: "died" is "maybe", which is not among the levels that were agreed on ("no", "yes")"#,
        ),
        ("1,1,a,no,-1\n", r#"line 2: the weight "w" is -1: a weight is not negative"#),
        ("1,1,a,no,much\n", r#"line 2: "w" is "much", and the model needs a finite number"#),
        ("1,1,a,no,0\n", "all weights are 0"),
        ("1,1,a,no\n", "line 2: 4 values"),
        ("1,1,,no,1\n1,1,a,,1\n1,1,a,no,1\n", r#"2 of 3 rows have missing values ("k": 1, "died": 1): fill them in"#),
        ("1,1,,no,1\n", r#"every row has a missing value ("k": 1): there is nothing to learn from"#),
    ] {
        let found = refused(&logistic, rows);
        assert!(found.starts_with(message), "{rows}: {found}");
    }
    let without = logistic.encode("x,n,kk,died,w\n1,1,a,no,1\n".as_bytes(), "me", false).unwrap_err().to_string();
    assert!(without.starts_with(r#"there is no column "k", which the model needs; did you mean "kk"?"#), "{without}");
    let rows = format!("{header}1,1.0,,no,1\n2,2,b,yes,3\n1,01,a,,1\n");
    let kept = logistic.encode(rows.as_bytes(), "me", true).unwrap();
    assert_eq!((kept.targets, kept.weights, kept.dropped_rows, kept.rows_total), (vec![1.0], vec![3.0], 2, 3));
    assert_eq!(kept.missing_by_column, [("k".to_owned(), 1), ("died".to_owned(), 1)]);
    let count = made("n ~ x", Loss::Poisson);
    assert!(refused(&count, "1,-1,a,no,1\n").starts_with("line 2: the target n is -1, and the model needs a count"));
    let positive = made("I(n * 2) ~ x", Loss::Gamma);
    assert!(
        refused(&positive, "1,0,a,no,1\n").starts_with("line 2: the target n * 2 is 0, and the model needs a positive")
    );
    // A level that is a number however it is written.
    let levels = made("n ~ x", Loss::Logistic);
    assert_eq!(levels.encode(format!("{header}1,2.0,a,no,1\n").as_bytes(), "me", false).unwrap().targets, [1.0]);
    let computed = made("I(n * 2) ~ x", Loss::Logistic);
    assert_eq!(computed.encode(format!("{header}1,1,a,no,1\n").as_bytes(), "me", false).unwrap().targets, [-1.0]);
    assert!(refused(&computed, "1,3,a,no,1\n").starts_with(r#"line 2: "n * 2" is "6", which is not among the levels"#));
}

#[test]
fn offsets_are_kept_or_taken_off() {
    // y = 2 + 3x + t: exactly, so that the fit is exact.
    let text = "u,x,t,y\nA,0,1,3\nA,1,-2,3\nB,2,5,13\nB,4,0,14\n";
    let options = Options::with_formula("u", "y ~ x + offset(t / 2) + offset(t / 2)".parse().unwrap());
    let data = from_reader(text.as_bytes(), &options).unwrap();
    assert!(data.offsets.is_none());
    assert_eq!(data.column_names, ["intercept", "x"]);
    let encoding = data.encoding.as_ref().unwrap();
    let problem = data.regression(Loss::Squares, 0.0).unwrap();
    let point = &problem.optimum().unwrap().point;
    assert_close(&encoding.on_original_scale(point).unwrap(), &[2.0, 3.0]);
    let predictions = encoding.predict("t,x\n100,1\nNA,1\n1,\n".as_bytes(), point).unwrap();
    assert_close(&[predictions[0].unwrap()], &[105.0]);
    assert_eq!(predictions[1..], [None, None]);
    // A count keeps it: a time that is twice as long has twice as many.
    let data = read("events ~ x + offset(log(days))", Loss::Poisson, |_| {});
    let encoding = data.encoding.as_ref().unwrap();
    let days: Vec<f64> = data.offsets.as_ref().unwrap().iter().map(|offset| offset.exp()).collect();
    let of_site = |name: &'static str| {
        table().lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect::<Vec<_>>()
    };
    let first = of_site("S0")[0].split(',').nth(4).unwrap().parse::<f64>().unwrap();
    assert_close(&days[..1], &[first]);
    assert_eq!(data.merged(1).unwrap().offsets.unwrap().len(), 60);
    assert_eq!(data.regression(Loss::Poisson, 0.1).unwrap().offsets(), data.offsets.as_deref());
    let two = encoding.predict("x,days\n11,1\n11,2\n".as_bytes(), &[0.3, 0.1]).unwrap();
    assert_close(&[two[1].unwrap()], &[2.0 * two[0].unwrap()]);
    assert!(
        encoding
            .predict("x,days\n11,0\n".as_bytes(), &[0.3, 0.1])
            .unwrap_err()
            .to_string()
            .starts_with("line 2: log(days) is -inf")
    );
}

#[test]
fn positive_numbers_are_for_gamma() {
    let data = read("cost ~ x", Loss::Gamma, |_| {});
    assert_eq!(data.target, Target::Positive);
    assert!(data.targets.iter().all(|target| *target >= 100.0));
    let error = data.regression(Loss::Squares, 0.1).unwrap_err().to_string();
    assert!(error.starts_with("the targets were read as positive numbers, which does not fit the loss Squares"));
    assert_close(&[data.target.prediction(2f64.ln())], &[2.0]);
}

#[test]
fn a_damaged_encoding_is_not_read_back() {
    let text = table();
    for (formula, loss) in FORMULAS {
        let data = read(formula, loss, |options| options.weight = Some("w".into()));
        let encoding = data.encoding.as_ref().unwrap();
        let saved = serde_json::to_string(encoding).unwrap();
        let restored: Encoding = serde_json::from_str(&saved).unwrap();
        assert_eq!(&restored, encoding);
        let point = vec![0.1; encoding.dim()];
        let predict = |encoding: &Encoding| encoding.predict(text.as_bytes(), &point).unwrap();
        assert_eq!(predict(&restored), predict(encoding));
        assert_eq!(restored.formula().unwrap().to_string(), formula);
    }
    let data = read("cost ~ 0 + x:kind + sex", Loss::Squares, |_| {});
    let saved = serde_json::to_value(data.encoding.unwrap()).unwrap();
    let refused = |pointer: &str, value: serde_json::Value| {
        let mut damaged = saved.clone();
        *damaged.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}: {saved}")) = value;
        serde_json::from_value::<Encoding>(damaged).unwrap_err().to_string()
    };
    let not_there = "a column is made of variables or levels that are not there";
    assert_eq!(refused("/columns/0/parts/0/variable", 9.into()), not_there);
    assert_eq!(refused("/columns/0/parts/0/level", 9.into()), not_there);
    assert_eq!(refused("/columns/0/parts", serde_json::json!([])), not_there);
    // A number has no levels, and a factor no number.
    let swapped = serde_json::json!([{ "variable": 0 }, { "variable": 0, "level": 1 }]);
    assert_eq!(refused("/columns/1/parts", swapped), not_there);
    let twice = serde_json::json!([{ "variable": 2, "level": 0 }, { "variable": 2, "level": 1 }]);
    assert_eq!(refused("/columns/0/parts", twice), "the column sex=f:sex=m has a variable twice");
    assert_eq!(refused("/columns/0/scaling/scale", 0.0.into()), "the scale of a column is not positive");
    assert_eq!(refused("/target/number/scale", (-1.0).into()), "the scale of a column is not positive");
    assert_eq!(refused("/target/number/mean", 1.0.into()), "it has no intercept, and a column that is centred");
    assert_eq!(refused("/columns/0/scaling/mean", 1.0.into()), "it has no intercept, and a column that is centred");
    assert_eq!(refused("/columns", serde_json::json!([])), "it has no columns");
    assert!(refused("/variables/2/factor/levels", serde_json::json!(["m", "m"])).starts_with(r#"the levels of "sex""#));
    assert!(refused("/response", "log(".into()).starts_with("the formula is wrong at character 5"));
    assert!(refused("/formula", "cost".into()).contains("expected `~`"));
    assert_eq!(Scaling::NONE.apply(3.0), 3.0);
}
