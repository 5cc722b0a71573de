//! A regression by a plan: everybody's first answers, the model, the run, the closing answers, the table.

mod trouble;

use std::{
    fs,
    path::{Path, PathBuf},
};

use sgq::{Settings, StopReason, method, session::Failure};
use sgq_data::{
    csv,
    glm::{Coefficient, Inference, StdErrors, Subject, Weigh},
    plan::{Clinic, Options, StudyPlan},
};
use sgq_ledger::{Extension, Ledger, Message, Plan, Question, Reader, Saying, Terms, Told, User, Wants, schema};

use crate::clinics::{bits, events, file, quick_folder};

const CLINICS: usize = 12;

/// Deaths by age, sex and ward, of 12 to 78 patients a clinic; two values are missing.
fn patients() -> Vec<String> {
    let mut state = 7_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let clinic = |clinic: usize| {
        let rows = (0..12 + 6 * clinic).map(|row| {
            let (age, sex, ward) = ((30.0 + 60.0 * draw()).round(), draw() < 0.5, (3.0 * draw()) as usize);
            let z = -6.0 + 0.08 * age + 0.5 * f64::from(u8::from(sex)) - 0.6 * ward as f64 + 0.05 * clinic as f64;
            let died = draw() < 1.0 / (1.0 + (-z).exp());
            let age = if row == 5 && clinic < 2 { "NA".to_owned() } else { age.to_string() };
            format!("clinic-{clinic},{age},{},w{ward},{}\n", if sex { "f" } else { "m" }, u8::from(died))
        });
        rows.collect()
    };
    (0..CLINICS).map(clinic).collect()
}

const HEADER: &str = "clinic,age,sex,ward,died\n";

fn study_plan() -> StudyPlan {
    let mut plan = StudyPlan::new("died ~ age + sex + ward".parse().unwrap(), "binomial".parse().unwrap());
    plan.rules.parameters_per_row = 0.5;
    plan
}

fn plan(terms: Terms) -> Plan {
    let users: Vec<User> = (0..CLINICS).map(|clinic| User::named(format!("clinic-{clinic}"))).collect();
    Plan::of_study(method::frugal(), Settings::new(Vec::new(), CLINICS).budget(1000).seed(3), users, terms)
}

fn clinics(plan: &StudyPlan) -> Vec<Clinic> {
    let open = |(clinic, rows): (usize, String)| {
        let data = format!("{HEADER}{rows}").into_bytes();
        Clinic::new(plan.clone(), data, &format!("clinic-{clinic}"), &Options::default()).unwrap()
    };
    patients().into_iter().enumerate().map(open).collect()
}

/// Tells what a clinic says to a question.
fn answer(ledger: &mut Ledger, clinics: &mut [Clinic], question: &Question) -> Told {
    let line = clinics[question.user].answer(&question.to_json().unwrap()).line;
    match Message::from_json(&line).unwrap().saying {
        Saying::Answer(reply) => ledger.tell(question.ticket, &reply).unwrap(),
        Saying::Report(report) => ledger.tell_report(question.ticket, &report, Some(question.user)).unwrap(),
        Saying::Error(why) => panic!("{}: {why}", question.name),
    }
}

/// One answer to the question that is out the longest.
fn step(ledger: &mut Ledger, clinics: &mut [Clinic]) -> bool {
    ledger.ask_many(usize::MAX).unwrap();
    let Some(question) = ledger.pending().into_iter().next() else { return false };
    answer(ledger, clinics, &question);
    true
}

fn run(ledger: &mut Ledger, clinics: &mut [Clinic]) {
    while step(ledger, clinics) {}
}

/// The same of all rows in one place.
fn pooled(weigh: Weigh, std_errors: StdErrors, clinics: &[String]) -> Inference {
    let text = HEADER.to_owned() + &clinics.concat();
    let features = csv::Features::Formula(study_plan().formula);
    let loss = study_plan().family.into();
    let options = csv::Options { features, loss, drop_missing: true, ..csv::Options::new("clinic", "") };
    let data = csv::from_reader(text.as_bytes(), &options).unwrap();
    let subject = Subject::new(&data, study_plan().family, weigh).unwrap().std_errors(std_errors);
    let problem = subject.problem(true, false).unwrap();
    let point = &sgq::Problem::optimum(&problem).unwrap().point;
    subject.close(point).unwrap().inference.unwrap()
}

