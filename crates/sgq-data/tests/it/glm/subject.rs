//! A fit whose rows are all in one place, from the text of a file to the table.

use std::ops::ControlFlow;

use sgq::{
    Method, Oracle as _, Problem as _, Session, StopReason,
    drive::{Billed, Observer},
};
use sgq_data::{
    Dataset, InFile,
    csv::{CsvError, Options, from_reader},
    glm::{ChosenFamily, Family, Influences, Precision, StdErrors, Subject, SubjectError, Weigh},
};

use super::Numbers;

/// Rows of three hospitals: a target, a number, a code that looks like one, and twice the number.
fn table(rows: usize) -> String {
    let mut numbers = Numbers(5);
    let mut text = "hospital,died,cost,age,code,double\n".to_owned();
    for row in 0..rows {
        let (age, noise) = (numbers.normal(), numbers.normal());
        let died = u8::from(age + 2.0 * noise > 0.0);
        text += &format!("h{},{died},{},{age},{},{}\n", row % 3, age + noise, row % 4, 2.0 * age);
    }
    text
}

fn read(text: &str, formula: &str, family: Option<Family>) -> Result<(Dataset, ChosenFamily), InFile<CsvError>> {
    let options = Options {
        text_columns: vec!["code".into(), "hospital".into(), "nowhere".into()],
        ..Options::with_formula("hospital", formula.parse().unwrap())
    };
    let read =
        |options: &Options| from_reader(text.as_bytes(), options).map_err(|error| InFile { path: "it".into(), error });
    ChosenFamily::read(family, &options, read)
}

struct Count(u64);

impl Observer for Count {
    fn telling(&mut self, _: &Billed<'_>) -> std::io::Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn told(&mut self, _: &Session<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn the_family_is_told_by_the_levels_where_nobody_says() {
    let text = table(60);
    let chosen = |formula, family| read(&text, formula, family).unwrap().1;
    assert_eq!(chosen("died ~ age", None).family, Family::Binomial);
    assert_eq!(chosen("cost ~ age", None).family, Family::Gaussian);
    let said = chosen("died ~ age", Some(Family::Poisson));
    assert_eq!((said.family, said.because), (Family::Poisson, None));
    let error = read(&text, "cost ~ age", Some(Family::Binomial)).unwrap_err();
    assert!(matches!(error.error, CsvError::Classes { .. }));
    let (data, chosen) = read(&text, "died ~ age", None).unwrap();
    let words = chosen.in_words(&data.target, "say another");
    assert_eq!(words, "binomial: the target has two levels; say another; the probability of \"1\"");
}

#[test]
fn columns_that_are_said_to_be_text_are_factors_where_they_are_used() {
    let text = table(60);
    let (data, _) = read(&text, "cost ~ age + code", None).unwrap();
    assert_eq!(data.column_names, ["intercept", "age", "code=1", "code=2", "code=3"]);
    let encoding = data.encoding.unwrap();
    let references = encoding.reference_levels();
    assert_eq!(references.len(), 1);
    assert_eq!((references[0].0, references[0].1), ("code", ["0", "1", "2", "3"].map(String::from).as_slice()));
    // A number where the formula needs one, and not looked at where it is not used.
    let (data, _) = read(&text, "cost ~ I(code + age)", None).unwrap();
    assert_eq!(data.column_names.len(), 2);
    // Without an intercept every level has a coefficient, and none is a reference.
    let (data, _) = read(&text, "cost ~ code - 1", None).unwrap();
    assert!(data.encoding.unwrap().reference_levels().is_empty());
}

#[test]
fn a_run_to_a_precision_ends_at_the_optimum_and_closes_exactly() {
    let (data, chosen) = read(&table(90), "died ~ age + code", None).unwrap();
    let subject = Subject::new(&data, chosen.family, Weigh::Rows).unwrap().std_errors(StdErrors::Clustered);
    let problem = subject.problem(true, false).unwrap();
    let settings =
        subject.settings(&problem, false).budget(subject.default_budget()).tolerance(Precision::FIRST_TOLERANCE);
    let with_constants = subject.problem(true, true).unwrap();
    assert!(subject.settings(&with_constants, true).smoothness.is_some());
    assert!(settings.smoothness.is_none() && subject.settings(&with_constants, false).smoothness.is_none());
    let mut session = Session::new(Method::by_name("frugal").unwrap(), settings).unwrap();
    let precision = Precision { errors: Some(1e-5), study: &subject.study };
    let mut count = Count(0);
    let stop = precision.drive(&mut session, &problem, &mut count).unwrap();
    assert!(stop.is_some_and(StopReason::is_converged) && count.0 == session.queries());
    assert_eq!(precision.is_reached(&session), Some(true));

    let best = &problem.optimum().unwrap().point;
    let (reached, exact) = (subject.close(session.point()).unwrap(), subject.close(best).unwrap());
    let lines = |statistics: &sgq_data::glm::Statistics| statistics.inference.clone().unwrap().coefficients;
    for (ours, exact) in lines(&reached).iter().zip(&lines(&exact)) {
        assert!((ours.estimate - exact.estimate).abs() <= 1e-5 * exact.std_error, "{ours:?} {exact:?}");
    }
    assert_eq!((reached.closings, problem.users()), (3, 3));
    assert_eq!(subject.study.first_numbers(), 3 * (2 * 5 + 2));
    let named = Influences::of(&reached, &data.user_names).unwrap();
    assert_eq!((named.users, named.largest.len()), (3, 3));
    assert!((named.threshold - 2.0 / 3f64.sqrt()).abs() < 1e-15 && named.largest[0].user.starts_with('h'));
    assert_eq!(Influences::of(&Default::default(), &data.user_names), None);
}

#[test]
fn coefficients_that_do_not_exist_need_a_penalty() {
    let text = table(60);
    let cases = [("cost ~ age + double", Family::Gaussian), ("died ~ factor(died2) + age", Family::Binomial)];
    let text = text.lines().enumerate().map(|(row, line)| match row {
        0 => format!("{line},died2\n"),
        _ => format!("{line},{}\n", line.split(',').nth(1).unwrap_or_default()),
    });
    let text: String = text.collect();
    for (formula, family) in cases {
        let (data, _) = read(&text, formula, Some(family)).unwrap();
        let subject = Subject::new(&data, family, Weigh::Rows).unwrap();
        let error = subject.problem(true, false).unwrap_err();
        assert!(error.needs_penalty() && error.to_string().ends_with("or give a penalty"), "{error}");
        // A real run cannot look, and a penalty makes them exist.
        assert!(subject.problem(false, false).is_ok());
        assert!(subject.penalised(0.01).problem(true, false).is_ok());
    }
    let (mut data, _) = read(&text, "cost ~ age", None).unwrap();
    data.encoding = None;
    let error = Subject::new(&data, Family::Gaussian, Weigh::Rows).unwrap_err();
    assert!(matches!(error, SubjectError::NoEncoding) && !error.needs_penalty());
}
