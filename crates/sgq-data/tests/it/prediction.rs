//! From coefficients back to the file: the original scale, and predictions.

use sgq::{Problem as _, Random, problem::Loss};
use sgq_data::{
    Dataset, Encoding, Target,
    csv::{Options, from_reader},
};

use crate::{assert_close, dense, gzip};

const LOSSES: [Loss; 4] = [Loss::Squares, Loss::Huber { delta: 0.5 }, Loss::Logistic, Loss::Poisson];

/// Forty rows whose target is 0 or 1, 0 to 4 or a number, as the loss wants it.
fn table(loss: Loss) -> String {
    let mut random = Random::new(5, "prediction");
    let mut text = String::from("site,dose,weight of patient,kind,result\n");
    for _ in 0..40 {
        let result = match loss {
            Loss::Logistic => random.index(2).to_string(),
            Loss::Poisson => random.index(5).to_string(),
            _ => (1000.0 + 50.0 * random.unit()).to_string(),
        };
        let kind = ["a", "b, or \"\"not\"\" b", "c"][random.index(3)];
        let (dose, weight) = (random.unit(), 60.0 + 40.0 * random.unit());
        text += &format!("{},{dose},{weight},\"{kind}\",{result}\n", random.index(3));
    }
    text
}

fn fitted(text: &str, loss: Loss) -> (Dataset, Vec<f64>) {
    let data = from_reader(text.as_bytes(), &Options { loss, ..Options::new("site", "result") }).unwrap();
    let point = data.regression(loss, 0.05).unwrap().optimum().unwrap().point.clone();
    (data, point)
}

fn encoding(data: &Dataset) -> &Encoding {
    data.encoding.as_ref().unwrap()
}

/// Predictions of rows in which nothing is missing.
fn predicted(data: &Dataset, rows: impl std::io::Read, point: &[f64]) -> Vec<f64> {
    encoding(data).predict(rows, point).unwrap().into_iter().map(|value| value.unwrap()).collect()
}

#[test]
fn both_scales_predict_the_same() {
    for loss in LOSSES {
        let text = table(loss);
        let (data, point) = fitted(&text, loss);
        let original = encoding(&data).on_original_scale(&point).unwrap();
        let predictions = predicted(&data, text.as_bytes(), &point);
        let raw = from_reader(text.as_bytes(), &Options { loss, standardise: false, ..Options::new("site", "result") });
        let by_user: Vec<f64> = dense(&raw.unwrap().rows)
            .iter()
            .map(|row| {
                let sum: f64 = row.iter().zip(&original).map(|(value, coefficient)| value * coefficient).sum();
                match loss {
                    Loss::Logistic => 1.0 / (1.0 + (-sum).exp()),
                    Loss::Poisson => sum.exp(),
                    _ => sum,
                }
            })
            .collect();
        // The dataset is in the users' order, predictions are in the file's.
        let sites: Vec<&str> = text.lines().skip(1).map(|line| &line[..1]).collect();
        let mut order: Vec<usize> = (0..sites.len()).collect();
        order.sort_by_key(|row| sites[*row]);
        let rearranged: Vec<f64> = order.iter().map(|row| predictions[*row]).collect();
        assert_close(&rearranged, &by_user);
        // And they are those of the regression itself.
        for (row, prediction) in rearranged.iter().enumerate() {
            assert_close(&[data.target.prediction(data.rows.dot(row, &point))], &[*prediction]);
        }
    }
}

#[test]
fn a_line_is_found_again_by_hand() {
    // y = 3 + 2x, and 10 more for b: exactly, so that the fit is exact without a penalty.
    let text = "u,x,k,y\n1,0,a,3\n1,1,a,5\n2,2,b,17\n2,5,b,23\n";
    let data = from_reader(text.as_bytes(), &Options::new("u", "y")).unwrap();
    let problem = data.regression(Loss::Squares, 0.0).unwrap();
    let point = &problem.optimum().unwrap().point;
    assert_close(&encoding(&data).on_original_scale(point).unwrap(), &[3.0, 2.0, 10.0]);
    // Columns by name, in any order; what is not a feature is not looked at.
    let new = "k;extra;x;y\nb;;100;\na;NA;-1;?\n";
    assert_close(&predicted(&data, new.as_bytes(), point), &[213.0, 1.0]);
    assert_close(&predicted(&data, &gzip(new)[..], point), &[213.0, 1.0]);
    assert!(encoding(&data).predict("x,k\n".as_bytes(), point).unwrap().is_empty());
}

#[test]
fn an_encoding_survives_being_saved() {
    for loss in LOSSES {
        let text = table(loss);
        let (data, point) = fitted(&text, loss);
        let saved = serde_json::to_string(encoding(&data)).unwrap();
        let restored: Encoding = serde_json::from_str(&saved).unwrap();
        assert_eq!(&restored, encoding(&data));
        let predict = |encoding: &Encoding| encoding.predict(text.as_bytes(), &point).unwrap();
        assert_eq!(predict(&restored), predict(encoding(&data)));
    }
}

#[test]
fn what_cannot_be_predicted_is_named() {
    let text = table(Loss::Squares);
    let (data, point) = fitted(&text, Loss::Squares);
    let refused = |text: &str| encoding(&data).predict(text.as_bytes(), &point).unwrap_err().to_string();
    let header = "dose,weight of patient,kind\n";
    let cases = [
        ("dose,kind\n".to_owned(), r#"there is no column "weight of patient", which the predictions need; there are"#),
        (
            "doses,weight of patient,kind\n".to_owned(),
            r#"there is no column "dose", which the predictions need; did you"#,
        ),
        (format!("{header}1,70,a\n1,heavy,a\n"), r#"line 3: "weight of patient" is "heavy": it was a number"#),
        (
            format!("{header}1,70,a\r\n1,70,d\n"),
            r#"line 3: "kind" is "d", which was not among the levels learnt from: "a", "b, or \"not\" b", "c""#,
        ),
        (format!("{header}1,70\n"), "line 2: 2 values"),
    ];
    for (text, expected) in cases {
        let message = refused(&text);
        assert!(message.starts_with(expected), "{message}");
    }
    let text = format!("{header}1,70,a\n1,,a\n,70,NA\n");
    let values = encoding(&data).predict(text.as_bytes(), &point).unwrap();
    assert_eq!(values.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false]);
    // What is there is looked at all the same.
    assert!(refused(&format!("{header}1,,d\n")).starts_with(r#"line 2: "kind" is "d", which was not"#));
    let short = encoding(&data).predict(text.as_bytes(), &point[1..]).unwrap_err().to_string();
    assert_eq!(short, "4 coefficients, expected 5: one for each column, the intercept included");
    assert!(encoding(&data).on_original_scale(&[]).is_err());
}

#[test]
fn the_probability_is_that_of_the_last_level() {
    let text = "u,x,y\n1,0,no\n1,1,no\n1,2,yes\n2,3,no\n2,4,yes\n2,5,yes\n";
    let data = from_reader(text.as_bytes(), &Options { loss: Loss::Logistic, ..Options::new("u", "y") }).unwrap();
    let problem = data.regression(Loss::Logistic, 0.01).unwrap();
    let predictions = predicted(&data, text.as_bytes(), &problem.optimum().unwrap().point);
    assert!(matches!(&data.target, Target::Levels { positive, .. } if positive == "yes"));
    assert!(predictions.windows(2).all(|pair| pair[0] < pair[1]) && predictions[0] < 0.2 && predictions[5] > 0.8);
}
