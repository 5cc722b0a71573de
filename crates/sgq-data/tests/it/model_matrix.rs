//! The columns of formulas, against R's `model.matrix`, worked out by hand from its rules.

use sgq::{Random, problem::Loss};
use sgq_data::{
    Dataset,
    csv::{Options, from_reader},
};

use crate::{assert_close, dense};

/// Two numbers, factors of three and of two levels in all combinations, and numbers that may be meant as levels.
const TEXT: &str = "\
u,x,z,a,b,n,y
A,1,2,p,k,10,1
A,2,1,q,k,9,3
B,3,5,r,k,10,2
B,4,3,p,l,9,5
C,5,4,q,l,2,4
C,6,7,r,l,2,9
";

fn encoded(formula: &str, standardise: bool) -> Dataset {
    let options = Options { standardise, ..Options::with_formula("u", formula.parse().unwrap()) };
    from_reader(TEXT.as_bytes(), &options).unwrap_or_else(|error| panic!("{formula}: {error}"))
}

const ONE: [f64; 6] = [1.0; 6];
const X: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const Z: [f64; 6] = [2.0, 1.0, 5.0, 3.0, 4.0, 7.0];
const P: [f64; 6] = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
const Q: [f64; 6] = [0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
const R: [f64; 6] = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0];
const K: [f64; 6] = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
const L: [f64; 6] = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
const X_L: [f64; 6] = [0.0, 0.0, 0.0, 4.0, 5.0, 6.0];
const X_Q: [f64; 6] = [0.0, 2.0, 0.0, 0.0, 5.0, 0.0];
const X_R: [f64; 6] = [0.0, 0.0, 3.0, 0.0, 0.0, 6.0];

/// The row of the only 1.
fn only(row: usize) -> [f64; 6] {
    std::array::from_fn(|index| f64::from(u8::from(index == row)))
}

#[track_caller]
fn assert_matrix(formula: &str, expected: &[(&str, [f64; 6])]) {
    let data = encoded(formula, false);
    let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    assert_eq!(data.column_names, names, "{formula}");
    for (index, row) in dense(&data.rows).iter().enumerate() {
        let expected: Vec<f64> = expected.iter().map(|(_, column)| column[index]).collect();
        assert_close(row, &expected);
    }
}

#[test]
fn main_effects_and_products() {
    let (i, a) = (("intercept", ONE), [("a=q", Q), ("a=r", R)]);
    assert_matrix("y ~ x + a", &[i, ("x", X), a[0], a[1]]);
    assert_matrix("y ~ 1", &[i]);
    let crossed = [i, a[0], a[1], ("b=l", L), ("a=q:b=l", only(4)), ("a=r:b=l", only(5))];
    assert_matrix("y ~ a * b", &crossed);
    assert_matrix("y ~ a:b + a + b + a + b:a", &crossed);
    assert_matrix("y ~ (a + b)^2", &crossed);
    assert_matrix("y ~ (a + b)^5", &crossed);
    assert_matrix("y ~ a * b * x - a:b:x - x:a - x:b - x", &crossed);
    assert_matrix(
        "y ~ (x + z + b)^2 - x:z",
        &[i, ("x", X), ("z", Z), ("b=l", L), ("x:b=l", X_L), ("z:b=l", [0.0, 0.0, 0.0, 3.0, 4.0, 7.0])],
    );
    assert_matrix("y ~ x + x:z", &[i, ("x", X), ("x:z", [2.0, 2.0, 15.0, 12.0, 20.0, 42.0])]);
    assert_matrix(
        "y ~ log(x) + I(z^2 - 1) + I(x)",
        &[i, ("log(x)", X.map(f64::ln)), ("I(z^2 - 1)", [3.0, 0.0, 24.0, 8.0, 15.0, 48.0]), ("x", X)],
    );
    assert_matrix(
        "y ~ x:(a + b)",
        &[
            i,
            ("x:a=p", [1.0, 0.0, 0.0, 4.0, 0.0, 0.0]),
            ("x:a=q", X_Q),
            ("x:a=r", X_R),
            // The indicators of `a`, times `x`, add up to `x`.
            ("x:b=l", X_L),
        ],
    );
}

