//! Answers that cannot be right, files that are damaged, first answers that do not go together.

use std::fs;

use rusqlite::Connection;
use sgq_data::{
    glm::{StdErrors, Weigh},
    plan::{Clinic, Options},
};
use sgq_ledger::{
    Extension, Ledger, LedgerError, Message, Reader, Rejected, Saying, Terms, Told, Wants, folder::Folder, recover,
};

use super::{CLINICS, HEADER, agree, answer, clinics, create, patients, pooled, run, step, study_plan};
use crate::clinics::{events, file, quick_folder};

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
