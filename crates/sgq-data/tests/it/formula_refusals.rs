//! Formulas that do not fit the data, and what is said.

use sgq::problem::Loss;
use sgq_data::csv::{Options, from_reader};

const TEXT: &str = "u,x,z,k,y\nA,1,0,a,1\nA,2,3,b,0\nB,-1,2,a,4\nB,5,1,c,2\n";

fn with(formula: &str) -> Options {
    Options::with_formula("u", formula.parse().unwrap())
}

fn refused(text: &str, options: &Options) -> String {
    from_reader(text.as_bytes(), options).unwrap_err().to_string()
}

#[test]
fn what_does_not_fit_the_data_is_named() {
    for (formula, message) in [
        ("y ~ xx", r#"there is no column "xx"; did you mean "x"?"#),
        ("w ~ x", r#"there is no column "w""#),
        ("y ~ . - w", r#"there is no column "w""#),
        ("y ~ x + offset(log(w))", r#"there is no column "w""#),
        ("y ~ x + log(y)", r#"column "y" is used as the target and as a feature"#),
        ("y ~ x + offset(y)", r#"column "y" is used as the target and as a feature"#),
        ("u ~ x", r#"column "u" is used as the user and as the target"#),
        ("y ~ 0", "no column is left for a feature"),
        ("y ~ x - z", "the formula has z taken out, which is not among its terms: leave `- z` out"),
        ("y ~ x*z - x:k", "the formula has x:k taken out"),
        ("y ~ log(k)", r#"line 2: "k" is "a", which is not a finite number, and log(k) needs one: correct it"#),
        (
            "y ~ log(z) + x",
            "line 2: log(z) is -inf, which is not a finite number: correct the row's values, leave the row out, or change the formula",
        ),
        ("y ~ I(1 / (x - 2))", "line 3: 1 / (x - 2) is inf"),
        ("y ~ sqrt(x)", "line 4: sqrt(x) is NaN"),
        ("log(y) ~ x", "line 3: log(y) is -inf"),
        ("y ~ x + offset(log(z))", "line 2: log(z) is -inf"),
        (
            "y ~ factor(k, levels = c('a', 'b'))",
            r#"line 5: "k" is "c", which is not one of the levels in the formula ("a", "b"): add it to `levels`, or correct it"#,
        ),
        (
            "y ~ factor(k, levels = c('a', 'b', 'c', 'd'))",
            r#"no row has the level "d" of "k", which the formula names: leave it out"#,
        ),
        (
            "y ~ factor(k, ref = 'A')",
            r#"no row has the level "A" of "k", which the formula names: leave it out; did you mean "a"?"#,
        ),
        (
            "y ~ factor(k) + factor(k, ref = 'b')",
            r#""k" is declared as a factor in two ways: write the same factor(k, …) everywhere"#,
        ),
        // Nobody has b and z = 0 but one; nobody has c, x = 1.
        (
            "y ~ factor(x):k + z",
            r#"columns with the same value in every row say nothing: leave out "x=2:k=a", "x=5:k=a", "x=-1:k=b", "x=1:k=b""#,
        ),
        ("y ~ I(x - x)", r#"columns with the same value in every row say nothing: leave out "I(x - x)""#),
    ] {
        let message_found = refused(TEXT, &with(formula));
        assert!(message_found.starts_with(message), "{formula}: {message_found}");
    }
    let two = Options { target: "x".into(), ..with("log(y + 1) ~ z") };
    assert!(
        refused(TEXT, &two).starts_with(r#"the formula predicts log(y + 1), and the target is to be "x": give only"#)
    );
    let same = Options { target: "y".into(), ..with("y ~ z") };
    assert!(from_reader(TEXT.as_bytes(), &same).is_ok());
    assert!(refused(",u,y\n1,A,2\n2,B,3\n", &with("y ~ .")).starts_with("column 1 has no name"));
    let text = "u,y,x,k\n1,1,1,a\n1,2,2,a\n";
    assert!(refused(text, &with("y ~ x * k")).ends_with(r#"leave out "k""#));
    let dropping = Options { drop_constant: true, ..with("y ~ x * k") };
    let data = from_reader(text.as_bytes(), &dropping).unwrap();
    assert_eq!(
        (data.column_names, data.encoding.unwrap().variables().len()),
        (vec!["intercept".into(), "x".into()], 1)
    );
}

/// The line is that of the file, also where rows above it are left out.
#[test]
fn lines_are_counted_with_the_rows_that_are_left_out() {
    let text = "u,x,y\nA,1,1\n\nA,NA,2\nA,\"3\",\"3\n\"\nA,0,4\nA,2,5\n";
    let options = Options { drop_missing: true, ..with("y ~ log(x)") };
    assert!(refused(text, &options).starts_with("line 7: log(x) is -inf"), "{}", refused(text, &options));
}

#[test]
fn targets_and_sizes_have_their_limits() {
    let poisson = Options { loss: Loss::Poisson, ..with("I(y - 1) ~ x") };
    assert!(refused(TEXT, &poisson).starts_with(r#"line 3: the target "y - 1" is -1: a count is not negative"#));
    let positive = Options { loss: Loss::Gamma, ..with("y ~ x") };
    let message = "line 3: the target y is 0: numbers for this loss are positive; correct it, or leave the row out";
    assert_eq!(refused(TEXT, &positive), message);
    let computed = Options { loss: Loss::Gamma, ..with("I(y - 2) ~ x") };
    assert!(refused(TEXT, &computed).starts_with("line 2: the target y - 2 is -1: numbers"));
    let names: Vec<String> = (0..150).map(|k| format!("c{k}")).collect();
    let row = |k: usize| (0..150).map(|c| ((k * 7 + c * 3) % 11).to_string()).collect::<Vec<_>>().join(",");
    let wide = format!("u,y,{}\n1,1,{}\n2,3,{}\n", names.join(","), row(1), row(2));
    let message = "the formula has more than 10000 terms: take fewer of them, or a lower power";
    assert_eq!(refused(&wide, &with("y ~ .^2")), message);
    let mut long = String::from("u,y,a,b\n");
    (0..200).for_each(|k| long += &format!("1,{k},a{k},b{k}\n"));
    // 199 of each, and 199 times 199 of both.
    let message = "the formula has 39999 columns, more than 10000: take fewer interactions of columns with many levels";
    assert_eq!(refused(&long, &with("y ~ a*b")), message);
}
