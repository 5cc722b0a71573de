//! The card, on numbers that can be checked by hand.

use sgq::problem::Loss;
use sgq_data::{
    Card,
    csv::{Features, Options, from_reader},
};

use crate::assert_close;

/// Two users, an intercept and `x`, `f_i` the mean of `½ (a·x − y)²`.
///
/// User 1 has the rows (1, 1) and (1, −1) with targets 2 and 0, user 2 the row (1, 0) with target 3. Then
/// `∇f_1(0) = −(1, 1)`, `∇f_2(0) = −(3, 0)`, `∇f(0) = −(2, ½)`, and the curvatures are `I`, `diag(1, 0)` and
/// `diag(1, ½)`. So `x* = (2, 1)`, where `∇f_1 = (1, 0)`, `∇f_2 = (−1, 0)`; `f(0) = ½ (1 + 4½) = 2¾` and
/// `f(x*) = ½ (½ + ½) = ½`.
fn card() -> Card {
    let text = "u,x,y\n1,1,2\n1,-1,0\n2,0,3\n2,0,\n";
    let options = Options { standardise: false, drop_missing: true, ..Options::new("u", "y") };
    let data = from_reader(text.as_bytes(), &options).unwrap();
    Card::new(&data, &data.regression(Loss::Squares, 0.0).unwrap())
}

#[test]
fn every_number_by_hand() {
    let card = card();
    assert_eq!((card.users, card.dim, card.rows, card.dropped_rows), (2, 2, 3, 1));
    let rows = card.rows_per_user;
    assert_eq!((rows.min, rows.median, rows.max), (1, 1.5, 2));
    let each = card.user_smoothness;
    assert_close(&[each.min, each.median, each.max, each.max_over_mean], &[1.0; 4]);
    let constants = [card.smoothness.unwrap(), card.pl_constant.unwrap(), card.condition_number.unwrap()];
    assert_close(&constants, &[1.0, 0.5, 2.0]);
    assert_close(&[card.heterogeneity_at_zero, card.heterogeneity_at_optimum], &[1.25f64.sqrt(), 1.0]);
    assert_close(&[card.gap_at_zero], &[2.25]);
    assert!(card.gradient_norm_at_optimum <= 1e-12);
}

#[test]
fn it_is_shown_in_aligned_lines() {
    let expected = "\
users                 2
rows                  3 (1 more left out: a value is missing)
rows a user           min 1, median 1.5, max 2
coefficients          2
smoothness L_i        min 1.000, median 1.000, max 1.000, max/mean 1.000
smoothness of f, L    1.000
PL constant μ         0.5000
condition number L/μ  2.000
heterogeneity         1.118 at zero, 1.000 at the optimum
f(0) − f*             2.250";
    assert_eq!(card().to_string(), expected);
    let json: serde_json::Value = serde_json::to_value(card()).unwrap();
    assert_eq!(json["rows_per_user"]["median"], 1.5);
}

#[test]
fn what_is_not_known_is_said() {
    let text = "u,x,y\n1,1,b\n1,2,a\n2,3,b\n2,4,a\n2,1,a\n";
    let features = Features::Only(vec!["x".into()]);
    let data = from_reader(text.as_bytes(), &Options { loss: Loss::Logistic, features, ..Options::new("u", "y") });
    let data = data.unwrap();
    let card = Card::new(&data, &data.regression(Loss::Logistic, 0.0).unwrap());
    assert_eq!((card.pl_constant, card.condition_number), (None, None));
    assert!(card.to_string().contains("condition number L/μ  not known"));
}
