//! A regression by a plan: everybody's first answers, the model, the run, the closing answers, the table.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use sgq::{Settings, StopReason, method, session::Failure};
use sgq_data::{
    csv,
    glm::{Coefficient, Inference, StdErrors, Subject, Weigh},
    plan::{Clinic, Options, StudyPlan},
};
use sgq_ledger::{
    Extension, Ledger, LedgerError, Message, Plan, Question, Reader, Rejected, Saying, Terms, Told, User, Wants,
    folder::Folder, recover, schema,
};

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

/// What cannot be right is refused, and its question stays open.
#[test]
fn what_cannot_be_right_is_refused() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&path, Terms::new(study_plan()));
    ledger.ask_many(usize::MAX).unwrap();
    let question = ledger.pending().remove(0);
    let line = clinics[0].answer(&question.to_json().unwrap()).line;
    let Saying::Report(report) = Message::from_json(&line).unwrap().saying else { panic!("{line}") };
    let wrong: Vec<(String, u64, Option<usize>, &str)> = vec![
        (
            line.replace("\"rows\":12", "\"rows\":1200000").replace("\"rows\":11", "\"rows\":1200000"),
            question.ticket,
            Some(0),
            "",
        ),
        (line.clone(), question.ticket, Some(1), "is for clinic-0, and not for clinic-1"),
        (line.clone(), question.ticket + 100, Some(0), "no question has the ticket"),
        (line.clone(), 3, Some(0), "no question has the ticket 3"),
        (line.clone(), u64::MAX, None, "no question has the ticket"),
    ];
    for (line, ticket, sender, words) in wrong {
        let Saying::Report(report) = Message::from_json(&line).unwrap().saying else { panic!("{line}") };
        let error = ledger.tell_report(ticket, &report, sender).unwrap_err();
        assert!(matches!(error, LedgerError::Rejected(_)) && error.to_string().contains(words), "{error}");
    }
    let gradient = sgq_ledger::Reply::new(vec![1.0]);
    let error = ledger.tell(question.ticket, &gradient).unwrap_err().to_string();
    assert!(error.contains("asks for a summary, and this is a gradient"), "{error}");
    assert_eq!(ledger.pending()[0], question);
    assert_eq!(ledger.tell_report(question.ticket, &report, Some(0)).unwrap(), Told::Taken);
    assert_eq!(ledger.tell_report(question.ticket, &report, Some(0)).unwrap(), Told::Known);
    let other = clinics[1].answer(&ledger.pending()[0].to_json().unwrap()).line;
    let Saying::Report(other) = Message::from_json(&other).unwrap().saying else { panic!("{other}") };
    let error = ledger.tell_report(question.ticket, &other, Some(0)).unwrap_err();
    assert!(matches!(&error, LedgerError::Rejected(Rejected::Earlier(_))), "{error}");
    run(&mut ledger, &mut clinics);
    // Late, and the same.
    assert_eq!(ledger.tell_report(question.ticket, &report, Some(0)).unwrap(), Told::Known);
    assert!(ledger.tell_report(question.ticket, &other, Some(0)).is_err());
    let error = ledger.tell_report(0, &report, Some(0)).unwrap_err().to_string();
    assert!(error.contains("asks for a gradient"), "{error}");
    let refused = events(&path).into_iter().filter(|event| event.0 == "refused").count();
    assert_eq!(refused, 9);
}

/// Data that change between the first and the closing question show.
#[test]
fn other_rows_at_the_end_are_flagged() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&path, Terms::new(study_plan()));
    while ledger.round().is_none_or(|(wants, ..)| wants == Wants::Summary) {
        assert!(step(&mut ledger, &mut clinics));
        ledger.ask_many(usize::MAX).unwrap();
    }
    let question = ledger.pending().into_iter().find(|question| question.user == 4).unwrap();
    let rows: Vec<String> = patients()[4].lines().skip(1).map(|line| format!("{line}\n")).collect();
    let data = format!("{HEADER}{}", rows.concat()).into_bytes();
    clinics[4] = Clinic::new(study_plan(), data, "clinic-4", &Options::default()).unwrap();
    let told = answer(&mut ledger, &mut clinics, &question);
    assert!(
        matches!(&told, Told::Flagged(why) if why.contains("was of 36 rows that weigh 36, and this one is of 35 that weigh 35")),
        "{told:?}"
    );
}

