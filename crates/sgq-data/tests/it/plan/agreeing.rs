//! From everybody's summaries to what all use.

use sgq_data::{
    Dataset,
    csv::{Options, from_reader},
    glm::{Family, Observations, null_point},
    plan::{AgreeError, Agreed, StudyPlan, Summary, agree},
};

use super::{plan, sites, summary};
use crate::assert_close;

fn agreed(plan: &StudyPlan, own: &[(String, String)]) -> Result<Agreed, AgreeError> {
    let summaries: Vec<Summary> = own.iter().map(|(_, text)| summary(text, plan)).collect();
    let users: Vec<(&str, &Summary)> = own.iter().map(|(name, _)| &**name).zip(&summaries).collect();
    agree(plan, &users)
}

/// All rows in one place, as `sgq fit` reads them.
fn pooled(text: &str, plan: &StudyPlan) -> Dataset {
    let options = Options {
        weight: plan.weight.clone(),
        drop_missing: true,
        loss: plan.family.into(),
        ..Options::with_formula("site", plan.formula.clone())
    };
    from_reader(text.as_bytes(), &options).unwrap()
}

/// The same columns, levels and order; the same scaling but for products; and the start of the fit.
#[test]
fn what_is_agreed_on_is_what_a_fit_of_all_rows_has() {
    let (all, own) = sites();
    for (formula, family, weight) in [
        ("died ~ age + sex + factor(kind)", "binomial", None),
        ("died ~ age * sex + sex:factor(kind, ref = \"2\") + offset(days)", "binomial", Some("w")),
        ("events ~ log(days) + kind + offset(log(days))", "poisson", Some("w")),
        ("events ~ 0 + factor(kind) + age", "negbin:2", None),
        ("cost ~ age + I(age^2) + offset(3 * days)", "gaussian", Some("w")),
        ("cost ~ -1 + age:sex + days", "huber", None),
        ("cost ~ sex + offset(log(days))", "gamma", None),
    ] {
        let plan = StudyPlan { weight: weight.map(str::to_owned), ..plan(formula, family) };
        let data = pooled(&all, &plan);
        let fitted = data.encoding.as_ref().unwrap();
        let agreed = agreed(&plan, &own).unwrap();
        let encoding = &agreed.encoding;
        assert_eq!(encoding.column_names(), fitted.column_names());
        assert_eq!(encoding.variables(), fitted.variables(), "{formula}");
        assert_eq!(encoding.formula(), Some(&plan.formula));
        for (own, pooled) in encoding.columns().iter().zip(fitted.columns()) {
            assert_eq!(own.parts, pooled.parts);
            let sizes = |it: &sgq_data::Column| [it.scaling.mean, it.scaling.scale];
            if own.parts.len() == 1 {
                assert_close(&sizes(own), &sizes(pooled));
            } else {
                // As if independent: of the right size.
                let ratio = own.scaling.scale / pooled.scaling.scale;
                assert!((0.5..2.0).contains(&ratio), "{formula}: {ratio}");
            }
        }
        match (encoding.target(), fitted.target()) {
            (sgq_data::Target::Number(own), sgq_data::Target::Number(pooled)) => {
                assert_close(&[own.mean, own.scale], &[pooled.mean, pooled.scale]);
            }
            (own, pooled) => assert_eq!(own, pooled),
        }
        let family: Family = plan.family;
        let Dataset { rows, targets, weights, offsets, .. } = &data;
        let observations = Observations { rows, targets, weights: Some(weights), offsets: offsets.as_deref(), family };
        assert_close(&agreed.start, &null_point(&observations, fitted.has_intercept()));
        assert_close(&agreed.totals, &data.row_totals());
        assert_eq!((agreed.rows, agreed.rows_missing), (targets.len() as u64, data.dropped_rows as u64));
        let missing = data.missing_by_column.iter().map(|(column, count)| (column.clone(), *count as u64));
        assert_eq!(agreed.missing_by_column, missing.collect::<Vec<_>>());
        let back: Agreed = serde_json::from_str(&serde_json::to_string(&agreed).unwrap()).unwrap();
        assert_eq!(back, agreed);
        // Everybody's file can be encoded with it.
        for (name, text) in &own {
            encoding.encode(text.as_bytes(), name, true).unwrap();
        }
    }
}