fn agree(found: &[Coefficient], expected: &[Coefficient], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.name, expected.name);
        for (found, expected) in [(found.estimate, expected.estimate), (found.std_error, expected.std_error)] {
            assert!((found - expected).abs() <= tolerance * expected.abs(), "{found} and {expected}");
        }
    }
}

fn create(path: &Path, terms: Terms) -> Ledger {
    Ledger::create(path, &plan(terms)).unwrap()
}

#[test]
fn it_ends_at_the_fit_of_all_rows() {
    for (weigh, std_errors) in
        [(Weigh::Rows, StdErrors::Model), (Weigh::Rows, StdErrors::Clustered), (Weigh::Users, StdErrors::Clustered)]
    {
        let folder = quick_folder();
        let path = file(&folder, "study.sgq");
        let study_plan = StudyPlan { weigh, ..study_plan() };
        let mut clinics = clinics(&study_plan);
        let mut ledger = create(&path, Terms::new(study_plan).precision(Some(1e-7)));
        assert!(ledger.results(std_errors).unwrap().is_none());
        run(&mut ledger, &mut clinics);
        assert!(ledger.stop_reason().is_some_and(StopReason::is_converged), "{:?}", ledger.stop_reason());
        let results = ledger.results(std_errors).unwrap().unwrap();
        assert!(results.is_closed && results.converged == Some(true), "{results:?}");
        let (found, expected) =
            (results.statistics.inference.as_ref().unwrap(), pooled(weigh, std_errors, &patients()));
        agree(&found.coefficients, &expected.coefficients, 1e-6);
        let (deviance, pooled) = (found.deviance.unwrap(), expected.deviance.unwrap());
        assert!((deviance - pooled).abs() < 1e-6 * pooled);
        assert_eq!((found.rows, found.rows_missing, results.users.len()), (expected.rows, Some(2), CLINICS));
        assert_eq!((results.reported.summaries, results.reported.closings), (12, 12));
        assert_eq!(results.statistics.influence.len(), CLINICS);
        let json = results.to_json().unwrap();
        assert_eq!(json["coefficients"].as_array().unwrap().len(), 5);
        assert_eq!(json["missing_by_column"][0]["rows"], 2);
        // Somebody else who looks sees the same.
        ledger.close().unwrap();
        let seen = Reader::open(&path).unwrap().results(std_errors).unwrap().unwrap();
        assert_eq!(seen.to_json().unwrap(), json);
        assert!(Reader::open(&path).unwrap().verify().unwrap().is_sound());
    }
}

pub fn fixture(format: i32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/study-{format}.sgq"))
}

/// A study that has its model, with questions that are out.
pub fn begun(path: &Path) {
    let mut ledger = create(path, Terms::new(study_plan()));
    let mut clinics = clinics(&study_plan());
    (0..30).for_each(|_| assert!(step(&mut ledger, &mut clinics)));
    ledger.ask_many(usize::MAX).unwrap();
    ledger.close().unwrap();
}

/// Studies of every layout open, and go on to the end.
#[test]
fn studies_of_every_layout_open() {
    for format in 2..=schema::VERSION {
        let folder = quick_folder();
        let path = file(&folder, "study.sgq");
        fs::copy(fixture(format), &path).unwrap();
        let mut ledger = Ledger::open(&path).unwrap();
        assert_eq!((ledger.queries(), ledger.reported().summaries), (18, 12));
        run(&mut ledger, &mut clinics(&study_plan()));
        let results = ledger.results(StdErrors::Model).unwrap().unwrap();
        let expected = pooled(Weigh::Rows, StdErrors::Model, &patients());
        agree(&results.statistics.inference.unwrap().coefficients, &expected.coefficients, 1e-2);
    }
}