/// The first answers may not go together: it is said who has to do what, and nothing is lost.
#[test]
fn answers_that_do_not_go_together_are_named() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut clinics = clinics(&study_plan());
    let text =
        format!("{HEADER}{}", patients()[3]).replace(",w0,", ",0,").replace(",w1,", ",1,").replace(",w2,", ",2,");
    clinics[3] = Clinic::new(study_plan(), text.clone().into_bytes(), "clinic-3", &Options::default()).unwrap();
    let mut ledger = create(&path, Terms::new(study_plan()));
    ledger.ask_many(usize::MAX).unwrap();
    for question in ledger.pending() {
        answer(&mut ledger, &mut clinics, &question);
    }
    for _ in 0..2 {
        let error = ledger.ask().unwrap_err();
        assert!(matches!(error, LedgerError::Disagree { .. }), "{error}");
        let words = error.to_string();
        assert!(words.contains("\"ward\"") && words.contains("clinic-3"), "{words}");
        drop(ledger);
        ledger = Ledger::open(&path).unwrap();
    }
    // It has put its file right, and joins anew.
    ledger.leave(3, Some("wrong file")).unwrap();
    ledger.join(3, None).unwrap();
    let text = format!("{HEADER}{}", patients()[3]).into_bytes();
    clinics[3] = Clinic::new(study_plan(), text, "clinic-3", &Options::default()).unwrap();
    run(&mut ledger, &mut clinics);
    assert_eq!(ledger.results(StdErrors::Model).unwrap().unwrap().users.len(), CLINICS);
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

/// What was agreed on is there twice; of a damaged ledger, the study goes on.
#[test]
fn a_damaged_study_is_recovered() {
    let folder = quick_folder();
    let (path, saved) = (file(&folder, "study.sgq"), file(&folder, "saved.sgq"));
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&path, Terms::new(study_plan()).precision(Some(1e-7)));
    (0..40).for_each(|_| assert!(step(&mut ledger, &mut clinics)));
    let queries = ledger.queries();
    assert!(queries > 20);
    ledger.close().unwrap();
    let change = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    change("UPDATE events SET words = '{}' WHERE kind = 'begun'; VACUUM");
    let error = Ledger::open(&path).unwrap_err();
    assert!(error.to_recover().is_some(), "{error}");
    let recovered = recover(&path, &saved).unwrap();
    assert_eq!(recovered.answers, queries);
    let mut ledger = Ledger::open(&saved).unwrap();
    run(&mut ledger, &mut clinics);
    let results = ledger.results(StdErrors::Model).unwrap().unwrap();
    let expected = pooled(Weigh::Rows, StdErrors::Model, &patients());
    agree(&results.statistics.inference.unwrap().coefficients, &expected.coefficients, 1e-6);
    ledger.close().unwrap();
    assert!(Reader::open(&saved).unwrap().verify().unwrap().is_sound());
    // A report that is not what was written is found as well.
    change("UPDATE events SET words = '{}' WHERE seq = (SELECT MIN(seq) FROM events WHERE kind = 'reported')");
    assert!(matches!(Reader::open(&path).unwrap_err(), LedgerError::Damaged { .. }));
}

/// Through folders, files are called by what they ask for, and a clinic that says why it does not answer can still do so.
#[test]
fn folders_carry_it() {
    let folder = quick_folder();
    let (path, root) = (file(&folder, "study.sgq"), file(&folder, "exchange"));
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&path, Terms::new(study_plan()));
    let mut exchange = Folder::new(&root, ledger.users());
    let put = |clinic: usize, name: &str, text: &str| {
        fs::write(root.join(format!("from/clinic-{clinic}/{name}.json")), text).unwrap();
    };
    assert_eq!(exchange.exchange(&mut ledger, &mut ()).unwrap().out, CLINICS);
    put(0, "first", r#"{"error": "too few rows"}"#);
    put(1, "17", r#"{"gradient": [1]}"#);
    let done = exchange.exchange(&mut ledger, &mut ()).unwrap();
    assert_eq!((done.failed, done.refused, done.out), (1, 1, CLINICS));
    assert!(root.join("from/clinic-0/failed/first.json").exists() && root.join("to/clinic-0/first.json").exists());
    let mut seen = std::collections::BTreeSet::new();
    loop {
        let mut any = false;
        for (clinic, answers) in clinics.iter_mut().enumerate() {
            for entry in fs::read_dir(root.join(format!("to/clinic-{clinic}"))).unwrap() {
                let question = entry.unwrap().path();
                let name = question.file_stem().unwrap().to_str().unwrap().to_owned();
                let line = answers.answer(&fs::read_to_string(&question).unwrap()).line;
                put(clinic, &name, &line);
                seen.insert(if name.parse::<u64>().is_ok() { "number".to_owned() } else { name });
                any = true;
            }
        }
        if !any {
            break;
        }
        let done = exchange.exchange(&mut ledger, &mut ()).unwrap();
        assert_eq!((done.refused, done.failed), (0, 0));
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["closing", "first", "number"]);
    assert!(ledger.results(StdErrors::Model).unwrap().unwrap().is_closed);
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

/// In a study weights follow from the first answers, whatever an answer says.
#[test]
fn a_stated_weight_is_refused() {
    let folder = quick_folder();
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&file(&folder, "study.sgq"), Terms::new(study_plan()));
    (0..CLINICS).for_each(|_| assert!(step(&mut ledger, &mut clinics)));
    let question = ledger.ask().unwrap().unwrap();
    let line = clinics[question.user].answer(&question.to_json().unwrap()).line;
    let Saying::Answer(mut reply) = Message::from_json(&line).unwrap().saying else { panic!("{line}") };
    reply.weight = Some(1e5);
    let error = ledger.tell(question.ticket, &reply).unwrap_err().to_string();
    assert!(error.contains("it states a weight"), "{error}");
    reply.weight = None;
    assert_eq!(ledger.tell(question.ticket, &reply).unwrap(), Told::Taken);
}

/// What the closing answers refute is not said to have converged.
#[test]
fn closings_that_say_otherwise_are_believed() {
    let folder = quick_folder();
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&file(&folder, "study.sgq"), Terms::new(study_plan()).precision(None));
    // Far from the end, but called enough.
    ledger.extend(Extension { tolerance: Some(0.9), ..Extension::default() }).unwrap();
    run(&mut ledger, &mut clinics);
    let results = ledger.results(StdErrors::Model).unwrap().unwrap();
    assert!(results.is_closed && results.last_step.unwrap() > 0.1, "{:?}", results.last_step);
    assert_eq!((results.converged, &results.point[..]), (Some(false), ledger.session().point()));
}