/// Where a term without a factor is in the model already, the factor's reference has no column; elsewhere it has one.
#[test]
fn references_are_left_out_where_they_say_nothing() {
    let i = ("intercept", ONE);
    assert_matrix("y ~ 0 + a + b", &[("a=p", P), ("a=q", Q), ("a=r", R), ("b=l", L)]);
    assert_matrix("y ~ -1 + x + b", &[("x", X), ("b=k", K), ("b=l", L)]);
    assert_matrix("y ~ b * x - 1", &[("b=k", K), ("b=l", L), ("x", X), ("b=l:x", X_L)]);
    assert_matrix("y ~ x:a", &[i, ("x:a=p", [1.0, 0.0, 0.0, 4.0, 0.0, 0.0]), ("x:a=q", X_Q), ("x:a=r", X_R)]);
    assert_matrix("y ~ x + x:a", &[i, ("x", X), ("x:a=q", X_Q), ("x:a=r", X_R)]);
    let nested = [i, ("a=q", Q), ("a=r", R)];
    assert_matrix(
        "y ~ a + a:b",
        &[&nested[..], &[("a=p:b=l", only(3)), ("a=q:b=l", only(4)), ("a=r:b=l", only(5))]].concat(),
    );
    assert_matrix(
        "y ~ b:a + a",
        &[&nested[..], &[("b=l:a=p", only(3)), ("b=l:a=q", only(4)), ("b=l:a=r", only(5))]].concat(),
    );
    let cells = ["a=p:b=k", "a=q:b=k", "a=r:b=k", "a=p:b=l", "a=q:b=l", "a=r:b=l"];
    let cells: Vec<(&str, [f64; 6])> = cells.into_iter().enumerate().map(|(row, name)| (name, only(row))).collect();
    assert_matrix("y ~ a:b - 1", &cells);
    assert_matrix("y ~ 0 + x + x:b", &[("x", X), ("x:b=l", X_L)]);
    assert_matrix("y ~ 0 + x - 0", &[i, ("x", X)]);
}

#[test]
fn levels_are_in_order_and_the_reference_first() {
    let i = ("intercept", ONE);
    let is = |value: u32| [10, 9, 10, 9, 2, 2].map(|n| f64::from(u8::from(n == value)));
    assert_matrix("y ~ n", &[i, ("n", [10.0, 9.0, 10.0, 9.0, 2.0, 2.0])]);
    // As numbers: 2, 9, 10.
    assert_matrix("y ~ factor(n)", &[i, ("n=9", is(9)), ("n=10", is(10))]);
    assert_matrix("y ~ factor(n, ref = 10)", &[i, ("n=2", is(2)), ("n=9", is(9))]);
    assert_matrix("y ~ factor(n, ref = '9.0')", &[i, ("n=2", is(2)), ("n=10", is(10))]);
    assert_matrix("y ~ factor(n, levels = c(9, 10, 2))", &[i, ("n=10", is(10)), ("n=2", is(2))]);
    assert_matrix("y ~ factor(n, levels = c(9, 10, 2), ref = 2)", &[i, ("n=9", is(9)), ("n=10", is(10))]);
    assert_matrix("y ~ factor(a, ref = 'r')", &[i, ("a=p", P), ("a=q", Q)]);
    // What is the same is there once.
    assert_matrix("y ~ a + factor(a)", &[i, ("a=q", Q), ("a=r", R)]);
    assert_matrix("y ~ a:factor(a) + x:I(x)", &[i, ("a=q", Q), ("a=r", R), ("x", X)]);
    let options = Options { factors: vec!["n".into()], ..Options::with_formula("u", "y ~ n".parse().unwrap()) };
    assert_eq!(from_reader(TEXT.as_bytes(), &options).unwrap().column_names, ["intercept", "n=9", "n=10"]);
}

#[test]
fn a_point_is_all_other_columns() {
    let names = |formula: &str| encoded(formula, false).column_names[1..].join(" ");
    assert_eq!(names("y ~ ."), "x z a=q a=r b=l n");
    assert_eq!(names("log(y) ~ . - a - n"), "x z b=l");
    assert_eq!(names("y ~ . + I(x^2) - z"), "x a=q a=r b=l n I(x^2)");
    assert_eq!(names("y ~ b:."), "b=l b=k:x b=l:x b=k:z b=l:z b=k:a=q b=l:a=q b=k:a=r b=l:a=r b=k:n b=l:n");
    // A weight and the user are no features, unless they are named.
    let options = Options { weight: Some("n".into()), ..Options::with_formula("u", "y ~ .".parse().unwrap()) };
    assert_eq!(from_reader(TEXT.as_bytes(), &options).unwrap().column_names[4..], ["a=r", "b=l"]);
    assert_eq!(names("y ~ u + x"), "u=B u=C x");
}

/// A column that is taken out needs to be no number, no factor, and not even there in every row.
#[test]
fn what_is_taken_out_is_not_looked_at() {
    let text = "u,x,id,y\nA,1,a1,1\nA,2,7,2\nB,4,,5\n";
    let options = Options::with_formula("u", "y ~ . - id".parse().unwrap());
    let data = from_reader(text.as_bytes(), &options).unwrap();
    assert_eq!(data.column_names, ["intercept", "x"]);
    assert_eq!((data.dropped_rows, data.missing_by_column.len()), (0, 0));
}

