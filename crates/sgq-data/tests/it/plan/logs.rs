//! What was answered is on the disk, and counts after a restart.

use std::{fs, path::Path};

use sgq_data::plan::{Clinic, ClinicError, Options, Outcome, Rules, StudyPlan};
use tempfile::tempdir;

use super::{agreed, clinic, plan, question, sites};

fn usual() -> StudyPlan {
    let rules = Rules { answers_each: 3, ..Rules::default() };
    StudyPlan { rules, ..plan("died ~ age + sex", "binomial") }
}

fn logged(path: &Path) -> Options {
    Options { log: Some(path.to_owned()), ..Options::default() }
}

fn questions(plan: &StudyPlan, own: &[(String, String)]) -> Vec<String> {
    let agreed = agreed(plan, own);
    let first = question(plan, "site-1", 0, &["summary"], None);
    let points =
        (1..4).map(|k| question(plan, "site-1", k, &["gradient"], Some((&[0.1 * k as f64, 0.0, 0.2], &agreed))));
    let closing = question(plan, "site-1", 1, &["closing"], Some((&[0.0; 3], &agreed)));
    [first].into_iter().chain(points).chain([closing]).map(|question| question.to_string()).collect()
}

#[test]
fn answers_are_on_the_disk_before_they_go_out_and_count_after_a_restart() {
    let (_, own) = sites();
    let plan = usual();
    let questions = questions(&plan, &own);
    let place = tempdir().unwrap();
    let path = place.path().join("mine.answers.log");
    let noisy = Options { clip: Some(1.0), noise: Some(0.1), ..logged(&path) };
    let mut answers = Vec::new();
    for (index, asked) in questions[..4].iter().enumerate() {
        // A restart after each.
        let mut clinic = clinic(&plan, &own[1], &noisy);
        let reply = clinic.answer(asked);
        assert_eq!(reply.outcome, Outcome::Answered);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), index + 1);
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(last["answer"], super::value(&reply));
        answers.push(reply.line);
    }
    let mut clinic = clinic(&plan, &own[1], &noisy);
    assert_eq!(clinic.given(), (3, 0));
    for (asked, answer) in questions.iter().zip(&answers) {
        assert!(clinic.has_answered(asked));
        let again = clinic.answer(asked);
        // The same noise, too.
        assert_eq!((&again.line, again.outcome), (answer, Outcome::Again));
    }
    assert!(!clinic.has_answered(&questions[4]) && !clinic.has_answered("nonsense"));
    let more = questions[3].replace("\"ticket\":3", "\"ticket\":4");
    assert_eq!(clinic.answer(&more).words, "question 4 refused: 3 questions were answered, as many as the plan allows");
    // Refusals are no answers.
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    // Another plan counts for itself, in the same file.
    drop(clinic);
    let other = StudyPlan { l2: 0.1, ..plan };
    assert_eq!(super::clinic(&other, &own[1], &logged(&path)).given(), (0, 0));
}

#[test]
fn a_line_that_a_crash_has_torn_is_left_out_and_a_damaged_one_is_not() {
    let (_, own) = sites();
    let plan = usual();
    let questions = questions(&plan, &own);
    let place = tempdir().unwrap();
    let path = place.path().join("log");
    let mut first = clinic(&plan, &own[1], &logged(&path));
    questions[..3].iter().for_each(|asked| drop(first.answer(asked)));
    drop(first);
    let whole = fs::read_to_string(&path).unwrap();
    let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
    // Torn at every place of the last line.
    for end in (ends[1]..whole.len() - 1).step_by(7).chain([whole.len() - 2]) {
        fs::write(&path, &whole[..end]).unwrap();
        let mut torn = clinic(&plan, &own[1], &logged(&path));
        assert_eq!(torn.given(), (1, 0), "{end}");
        assert_eq!(fs::read_to_string(&path).unwrap(), whole[..ends[1]]);
        assert_eq!(torn.answer(&questions[2]).outcome, Outcome::Answered);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&whole[..ends[1]]) && text.ends_with("}\n") && text.lines().count() == 3);
    }
    // A line that lacks its end and nothing else counts, and the next one begins a line of its own.
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let mut unended = clinic(&plan, &own[1], &logged(&path));
    assert_eq!(unended.given(), (2, 0));
    assert_eq!(unended.answer(&questions[2]).outcome, Outcome::Again);
    assert_eq!(unended.answer(&questions[3]).outcome, Outcome::Answered);
    drop(unended);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&whole) && text.lines().count() == 4, "{text}");
    assert_eq!(clinic(&plan, &own[1], &logged(&path)).given(), (3, 0));
    // A file system that has lost what was written leaves zeros.
    fs::write(&path, whole[..ends[1]].to_owned() + "\0\0\0\0\n").unwrap();
    assert_eq!(clinic(&plan, &own[1], &logged(&path)).given(), (1, 0));
    fs::write(&path, whole.replacen("\"ticket\":1", "\"ticket\":x", 1)).unwrap();
    let bytes = own[1].1.clone().into_bytes();
    let error = Clinic::new(plan, bytes, "site-1", &logged(&path)).unwrap_err().to_string();
    assert!(error.starts_with("line 2 of the log ") && error.contains("it counts what was answered"), "{error}");
    // Nothing was changed in it.
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
}

#[test]
fn two_programs_do_not_answer_with_one_log() {
    let (_, own) = sites();
    let plan = usual();
    let place = tempdir().unwrap();
    let path = place.path().join("log");
    let open = || Clinic::new(plan.clone(), own[1].1.clone().into_bytes(), "site-1", &logged(&path));
    let first = open().unwrap();
    let error = open().unwrap_err();
    assert!(matches!(error, ClinicError::Log(_)));
    assert!(
        error.to_string().ends_with("is in use by another program that answers: end that one, or give another log")
    );
    drop(first);
    assert!(open().is_ok());
    let nowhere = Options { log: Some(place.path().join("none/log")), ..Options::default() };
    let error = Clinic::new(plan.clone(), own[1].1.clone().into_bytes(), "site-1", &nowhere).unwrap_err().to_string();
    assert!(error.contains("cannot be opened: "), "{error}");
}

/// Two answers from files that differ by a row tell what the row has.
#[test]
fn a_file_that_has_changed_is_not_answered_from() {
    let (_, own) = sites();
    let plan = usual();
    let questions = questions(&plan, &own);
    let place = tempdir().unwrap();
    let path = place.path().join("log");
    let before = clinic(&plan, &own[1], &logged(&path)).answer(&questions[0]);
    let changed = ("site-1".to_owned(), own[1].1.clone() + "site-1,50,m,1,2,1,no,120,1\n");
    let mut clinic = clinic(&plan, &changed, &logged(&path));
    let reply = clinic.answer(&questions[1]);
    assert!(
        reply.words.starts_with("question 1 refused: the file has changed since the first answer"),
        "{}",
        reply.words
    );
    assert_eq!(clinic.answer(&questions[0]).line, before.line);
}