/// A clinic of which the plan says that it will not answer is named before anybody is asked at a point.
#[test]
fn who_will_not_answer_is_named_at_once() {
    let folder = quick_folder();
    let mut plan = study_plan();
    plan.rules.parameters_per_row = 0.33;
    let mut clinics = clinics(&plan);
    let mut ledger = create(&file(&folder, "study.sgq"), Terms::new(plan));
    (0..CLINICS).for_each(|_| assert!(step(&mut ledger, &mut clinics)));
    let error = ledger.ask().unwrap_err().to_string();
    assert!(error.contains("clinic-0 will not answer at any point, by the plan"), "{error}");
    ledger.leave(0, None).unwrap();
    assert!(step(&mut ledger, &mut clinics) && ledger.queries() == 1);
}

/// By folders, too, a clinic whose first answer does not go with the others' answers anew.
#[test]
fn a_first_answer_is_given_anew_by_folder() {
    let folder = quick_folder();
    let (path, root) = (file(&folder, "study.sgq"), file(&folder, "exchange"));
    let mut clinics = clinics(&study_plan());
    let right = std::mem::replace(&mut clinics[3], {
        let text =
            format!("{HEADER}{}", patients()[3]).replace(",w0,", ",0,").replace(",w1,", ",1,").replace(",w2,", ",2,");
        Clinic::new(study_plan(), text.into_bytes(), "clinic-3", &Options::default()).unwrap()
    });
    let mut ledger = create(&path, Terms::new(study_plan()));
    let mut exchange = Folder::new(&root, ledger.users());
    let give = |clinics: &mut [Clinic], clinic: usize| {
        let text = fs::read_to_string(root.join(format!("to/clinic-{clinic}/first.json"))).unwrap();
        fs::write(root.join(format!("from/clinic-{clinic}/first.json")), clinics[clinic].answer(&text).line).unwrap();
    };
    exchange.exchange(&mut ledger, &mut ()).unwrap();
    (0..CLINICS).for_each(|clinic| give(&mut clinics, clinic));
    let error = exchange.exchange(&mut ledger, &mut ()).unwrap_err().to_string();
    assert!(error.contains("clinic-3"), "{error}");
    assert!(root.join("from/clinic-3/taken/first.json").exists());
    clinics[3] = right;
    ledger.leave(3, None).unwrap();
    ledger.join(3, None).unwrap();
    assert_eq!(exchange.exchange(&mut ledger, &mut ()).unwrap().out, 1);
    assert!(!root.join("from/clinic-3/taken/first.json").exists());
    give(&mut clinics, 3);
    assert_eq!(exchange.exchange(&mut ledger, &mut ()).unwrap().taken, 1);
    assert!(ledger.round().is_none() && ledger.pending()[0].report.is_none());
}

/// First answers that are intact are saved, whatever else of the beginning is lost.
#[test]
fn reports_are_recovered() {
    let folder = quick_folder();
    let (path, saved) = (file(&folder, "study.sgq"), file(&folder, "saved.sgq"));
    let mut clinics = clinics(&study_plan());
    let mut ledger = create(&path, Terms::new(study_plan()));
    (0..9).for_each(|_| assert!(step(&mut ledger, &mut clinics)));
    ledger.close().unwrap();
    // The event that opened the round, and one of the answers.
    let change = "UPDATE events SET words = 'x' WHERE seq IN (1, 5); VACUUM";
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    assert!(Ledger::open(&path).unwrap_err().to_recover().is_some());
    recover(&path, &saved).unwrap();
    let mut ledger = Ledger::open(&saved).unwrap();
    assert_eq!(ledger.reported().summaries, 8);
    assert_eq!(ledger.ask_many(usize::MAX).unwrap().len() + ledger.pending().len(), 4);
    run(&mut ledger, &mut clinics);
    assert!(ledger.results(StdErrors::Model).unwrap().unwrap().is_closed);
    assert_eq!(ledger.reported().summaries, 12);
}