/// Whatever ends the program, and whenever, it goes on where it was.
#[test]
fn interruptions_change_nothing() {
    let folder = quick_folder();
    let (whole, parts) = (file(&folder, "whole.sgq"), file(&folder, "parts.sgq"));
    let mut ledger = create(&whole, Terms::new(study_plan()));
    run(&mut ledger, &mut clinics(&study_plan()));
    let point = bits(ledger.session().point());
    ledger.close().unwrap();
    let mut clinics = clinics(&study_plan());
    drop(create(&parts, Terms::new(study_plan())));
    let mut went_on = true;
    let mut times = 0;
    while went_on {
        let mut ledger = Ledger::open(&parts).unwrap();
        went_on = (0..1 + times % 7).all(|_| step(&mut ledger, &mut clinics));
        times += 1;
    }
    let seen = Reader::open(&parts).unwrap();
    assert_eq!(bits(seen.session().unwrap().point()), point);
    assert_eq!(events(&parts), events(&whole));
}

/// Without a closing question, standard errors are learned on the way.
#[test]
fn without_a_closing_question_standard_errors_are_approximate() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = create(&path, Terms::new(study_plan()).close(false));
    run(&mut ledger, &mut clinics(&study_plan()));
    let results = ledger.results(StdErrors::Model).unwrap().unwrap();
    assert!(!results.is_closed && results.reported.closings == 0);
    let found = results.statistics.inference.unwrap();
    let expected = pooled(Weigh::Rows, StdErrors::Model, &patients());
    for (found, expected) in found.coefficients.iter().zip(&expected.coefficients) {
        assert!((found.estimate - expected.estimate).abs() < 0.05 * expected.std_error, "{found:?}");
        assert!((found.std_error / expected.std_error - 1.0).abs() < 0.5, "{found:?} {expected:?}");
    }
}

/// More of it moves the point, and what was closed there is closed again; as often as the plan allows.
#[test]
fn what_goes_on_is_closed_again() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut study_plan = study_plan();
    study_plan.rules.closing = 2;
    let mut clinics = clinics(&study_plan);
    let mut ledger = create(&path, Terms::new(study_plan).precision(None));
    let tolerance = |part| Extension { tolerance: Some(part), ..Extension::default() };
    assert!(step(&mut ledger, &mut clinics));
    // Before there is a model, too.
    ledger.extend(tolerance(1e-2)).unwrap();
    run(&mut ledger, &mut clinics);
    assert_eq!(ledger.reported().closings, 12);
    for (part, closings) in [(1e-5, 24), (1e-8, 24)] {
        ledger.extend(tolerance(part)).unwrap();
        run(&mut ledger, &mut clinics);
        assert_eq!(ledger.reported().closings, closings);
        let results = ledger.results(StdErrors::Model).unwrap().unwrap();
        assert_eq!(results.is_closed, part > 1e-8);
    }
    ledger.close().unwrap();
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.reported().closings, 24);
    assert!(!ledger.results(StdErrors::Model).unwrap().unwrap().is_closed);
}

/// A clinic that will not answer is waited for; without it the study is that of the others.
#[test]
fn who_does_not_answer_can_leave() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&path, Terms::new(study_plan()).precision(Some(1e-7)));
    ledger.ask_many(usize::MAX).unwrap();
    let questions = ledger.pending();
    assert!(questions.iter().all(|question| question.report == Some(Wants::Summary)));
    for question in &questions[1..] {
        answer(&mut ledger, &mut clinics, question);
    }
    ledger.fail(questions[0].ticket, Failure::new().because("too few rows")).unwrap();
    assert_eq!(ledger.refusals(), [("clinic-0".to_owned(), "too few rows".to_owned())]);
    assert_eq!((ledger.ask().unwrap(), ledger.round()), (None, Some((Wants::Summary, 11, 12))));
    drop(ledger);
    // The next time it is asked again.
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.ask().unwrap().map(|question| question.ticket), Some(questions[0].ticket));
    ledger.leave(0, None).unwrap();
    run(&mut ledger, &mut clinics);
    let results = ledger.results(StdErrors::Model).unwrap().unwrap();
    assert_eq!((results.users.len(), &*results.users[0]), (11, "clinic-1"));
    let expected = pooled(Weigh::Rows, StdErrors::Model, &patients()[1..]);
    agree(&results.statistics.inference.unwrap().coefficients, &expected.coefficients, 1e-6);
    let error = ledger.join(0, None).unwrap_err().to_string();
    assert!(error.contains("has given no first answer"), "{error}");
    // Whoever leaves later takes its rows along.
    ledger.leave(11, None).unwrap();
    run(&mut ledger, &mut clinics);
    let results = ledger.results(StdErrors::Model).unwrap().unwrap();
    let expected = pooled(Weigh::Rows, StdErrors::Model, &patients()[1..11]);
    agree(&results.statistics.inference.as_ref().unwrap().coefficients, &expected.coefficients, 1e-6);
    assert_eq!(results.to_json().unwrap()["rows"].as_u64(), expected.rows);
}