#[test]
fn products_are_standardised_themselves() {
    let data = encoded("y ~ x * b", true);
    let rows = dense(&data.rows);
    for column in 1..4 {
        let values: Vec<f64> = rows.iter().map(|row| row[column]).collect();
        let squares: f64 = values.iter().map(|value| value * value).sum();
        assert_close(&[values.iter().sum(), squares / 5.0], &[0.0, 1.0]);
    }
    // By hand: 0, 0, 0, 4, 5, 6 have mean 2.5 and squares 3·6.25 + 2.25 + 6.25 + 12.25 = 39.5.
    let sd = (39.5f64 / 5.0).sqrt();
    assert_close(&[rows[0][3], rows[5][3]], &[-2.5 / sd, 3.5 / sd]);
    // Without an intercept nothing is centred.
    let data = encoded("y ~ 0 + x + b", true);
    let sd = 3.5f64.sqrt();
    let indicator = 0.3f64.sqrt();
    assert_close(&dense(&data.rows)[3], &[4.0 / sd, 0.0, 1.0 / indicator]);
    let spread = ([1.0, 3.0, 2.0, 5.0, 4.0, 9.0].map(|y: f64| (y - 4.0) * (y - 4.0)).iter().sum::<f64>() / 6.0).sqrt();
    assert_close(&data.targets, &[1.0, 3.0, 2.0, 5.0, 4.0, 9.0].map(|y| y / spread));
    // One that never changes is an intercept then.
    let data = encoded("y ~ 0 + I(x - x + 2)", true);
    assert_close(&dense(&data.rows)[0], &[1.0]);
}

#[test]
fn targets_may_be_expressions() {
    assert_close(&encoded("log(y) ~ x", false).targets, &[1.0, 3.0, 2.0, 5.0, 4.0, 9.0].map(f64::ln));
    assert_close(&encoded("y / z ~ x", false).targets, &[0.5, 3.0, 0.4, 5.0 / 3.0, 1.0, 9.0 / 7.0]);
    let logistic = Options {
        loss: Loss::Logistic,
        ..Options::with_formula("u", "I(abs(x - 3.5) / (x - 3.5)) ~ z".parse().unwrap())
    };
    let data = from_reader(TEXT.as_bytes(), &logistic).unwrap();
    assert_eq!(data.targets, [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]);
}

/// How many columns are independent: by elimination, the largest pivot first.
fn rank(mut columns: Vec<Vec<f64>>) -> usize {
    let mut rank = 0;
    for row in 0..columns.first().map_or(0, Vec::len) {
        let Some(best) =
            (rank..columns.len()).max_by(|one, other| columns[*one][row].abs().total_cmp(&columns[*other][row].abs()))
        else {
            break;
        };
        if columns[best][row].abs() < 1e-9 {
            continue;
        }
        columns.swap(rank, best);
        let pivot = columns[rank].clone();
        for column in &mut columns[rank + 1..] {
            let factor = column[row] / pivot[row];
            column.iter_mut().zip(&pivot).for_each(|(value, pivot)| *value -= factor * pivot);
        }
        rank += 1;
    }
    rank
}

/// Whatever references are left out, the columns reach as far as the indicators of all levels in every term would.
#[test]
fn no_reference_is_left_out_that_is_needed() {
    let mut random = Random::new(6, "references");
    let names = ["a", "b", "c", "x", "z"];
    let levels = [3, 2, 2];
    let rows: Vec<[f64; 5]> = (0..72)
        .map(|row| {
            let [a, b, c] = [row % 3, row / 3 % 2, row / 6 % 2].map(|level| level as f64);
            [a, b, c, random.unit(), random.unit()]
        })
        .collect();
    let mut text = String::from("u,a,b,c,x,z,y\n");
    for (index, [a, b, c, x, z]) in rows.iter().enumerate() {
        text += &format!("u,a{a},b{b},c{c},{x},{z},{}\n", index * index % 7);
    }
    for _ in 0..400 {
        let intercept = random.index(2) == 0;
        let terms: Vec<Vec<usize>> = (0..1 + random.index(4))
            .map(|_| {
                let mut order: Vec<usize> = (0..5).collect();
                random.shuffle(&mut order);
                order.truncate(1 + random.index(3));
                order
            })
            .collect();
        let written: Vec<String> =
            terms.iter().map(|term| term.iter().map(|name| names[*name]).collect::<Vec<_>>().join(":")).collect();
        let formula = format!("y ~ {} + {}", u8::from(intercept), written.join(" + "));
        let options = Options { standardise: false, ..Options::with_formula("u", formula.parse().unwrap()) };
        let data = from_reader(text.as_bytes(), &options).unwrap();
        let lines = dense(&data.rows);
        let found: Vec<Vec<f64>> =
            (0..data.column_names.len()).map(|k| lines.iter().map(|row| row[k]).collect()).collect();
        let mut all = found.clone();
        if intercept {
            all.push(vec![1.0; rows.len()]);
        }
        for term in &terms {
            let mut columns = vec![vec![1.0; rows.len()]];
            for variable in term {
                let times = |column: &Vec<f64>, value: &dyn Fn(f64) -> f64| -> Vec<f64> {
                    column.iter().zip(&rows).map(|(product, row)| product * value(row[*variable])).collect()
                };
                columns = match levels.get(*variable) {
                    None => columns.iter().map(|column| times(column, &|value| value)).collect(),
                    Some(count) => (0..*count)
                        .flat_map(|level| columns.iter().map(move |column| (level, column)))
                        .map(|(level, column)| times(column, &|value| f64::from(u8::from(value == f64::from(level)))))
                        .collect(),
                };
            }
            all.extend(columns);
        }
        assert_eq!(rank(found), rank(all), "{formula}: {:?}", data.column_names);
    }
}
