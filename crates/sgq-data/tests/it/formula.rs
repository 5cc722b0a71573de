//! Formulas: what is understood, how it is written again, and that nothing makes the parser fall over.

use sgq::Random;
use sgq_data::{Expression, Formula, FormulaError};

fn parsed(text: &str) -> Formula {
    text.parse().unwrap_or_else(|error: FormulaError| panic!("{error}"))
}

#[test]
fn formulas_have_one_way_to_be_written() {
    for (text, canonical) in [
        ("y~x", "y ~ x"),
        ("died ~ age+sex*type+offset( log(days) )", "died ~ age + sex * type + offset(log(days))"),
        ("y ~ (a + b)^2 - a:b", "y ~ (a + b)^2 - a:b"),
        ("y ~ +a + (b) - (c)", "y ~ a + b - c"),
        ("y ~ -1 + x", "y ~ -1 + x"),
        ("y ~ 0+x", "y ~ 0 + x"),
        ("y ~ a*(b + c):d", "y ~ a * (b + c):d"),
        ("y ~ (a*b):c", "y ~ (a * b):c"),
        ("y ~ a:(b:c)", "y ~ a:(b:c)"),
        ("y ~ a + (b + c)", "y ~ a + (b + c)"),
        ("y ~ . - `patient id`", "y ~ . - `patient id`"),
        ("y ~ .x + x.y + x_1 + Größe", "y ~ .x + x.y + x_1 + Größe"),
        (r"y ~ `a``b`", ""),
        (r"y ~ `a\`b\\`", r"y ~ `a\`b\\`"),
        ("`1st` ~ `2` + `.` + `` + x", ""),
        ("`1st` ~ `2` + `.5` + `.`", "`1st` ~ `2` + `.5` + `.`"),
        ("log(y) ~ log2(x)+log10(x)+log1p(x)", "log(y) ~ log2(x) + log10(x) + log1p(x)"),
        ("y/n ~ exp(x) + expm1(x) + sqrt(x) + abs(x)", "y / n ~ exp(x) + expm1(x) + sqrt(x) + abs(x)"),
        ("y ~ I(x^2)+I( (a+b)*-c/2e3 )", "y ~ I(x^2) + I((a + b) * -c / 2000)"),
        ("y ~ I(-x^2) + I((-x)^2) + I(a^b^c) + I((a^b)^-c)", "y ~ I(-x^2) + I((-x)^2) + I(a^b^c) + I((a^b)^-c)"),
        ("y ~ I(a-(b-c)-d) + I(a/(b*c)/d) + I(I(x))", "y ~ I(a - (b - c) - d) + I(a / (b * c) / d) + I(x)"),
        ("y ~ factor( x )", "y ~ factor(x)"),
        (r#"y ~ factor(x,levels=c('b',"a"),ref="a")"#, r#"y ~ factor(x, ref = "a", levels = c("b", "a"))"#),
        (
            "y ~ factor(`a b`, levels = c(1, -2.50, 10), ref = 10)",
            "y ~ factor(`a b`, ref = \"10\", levels = c(\"1\", \"-2.5\", \"10\"))",
        ),
        (r#"y ~ factor(x, ref = "say \"no\" \\")"#, r#"y ~ factor(x, ref = "say \"no\" \\")"#),
        // Names of functions are names where nothing is called.
        ("y ~ log + I + factor + offset", "y ~ log + I + factor + offset"),
        ("y\n  ~ a +\n\tb", "y ~ a + b"),
    ] {
        let Ok(formula) = text.parse::<Formula>() else {
            assert_eq!(canonical, "", "{text}");
            continue;
        };
        assert_eq!(formula.to_string(), canonical, "{text}");
        assert_eq!(parsed(canonical), formula);
        let saved = serde_json::to_string(&formula).unwrap();
        assert_eq!(serde_json::from_str::<Formula>(&saved).unwrap(), formula);
    }
}

#[test]
fn expressions_are_read_by_themselves() {
    let expression: Expression = "log(a / (b + `c d`)) - a".parse().unwrap();
    assert_eq!(expression.columns(), ["a", "b", "c d"]);
    assert_eq!(expression.label(), "I(log(a / (b + `c d`)) - a)");
    assert_eq!(Expression::column("c d").label(), "c d");
    assert!("a +".parse::<Expression>().is_err() && "a ~ b".parse::<Expression>().is_err());
    assert!(serde_json::from_str::<Expression>("\"log(\"").unwrap_err().to_string().contains("wrong at character 5"));
}

/// Where it is wrong, what is wrong there, and what to do.
#[test]
fn every_mistake_is_shown() {
    let shown = |text: &str| text.parse::<Formula>().unwrap_err().to_string();
    assert_eq!(
        shown("died ~ age ++ sex"),
        "the formula is wrong at character 13: expected a term, such as a column's name, found `+`\n  died ~ age ++ sex\n              ^"
    );
    for (text, at, message) in [
        ("", 0, "expected a number, a column's name, a function or `(`, found the end"),
        ("y", 1, "expected `~`, with the target before it and the terms after it, found the end"),
        ("~ x", 0, "there is no target: write the column to predict before the ~"),
        ("y ~", 3, "expected a term, such as a column's name, found the end"),
        ("y ~ x z", 6, "expected `+`, `-`, `*`, `:` or the end, found the name \"z\""),
        ("y ~ (x", 6, "expected `+`, `-`, `*`, `:` or `)`, found the end"),
        ("y ~ x)", 5, "expected `+`, `-`, `*`, `:` or the end, found `)`"),
        ("y ~ x | z", 6, "`|` has no meaning in a formula; random effects are not understood"),
        ("y ~ x %in% z", 6, "`%` has no meaning in a formula: write `a:b`"),
        ("y ~ I(x > 3)", 8, "`>` has no meaning in a formula: comparisons are not understood"),
        ("y ~ d$x", 5, "`$` has no meaning in a formula: columns are called by their names"),
        ("y ~ x # z", 6, "`#` has no meaning in a formula: put names with such signs in `backticks`"),
        ("y ~ 2nd", 4, "2nd is not a number: names that begin with a digit stand in `backticks`"),
        ("y ~ 1e999", 4, "1e999 is not a number"),
        ("y ~ `x", 4, "this ` is never closed: close it"),
        ("y ~ factor(x, ref = 'a)", 20, "this ' is never closed"),
        ("y ~ `` + x", 4, "a name in backticks has at least one letter"),
        ("y ~ poly(x, 2)", 4, "poly is not a function that formulas have: write I(x^2) and so on"),
        ("y ~ relevel(x, 'a')", 4, "relevel is not a function that formulas have: write factor(x), or factor(x, ref"),
        (
            "y ~ sin(x)",
            4,
            "sin is not a function that formulas have: there are log, log2, log10, log1p, exp, expm1, sqrt, abs, I,",
        ),
        ("y ~ log(factor(x))", 8, "factor is not a function that formulas have: it stands by itself among the terms"),
        ("cbind(a, b) ~ x", 0, "cbind is not a function that formulas have: give one target"),
        ("y ~ x + 3", 8, "3 is no term: only 0 and 1 stand for something here, the intercept"),
        ("y ~ x:0", 6, "the intercept is no part of a product or a power"),
        ("y ~ 1*x", 4, "the intercept is no part of a product"),
        ("y ~ (x - 1)^2", 4, "the intercept is no part of a product"),
        ("y ~ x - offset(z)", 8, "an offset is only added: write `+ offset(…)`"),
        ("y ~ x:offset(z)", 6, "an offset is only added"),
        ("y ~ a / b", 6, "`a / b` for nested terms is not understood: write `a + a:b`, or I(a / b)"),
        ("y ~ x^2", 5, "the power of a single term is the term itself, as in R: write I(x^2)"),
        ("y ~ (a + b)^x", 12, "expected a whole number from 1 to 10, found the name \"x\""),
        ("y ~ (a + b)^1.5", 12, "the power of terms is a whole number from 1 to 10, not 1.5"),
        ("y ~ (a + b)^11", 12, "the power of terms is a whole number from 1 to 10, not 11"),
        ("y ~ log(x, 2)", 9, "expected an operation or `)`, found `,`"),
        ("y ~ factor(2)", 11, "expected the name of a column, found the number 2"),
        ("y ~ factor(x, labels = 'a')", 14, "expected `ref =` or `levels =`, each once, found the name \"labels\""),
        ("y ~ factor(x, ref = a)", 20, "expected a level in quotes, found the name \"a\""),
        ("y ~ factor(x, levels = 'a')", 23, "expected the levels, as c(\"a\", \"b\"), found the text \"a\""),
        ("y ~ factor(x, levels = c('a', 'a'))", 30, "the level \"a\" stands twice in `levels`"),
        ("y ~ factor(x, levels = c('a', 'b'), ref = 'c')", 42, "`ref` is \"c\", which is not one of `levels`"),
    ] {
        let error = text.parse::<Formula>().unwrap_err();
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.wrong.to_string().starts_with(message), "{text}: {error}");
    }
    let deep = format!("y ~ {}x{}", "(".repeat(65), ")".repeat(65));
    assert!(shown(&deep).contains("this is nested more than 64 deep"));
    let long = format!("y ~ I(x{})", " + x".repeat(300));
    assert!(shown(&long).contains("there are more than 256 operations in one expression"));
    let long = format!("y ~ x{}", " + x".repeat(30_000));
    assert!(shown(&long).contains("the formula has more than 100000 characters"));
    // The caret is found below a long line, too.
    let message = shown(&format!("y ~ {}x ! z + {}x", "x + ".repeat(50), "x + ".repeat(50)));
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines[1].chars().nth(lines[2].len() - 1), Some('!'), "{message}");
    assert!(lines[1].len() < 130);
}