/// The plan's limits hold, and what contradicts them is refused before there is a file.
#[test]
fn a_plan_leaves_no_choice() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut plan = plan(Terms::new(study_plan()));
    plan.users[2].weight = Some(3.0);
    let error = Ledger::create(&path, &plan).unwrap_err().to_string();
    assert!(error.contains("clinic-2") && error.contains("follow from the data"), "{error}");
    plan.users[2].weight = None;
    plan.protection.epsilon = Some(1.0);
    let error = Ledger::create(&path, &plan).unwrap_err().to_string();
    assert!(error.contains("epsilon cannot be kept in a study by a plan"), "{error}");
    plan.protection.epsilon = None;
    let ledger = Ledger::create(&path, &plan).unwrap();
    assert_eq!(ledger.protection().answers_each, Some(50));
    assert_eq!(ledger.terms(), plan.study.as_ref());
}

/// Whoever will not give its closing answer keeps nobody from going on; what it would have closed is out of date then.
#[test]
fn a_refused_closing_does_not_block() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&path, Terms::new(study_plan()).precision(None));
    let run_but_for_closing_of_2 = |ledger: &mut Ledger, clinics: &mut [Clinic]| {
        loop {
            ledger.ask_many(usize::MAX).unwrap();
            let Some(question) = ledger.pending().into_iter().next() else { break };
            if question.report == Some(Wants::Closing) && question.user == 2 {
                ledger.fail(question.ticket, Failure::new().because("noise")).unwrap();
            } else {
                answer(ledger, clinics, &question);
            }
        }
    };
    ledger.extend(Extension { tolerance: Some(1e-2), ..Extension::default() }).unwrap();
    run_but_for_closing_of_2(&mut ledger, &mut clinics);
    assert_eq!((ledger.round(), ledger.reported().closings), (Some((Wants::Closing, 11, 12)), 11));
    let (queries, results) = (ledger.queries(), ledger.results(StdErrors::Model).unwrap().unwrap());
    assert!(!results.is_closed && results.statistics.inference.is_some());
    ledger.extend(Extension { tolerance: Some(1e-8), ..Extension::default() }).unwrap();
    assert_eq!(ledger.round(), None);
    run_but_for_closing_of_2(&mut ledger, &mut clinics);
    assert!(ledger.queries() > queries);
    // Another one goes: the others go on, and are closed without it.
    ledger.leave(2, None).unwrap();
    run(&mut ledger, &mut clinics);
    let results = ledger.results(StdErrors::Model).unwrap().unwrap();
    assert!(results.is_closed && results.users.len() == 11, "{results:?}");
}

/// Who leaves and joins again is asked anew, and closed anew at the end.
#[test]
fn who_comes_back_is_closed_anew() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&path, Terms::new(study_plan()).precision(Some(1e-7)));
    run(&mut ledger, &mut clinics);
    ledger.leave(4, None).unwrap();
    ledger.join(4, None).unwrap();
    let gone = ledger.results(StdErrors::Model).unwrap().unwrap();
    assert_eq!((gone.converged, gone.is_closed), (Some(false), false));
    run(&mut ledger, &mut clinics);
    let results = ledger.results(StdErrors::Model).unwrap().unwrap();
    let expected = pooled(Weigh::Rows, StdErrors::Model, &patients());
    agree(&results.statistics.inference.as_ref().unwrap().coefficients, &expected.coefficients, 1e-6);
    assert!(results.is_closed && ledger.queries() < 150, "{}", ledger.queries());
}