/// `COUNT` rows that say the same but for the age.
fn clinic(name: &str, rows: &[(&str, &str)]) -> (String, String) {
    let mut text = "age,sex,died\n".to_owned();
    for (row, (sex, died)) in rows.iter().cycle().take(40).enumerate() {
        text += &format!("{},{sex},{died}\n", 30 + row);
    }
    (name.to_owned(), text)
}

#[test]
fn what_cannot_be_agreed_on_is_named() {
    let usual = plan("died ~ age + sex", "binomial");
    let both = [("m", "no"), ("f", "no"), ("m", "yes"), ("f", "yes")];
    let (north, south) = (clinic("north", &both), clinic("south", &both));
    let refused = |plan: &StudyPlan, own: &[&(String, String)]| {
        agreed(plan, &own.iter().map(|it| (*it).clone()).collect::<Vec<_>>()).unwrap_err().to_string()
    };
    assert_eq!(refused(&usual, &[]), "no clinic has given its first answer: at least one is needed");
    assert!(refused(&usual, &[&north, &north]).starts_with("north is named twice"));
    let men = clinic("west", &[("m", "no"), ("m", "yes")]);
    assert_eq!(
        refused(&usual, &[&men]),
        "\"sex\" has the level \"m\" in every row of every clinic, and so says nothing: leave it out of the formula"
    );
    let alive = clinic("west", &[("m", "no"), ("f", "no")]);
    assert_eq!(
        refused(&usual, &[&alive]),
        "the target died is \"no\" in every row of every clinic: there is nothing to predict"
    );
    let other = clinic("west", &[("m", "nein"), ("f", "no")]);
    assert_eq!(
        refused(&usual, &[&north, &other]),
        "the target died has 3 levels at all clinics together, and needs 2: \"nein\" (first at west), \"no\" (first at north), \
         \"yes\" (first at north)"
    );
    let coded = clinic("west", &[("1", "no"), ("2", "yes")]);
    assert_eq!(
        refused(&usual, &[&north, &coded]),
        "\"sex\" is a number at west and text at north: correct one of the files, or make it a factor everywhere, factor(sex) in the \
         formula"
    );
    let same = ("west".to_owned(), south.1.lines().map(|line| format!("{line}\n")).collect::<String>());
    let constant = plan("died ~ sex + I(age - age)", "binomial");
    assert_eq!(
        refused(&constant, &[&north, &same]),
        "columns with the same value in every row of every clinic say nothing: leave \"I(age - age)\" out of the formula"
    );
    let reference = plan("died ~ factor(sex, ref = \"x\")", "binomial");
    assert_eq!(
        refused(&reference, &[&north]),
        "no row of any clinic has the level \"x\" of \"sex\": there are \"f\", \"m\""
    );
    let tiny = ("west".to_owned(), "age,sex,died\n1,m,no\n2,f,yes\n".to_owned());
    assert!(refused(&usual, &[&tiny]).starts_with("the model has 3 parameters, and all clinics together 2 rows"));
    // One clinic is the cause, and is named.
    let huge = |text: &str| {
        text.lines()
            .map(|line| match line.split_once(',') {
                Some((age, rest)) if age != "age" => format!("1e200,{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect::<String>()
    };
    let huge = ("west".to_owned(), huge(&south.1));
    for own in [&[&north, &huge, &south][..], &[&north, &huge], &[&huge, &north]] {
        assert_eq!(
            refused(&usual, own),
            "age cannot be scaled: its numbers at west are too large, too small or too close to each other; choose another unit"
        );
        let error = refused(&plan("age ~ sex", "gaussian"), own);
        assert!(error.starts_with("the target age cannot be scaled: its numbers at west are too large"), "{error}");
    }
    let weighted = StudyPlan { weight: Some("w".into()), ..plan("died ~ sex", "binomial") };
    let with_weights =
        |name: &str, x: u32| (name.to_owned(), format!("sex,died,w\nm,no,1\nf,yes,1\nm,yes,1\nx,no,{x}\n"));
    assert_eq!(
        refused(&weighted, &[&with_weights("east", 0)]),
        "no row of any clinic has the level \"x\" of \"sex\" with a positive weight (east has it with weight 0): there are \"f\", \"m\""
    );
    let many = |name: &str, count: usize| {
        let rows = (0..count).map(|row| format!("{name}{row},{}\n", ["no", "yes"][row % 2]));
        (name.to_owned(), "ward,died\n".to_owned() + &rows.collect::<String>())
    };
    let error = refused(&plan("died ~ ward", "binomial"), &[&many("a", 400), &many("b", 700)]);
    assert!(
        error.contains(" levels at all clinics together, more than ") && error.contains("most of them at b: "),
        "{error}"
    );
    let mut damaged = summary(&north.1, &usual);
    damaged.rows += 1;
    let error = agree(&usual, &[("north", &damaged)]).unwrap_err().to_string();
    assert!(error.starts_with("the first answer of north cannot be used: its weights sum to 40"), "{error}");
}

#[test]
fn what_is_odd_is_noted() {
    let usual = plan("died ~ age + sex", "binomial");
    let both = [("m", "no"), ("f", "no"), ("m", "yes"), ("f", "yes")];
    let (north, south) = (clinic("north", &both), clinic("south", &both));
    let notes = |own: &[&(String, String)]| {
        agreed(&usual, &own.iter().map(|it| (*it).clone()).collect::<Vec<_>>()).unwrap().notes
    };
    assert_eq!(notes(&[&north, &south]), [""; 0]);
    let letters = clinic("west", &[("m", "no"), ("F ", "yes"), ("x", "no"), ("m", "yes")]);
    assert_eq!(
        notes(&[&north, &letters, &south]),
        [
            "west alone has the level \"F\" of \"sex\", in 10 rows; others write \"f\": is it the same?; it is the reference level, which all others are compared with",
            "west alone has the level \"x\" of \"sex\", in 10 rows"
        ]
    );
    let months = north.1.lines().map(|line| match line.split_once(',') {
        Some((age, rest)) if age != "age" => format!("{},{rest}\n", 12 * age.parse::<u32>().unwrap()),
        _ => format!("{line}\n"),
    });
    let months = ("west".to_owned(), months.collect::<String>());
    assert_eq!(
        notes(&[&north, &months, &south]),
        [
            "the mean of age is 594.0 at west and 49.50 at the others, 47 standard deviations away: is it in the same unit?"
        ]
    );
    let men = ("west".to_owned(), "age,sex,died\n50,m,no\n50,m,no\n".to_owned());
    assert_eq!(
        notes(&[&north, &south, &men]),
        [
            "west will not answer: 2 rows are used, and the plan asks for at least 10",
            "age is the same in every row of west",
            "\"sex\" has the level \"m\" in every row of west",
            "the target died is \"no\" in every row of west"
        ]
    );
    let few = ("west".to_owned(), north.1.lines().take(10).map(|line| format!("{line}\n")).collect::<String>());
    let small = StudyPlan { rules: sgq_data::plan::Rules { min_rows: 5, ..usual.rules }, ..usual.clone() };
    assert_eq!(
        agreed(&small, &[few, north.clone()]).unwrap().notes,
        [
            "west will not answer: the model has 3 parameters, and the plan allows 0.33 for each of the 9 rows: at most 2"
        ]
    );
}