/// Many terms are no problem, and neither is much of anything else.
#[test]
fn what_is_long_or_deep_is_read_or_refused() {
    assert!(format!("y ~ x{}", " + x".repeat(20_000)).parse::<Formula>().is_ok());
    for part in ["(", "-", "I(", "log(", "x^", "x:", "x*", "((x):", "`", "1+", "x-(", "factor("] {
        for before in ["", "y ~ ", "y ~ I("] {
            assert!(format!("{before}{}", part.repeat(30_000)).parse::<Formula>().is_err(), "{before}{part}");
        }
    }
}

#[test]
fn random_texts_are_formulas_or_errors() {
    const PIECES: [&str; 40] = [
        "y", "x", "~", "~", "+", "+", "-", "*", ":", "^", "(", ")", "0", "1", "2", "3.5", ".", ",", "=", "I(", "log(",
        "factor(", "offset(", "c(", "ref", "levels", "\"a\"", "'b'", "`a b`", "``", "/", " ", "\n", "é", "\u{301}",
        "\\", "|", "1e", "sqrt", "`",
    ];
    let mut random = Random::new(3, "formulas");
    for _ in 0..60_000 {
        let pieces = 1 + random.index(12);
        let mut text = if random.index(2) == 0 { String::from("y ~ ") } else { String::new() };
        (0..pieces).for_each(|_| text.push_str(PIECES[random.index(PIECES.len())]));
        match text.parse::<Formula>() {
            Ok(formula) => assert_eq!(parsed(&formula.to_string()), formula, "{text}"),
            Err(error) => assert!(error.at <= text.chars().count() && !error.to_string().is_empty()),
        }
    }
}

