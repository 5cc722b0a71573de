//! What a clinic discloses first.

use sgq_data::plan::{LevelCount, Moments, StudyPlan, Summary, TargetLevel, TargetSummary, VariableSummary};

use super::{plan, sites, summary};
use crate::{assert_close, gzip};

fn number(of: &str, mean: f64, deviation: f64) -> VariableSummary {
    VariableSummary::Number { of: of.parse().unwrap(), moments: Moments { mean, deviation } }
}

fn factor(of: &str, levels: &[(&str, u64)]) -> VariableSummary {
    let level = |(level, rows): &(&str, u64)| LevelCount { level: (*level).to_owned(), rows: *rows };
    VariableSummary::Factor { of: of.to_owned(), levels: levels.iter().map(level).collect() }
}

const TEXT: &str = "age,sex,kind,died,w\n2,m,1,yes,1\n4,f,1.0,no,2\nNA,m,2,no,1\n4,m,2,,1\n9,x,2,no,0\n6,f,2,yes,3\n";

#[test]
fn it_is_counts_means_and_levels_and_no_more() {
    let weighted =
        StudyPlan { weight: Some("w".into()), ..plan("died ~ age * sex + factor(kind) + I(age)", "binomial") };
    let found = summary(TEXT, &weighted);
    let level = |level: &str, rows, weight| TargetLevel { level: level.to_owned(), rows, weight };
    let expected = Summary {
        rows: 3,
        rows_missing: 2,
        missing_by_column: vec![("age".to_owned(), 1), ("died".to_owned(), 1)],
        weight: 6.0,
        variables: vec![
            number("age", 4.0, (8.0f64 / 3.0).sqrt()),
            factor("sex", &[("f", 2), ("m", 1), ("x", 0)]),
            factor("kind", &[("1", 1), ("1.0", 1), ("2", 1)]),
        ],
        target: TargetSummary::Levels { levels: vec![level("no", 1, 2.0), level("yes", 2, 4.0)], offset: 0.0 },
        offset: None,
    };
    assert_eq!(found, expected);
    // 3 counts, 2 of missing values, age, six levels, the target's levels and the mean offset.
    assert_eq!(found.numbers(), 3 + 2 + 2 + 6 + 4 + 1);
    assert_eq!(Summary::of(&gzip(TEXT)[..], &weighted).unwrap(), found);
    let back: Summary = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
    assert_eq!(back, found);
    assert!(found.in_words().contains("2 rows left out, where a value is missing (\"age\": 1, \"died\": 1)"));
}

#[test]
fn targets_are_those_of_their_family() {
    let text = "y,o,w\n1,0.5,1\n3,0.25,3\n";
    let of = |formula: &str, family: &str| {
        summary(text, &StudyPlan { weight: Some("w".into()), ..plan(formula, family) }).target
    };
    let moments = Moments { mean: 1.625, deviation: 1.125 };
    assert_eq!(
        of("y ~ 1 + offset(o)", "gaussian"),
        TargetSummary::Number { moments, weighted_mean: (0.5 + 3.0 * 2.75) / 4.0 }
    );
    let TargetSummary::Count { mean, exposure } = of("y ~ 1 + offset(o)", "poisson") else { panic!() };
    assert_close(&[mean, exposure], &[2.5, (0.5f64.exp() + 3.0 * 0.25f64.exp()) / 4.0]);
    let TargetSummary::Positive { mean } = of("y ~ 1 + offset(o)", "gamma") else { panic!() };
    assert_close(&[mean], &[((-0.5f64).exp() + 9.0 * (-0.25f64).exp()) / 4.0]);
    let TargetSummary::Levels { levels, offset } = of("y ~ 1", "binomial") else { panic!() };
    assert_eq!((levels[0].level.as_str(), levels[1].weight, offset), ("1", 3.0, 0.0));
}

#[test]
fn a_file_that_does_not_fit_the_plan_is_refused_as_ever() {
    let refused = |text: &str, plan: &StudyPlan| Summary::of(text.as_bytes(), plan).unwrap_err().to_string();
    let usual = plan("died ~ age + sex", "binomial");
    for (text, words) in [
        ("aeg,sex,died\n1,m,yes\n", "there is no column \"age\"; did you mean \"aeg\"?"),
        ("age,sex,died\n1,m,yes\n2,f,no\n3,f,maybe\n", "has 3 levels, and a logistic loss needs 2"),
        ("age,sex,died\n", "the file has a header and no rows below it"),
        ("age,sex,died\nNA,m,yes\n2,,no\n", "every row has a missing value"),
        ("age,sex,died\n1e300,m,yes\n-1e300,f,no\n", "cannot be summed up"),
    ] {
        let error = refused(text, &usual);
        assert!(error.contains(words), "{error}");
    }
    let error = refused("age,sex,died\n1,m,yes\n1O,f,no\n2,m,no\n", &usual);
    assert_eq!(
        error,
        "column \"age\" has numbers in 2 rows and something else in 1: line 3 has \"1O\", which is not a finite number; correct it, \
         leave the column out, or declare that it has levels: factor(age) in the formula"
    );
    let declared = plan("died ~ factor(sex, levels = c(\"m\", \"f\"))", "binomial");
    assert!(refused("sex,died\nm,yes\nx,no\n", &declared).contains("line 3: \"sex\" is \"x\""));
    let weighted = StudyPlan { weight: Some("w".into()), ..usual };
    assert!(refused("age,sex,died,w\n1,m,yes,0\n", &weighted).contains("all weights are 0"));
    assert!(refused("age,sex,died,w\n1,m,yes,-1\n", &weighted).contains("a weight is not negative"));
}

/// What comes from outside is looked at.
#[test]
fn a_summary_that_no_file_has_is_refused() {
    let usual = plan("died ~ age + sex", "binomial");
    let (_, own) = sites();
    let good = summary(&own[0].1, &usual);
    assert_eq!(good.check(&usual), Ok(()));
    type Change<'a> = (&'a dyn Fn(&mut Summary), &'a str);
    let wrong: [Change<'_>; 10] = [
        (&|it| it.rows = 0, "it has 0 rows"),
        (&|it| it.weight = f64::NAN, "its weights sum to NaN"),
        (&|it| it.weight += 1.0, "rows that count alike"),
        (&|it| it.missing_by_column.push(("x".into(), 1)), "\"x\", which is not in the plan"),
        (&|it| it.missing_by_column[0].1 = 99, "\"age\" is missing in 99 of"),
        (&|it| drop(it.variables.pop()), "it says nothing of sex"),
        (&|it| it.variables.push(it.variables[0].clone()), "it tells of age, which is not in the plan, or twice"),
        (&|it| it.variables[0] = number("age", 1.0, -1.0), "age has the mean 1 and the deviation -1"),
        (&|it| it.variables[1] = factor("sex", &[("m", 3)]), "the levels of sex do not have"),
        (&|it| it.target = TargetSummary::Positive { mean: 1.0 }, "its target is not one of the family binomial"),
    ];
    for (change, words) in wrong {
        let mut bad = good.clone();
        change(&mut bad);
        let error = bad.check(&usual).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}