/// Right ones, of every shape.
#[test]
fn random_formulas_are_read_back() {
    fn expression(random: &mut Random, depth: usize) -> String {
        let inner = |random: &mut Random| expression(random, depth.saturating_sub(1));
        match if depth == 0 { random.index(3) } else { random.index(9) } {
            0 => "x".to_owned(),
            1 => "`a b`".to_owned(),
            2 => (random.index(50) as f64 / 4.0).to_string(),
            3 => format!("-{}", inner(random)),
            4 => format!("({})", inner(random)),
            5 => format!("log({})", inner(random)),
            _ => {
                let operator = ["+", "-", "*", "/", "^"][random.index(5)];
                format!("({}){operator}({})", inner(random), inner(random))
            }
        }
    }
    fn terms(random: &mut Random, depth: usize) -> String {
        let inner = |random: &mut Random| terms(random, depth.saturating_sub(1));
        match if depth == 0 { random.index(5) } else { random.index(10) } {
            0 => ".".to_owned(),
            1 => "sex".to_owned(),
            2 => format!("I({})", expression(random, 3)),
            3 => "factor(`k 1`, ref = 2)".to_owned(),
            4 => "age".to_owned(),
            5 => format!("({} + {})^{}", inner(random), inner(random), 1 + random.index(4)),
            6 => format!("({}) - ({})", inner(random), inner(random)),
            _ => format!("({}){}({})", inner(random), ["+", "*", ":"][random.index(3)], inner(random)),
        }
    }
    let mut random = Random::new(4, "formulas");
    for _ in 0..5000 {
        let text = format!(
            "{} ~ {} + 0 + offset({})",
            expression(&mut random, 3),
            terms(&mut random, 4),
            expression(&mut random, 2)
        );
        let formula = parsed(&text);
        assert_eq!(parsed(&formula.to_string()), formula, "{text}");
        assert_eq!(parsed(&formula.to_string()).to_string(), formula.to_string());
    }
}
