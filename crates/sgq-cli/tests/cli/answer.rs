//! `sgq answer`: a clinic by pipe, by folder and by one file.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sgq_data::plan::{StudyPlan, Summary, agree};
use tempfile::TempDir;

use crate::{folder_with, plan::mine, read_text, refuses, sgq, succeeds, text};

const BASE: [&str; 7] = ["answer", "--plan", "model.plan", "--data", "mine.csv", "--as", "clinic-7"];

/// A clinic with its data, and a plan that allows five answers.
fn place() -> (TempDir, StudyPlan) {
    let place = folder_with("mine.csv", &mine());
    let new = ["plan", "new", "model.plan", "--formula", "died ~ age + sex", "--family", "binomial"];
    succeeds(place.path(), &[&new[..], &["--answers-each", "5", "--answers", "loss", "--quiet"]].concat());
    let plan = StudyPlan::read(place.path().join("model.plan")).unwrap();
    (place, plan)
}

fn first(plan: &StudyPlan) -> Value {
    json!({"ticket": 0, "user": "clinic-7", "wants": ["summary"], "plan": plan.id()})
}

fn at(plan: &StudyPlan, ticket: u64, wants: &[&str]) -> Value {
    let own = Summary::of(mine().as_bytes(), plan).unwrap();
    let model = agree(plan, &[("clinic-7", &own)]).unwrap().encoding;
    let point = [0.1 * ticket as f64, 0.0, 0.5, -0.5];
    json!({"ticket": ticket, "user": "clinic-7", "point": point, "wants": wants, "plan": plan.id(), "model": model})
}

fn piped(place: &Path, more: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sgq"));
    command.args(BASE).args(more).current_dir(place);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What the owner finds beside the log.
fn notes(place: &Path) -> String {
    read_text(place.join("mine.csv.clinic-7.answers.notes"))
}

fn parsed(lines: &[u8]) -> Vec<Value> {
    text(lines).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn questions_and_answers_go_through_a_pipe() {
    let (place, plan) = place();
    let questions = [first(&plan), at(&plan, 1, &["gradient"]), at(&plan, 2, &["gradient", "loss"])];
    let closing = at(&plan, 3, &["closing"]);
    let lines: Vec<String> = questions.iter().chain([&closing]).map(ToString::to_string).collect();
    let input = lines.join("\n") + "\n\nhello\n" + &at(&plan, 4, &["gradient", "hessian"]).to_string();
    let output = piped(place.path(), &[], &input);
    assert_eq!(output.status.code(), Some(0));
    let answers = parsed(&output.stdout);
    assert_eq!(answers.len(), 6);
    assert_eq!(answers[0]["summary"]["rows"], json!(29));
    assert_eq!(answers[1]["gradient"].as_array().unwrap().len(), 4);
    assert!(answers[1].get("loss").is_none() && answers[2]["loss"].is_number());
    assert_eq!(answers[3]["closing"]["rows_missing"], json!(1));
    assert!(answers[4]["error"].as_str().unwrap().starts_with("the question is not JSON"));
    assert_eq!(
        answers[5],
        json!({"ticket": 4, "user": "clinic-7", "error": "it asks for the hessian, and the plan allows no more than the loss"})
    );
    // The standard error is whoever's started it: it says no more than the answers.
    let said = text(&output.stderr);
    assert!(said.starts_with("a line refused: the question is not JSON"), "{said}");
    assert!(said.lines().count() == 2 && said.contains("\nquestion 4 refused: it asks for the hessian"), "{said}");
    let words = notes(place.path());
    for part in [
        "the first question: 14 numbers given: counts, means and levels\n  29 rows used\n",
        "question 1: 4 numbers given: the gradient of the mean loss over 29 rows; answer 1 of 5\n",
        "question 2: 5 numbers given: the gradient of the mean loss over 29 rows, the loss; answer 2 of 5\n",
        "the closing question: 20 numbers given: gradient, information and deviance over 29 rows; closing answer 1 of 3\n",
        "question 4 refused: it asks for the hessian",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    // A restart: the same answers, and quiet.
    let again = piped(place.path(), &["--quiet"], &(lines.join("\n") + "\n"));
    assert_eq!(parsed(&again.stdout), answers[..4]);
    assert_eq!(text(&again.stderr), "");
    let log = read_text(place.path().join("mine.csv.clinic-7.answers.log"));
    assert_eq!(log.lines().count(), 4);
    let more: Vec<String> = (5..10).map(|ticket| at(&plan, ticket, &["gradient"]).to_string() + "\n").collect();
    let output = piped(place.path(), &["--quiet"], &more.concat());
    let words = "refused: 5 questions were answered, as many as the plan allows\n";
    assert_eq!(text(&output.stderr), format!("question 8 {words}question 9 {words}"));
}

#[test]
fn a_question_is_answered_while_the_pipe_stays_open() {
    let (place, plan) = place();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sgq"));
    command.args(BASE).args(["--log", "log"]).current_dir(place.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for ticket in 1..4 {
        writeln!(input, "{}", at(&plan, ticket, &["gradient"])).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["ticket"], json!(ticket));
    }
    // Another program cannot answer with the same log meanwhile.
    let error = refuses(place.path(), &[&BASE[..], &["--log", "log"]].concat());
    assert_eq!(
        error,
        "error: the log log is in use by another program that answers: end that one, or give another log\n"
    );
    #[cfg(unix)]
    {
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let said = text(&output.stderr);
        assert!(said.ends_with("interrupted; every answer that was given is in the log\n"), "{said}");
        assert_eq!(read_text(place.path().join("log")).lines().count(), 3);
    }
}

#[test]
fn noise_is_added_and_said() {
    let (place, plan) = place();
    let questions = format!("{}\n{}\n", at(&plan, 1, &["gradient", "loss"]), at(&plan, 2, &["closing"]));
    let output = piped(place.path(), &["--clip", "0.5", "--noise", "0.1"], &questions);
    let answers = parsed(&output.stdout);
    let privacy = &answers[0]["privacy"];
    assert!((privacy["sensitivity"].as_f64().unwrap() - 1.0 / 29.0).abs() < 1e-15 && privacy["noise"] == json!(0.1));
    assert!(answers[0].get("loss").is_none());
    assert!(answers[1]["error"].as_str().unwrap().contains("noise is added to gradients only"));
    let words = notes(place.path());
    assert!(words.contains("each row clipped to 0.5, with noise of deviation 0.1 in each number; no loss"), "{words}");
    for wrong in [&["--clip", "0.5"][..], &["--noise", "0.5"], &["--clip", "0", "--noise", "1"]] {
        refuses(place.path(), &[&BASE[..], wrong].concat());
    }
}

#[test]
fn one_question_is_a_file() {
    let (place, plan) = place();
    let path = |name: &str| place.path().join(name);
    fs::write(path("17.json"), at(&plan, 17, &["gradient"]).to_string()).unwrap();
    let output = sgq(place.path(), &[&BASE[..], &["17.json"]].concat());
    let answer = parsed(&output.stdout).swap_remove(0);
    assert_eq!((answer["ticket"].as_u64(), output.status.code()), (Some(17), Some(0)));
    assert_eq!(
        text(&sgq(place.path(), &[&BASE[..], &["17.json", "--out", "answer.json", "--quiet"]].concat()).stderr),
        ""
    );
    assert_eq!(parsed(read_text(path("answer.json")).as_bytes()), [answer]);
    // An answer is replaced, and nothing else.
    fs::write(path("wrong.json"), at(&plan, 18, &["gradient", "hessian"]).to_string()).unwrap();
    let output = sgq(place.path(), &[&BASE[..], &["wrong.json", "--out", "answer.json"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(read_text(path("answer.json")).contains("\"error\":\"it asks for the hessian"));
    for kept in ["mine.csv", "model.plan", "17.json"] {
        let before = read_text(path(kept));
        refuses(place.path(), &[&BASE[..], &["17.json", "--out", kept]].concat());
        assert_eq!(read_text(path(kept)), before);
    }
    let error = refuses(place.path(), &[&BASE[..], &["none.json"]].concat());
    assert!(error.starts_with("error: none.json: "), "{error}");
}

fn put(place: &Path, name: &str, question: &Value) {
    fs::create_dir_all(place.join("exchange/to/clinic-7")).unwrap();
    fs::write(place.join("exchange/to/clinic-7").join(name), question.to_string() + "\n").unwrap();
}

const FOLDER: [&str; 2] = ["--folder", "exchange"];

#[test]
fn questions_in_a_folder_are_answered_once() {
    let (place, plan) = place();
    let (place, all) = (place.path(), [&BASE[..], &FOLDER].concat());
    let from = |name: &str| place.join("exchange/from/clinic-7").join(name);
    assert!(refuses(place, &all).contains("the coordinator makes it with sgq session exchange"));
    put(place, "first.json", &first(&plan));
    put(place, "9.json", &at(&plan, 9, &["gradient"]));
    put(place, "10.json", &at(&plan, 10, &["gradient", "hessian"]));
    let other = json!({"ticket": 11, "user": "clinic-8", "wants": ["summary"], "plan": plan.id()});
    put(place, "11.json", &other);
    fs::write(place.join("exchange/to/clinic-7/12.json"), "{\"ticket\": 12, \"us").unwrap();
    fs::write(place.join("exchange/to/clinic-7/.13.json"), "{}").unwrap();
    let output = sgq(place, &all);
    assert_eq!(output.status.code(), Some(0));
    let (said, complaints) = (text(&output.stdout), text(&output.stderr));
    assert!(said.starts_with("the first question: 14 numbers given"), "{said}");
    assert!(
        said.ends_with(
            "  2 questions answered, 1 refused, 0 answered before; answers lie in exchange/from/clinic-7 until they are fetched\n"
        ),
        "{said}"
    );
    assert!(complaints.contains("question 10 refused: it asks for the hessian"), "{complaints}");
    assert!(
        complaints.contains("11.json: it is for clinic-8, and this is clinic-7: it is not answered"),
        "{complaints}"
    );
    assert!(complaints.contains("12.json: it is no question yet, and may be half copied"), "{complaints}");
    let names = |folder: &str| {
        let mut names: Vec<String> = fs::read_dir(from(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with("json"))
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(""), ["10.json", "9.json", "first.json"]);
    let answer = read_text(from("9.json"));
    assert_eq!(serde_json::from_str::<Value>(&answer).unwrap()["ticket"], json!(9));

    // The coordinator fetches one, refuses one, and one lies there still.
    for folder in ["taken", "refused"] {
        fs::create_dir_all(from(folder)).unwrap();
    }
    fs::rename(from("9.json"), from("taken/9.json")).unwrap();
    fs::rename(from("10.json"), from("refused/10.json")).unwrap();
    fs::write(from("refused/10.reason.txt"), "it was not asked\n").unwrap();
    let output = sgq(place, &all);
    assert!(text(&output.stdout).ends_with("  0 questions answered, 0 refused, 3 answered before; answers lie in exchange/from/clinic-7 until they are fetched\n"));
    assert!(text(&output.stderr).contains("refused/10.json: it was not asked\n"), "{}", text(&output.stderr));
    assert_eq!(names(""), ["first.json"]);
    // Nothing of it counted: there is one gradient in the log, and the first answer.
    assert_eq!(read_text(place.join("mine.csv.clinic-7.answers.log")).lines().count(), 2);
    // Without the log nobody can tell whether it is the same question.
    fs::remove_file(place.join("mine.csv.clinic-7.answers.log")).unwrap();
    let output = sgq(place, &all);
    assert!(text(&output.stderr).contains("taken/9.json, and this log has none"), "{}", text(&output.stderr));
    assert_eq!(names(""), ["first.json"]);
}

#[test]
fn a_wrong_name_names_those_that_are_there() {
    let (place, plan) = place();
    put(place.path(), "first.json", &first(&plan));
    let base = ["answer", "--plan", "model.plan", "--data", "mine.csv", "--as"];
    assert_eq!(
        refuses(place.path(), &[&base[..], &["clinic7"], &FOLDER].concat()),
        "error: exchange/to has no folder clinic7: is clinic7 what the coordinator calls this clinic? there are: clinic-7\n"
    );
    assert!(
        refuses(place.path(), &[&base[..], &[" clinic-7"], &FOLDER].concat()).contains("no blanks before or after it")
    );
}

#[cfg(unix)]
#[test]
fn a_folder_is_watched_until_ctrl_c() {
    let (place, plan) = place();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sgq"));
    command.args(BASE).args(FOLDER).args(["--watch", "--every", "50ms"]).current_dir(place.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let answer = |name: &str| place.path().join("exchange/from/clinic-7").join(name);
    let wait_for = |name: &str| {
        let begun = Instant::now();
        while !answer(name).exists() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{name}");
            thread::sleep(Duration::from_millis(10));
        }
    };
    // It begins before the coordinator does.
    thread::sleep(Duration::from_millis(100));
    for ticket in 1..4 {
        let name = format!("{ticket}.json");
        put(place.path(), &name, &at(&plan, ticket, &["gradient"]));
        wait_for(&name);
        fs::remove_file(place.path().join("exchange/to/clinic-7").join(&name)).unwrap();
        fs::remove_file(answer(&name)).unwrap();
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let (said, complaints) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(complaints.starts_with("waiting: exchange/to cannot be read"), "{complaints}");
    assert!(complaints.ends_with("go on with the same command\n"), "{complaints}");
}

#[test]
fn a_file_that_does_not_fit_is_the_owners_to_mend() {
    let (place, _) = place();
    fs::write(place.path().join("mine.csv"), "age,sexe,died\n1,m,no\n2,f,yes\n").unwrap();
    let error = refuses(place.path(), &[&BASE[..], &FOLDER].concat());
    assert!(error.starts_with("error: mine.csv: there is no column \"sex\"; did you mean \"sexe\"?"), "{error}");
    assert!(!place.path().join("mine.csv.clinic-7.answers.log").exists());
}

/// The coordinator reads the standard error of the programs that it starts: no cell of a file, and no line, is in it.
#[test]
fn what_is_for_the_owner_does_not_go_through_a_pipe() {
    let place = folder_with("mine.csv", &mine());
    let new = ["plan", "new", "model.plan", "--formula", "died ~ age * sex", "--family", "binomial", "--quiet"];
    succeeds(place.path(), &new);
    let plan = StudyPlan::read(place.path().join("model.plan")).unwrap();
    let mut question = at(&plan, 1, &["gradient"]);
    question["point"] = json!([0, 0, 0, 0, 0, 0]);
    // The first answer does not tell of products.
    question["model"]["columns"][3]["scaling"]["scale"] = json!(1e-308);
    for more in [&[][..], &["--quiet"]] {
        let output = piped(place.path(), more, &format!("{question}\n"));
        let (answers, said) = (text(&output.stdout), text(&output.stderr));
        assert!(said.starts_with("question 1 refused: ") && said.lines().count() == 1, "{said}");
        assert!(!format!("{answers}{said}").contains("not sent"), "{answers}{said}");
        assert!(!format!("{answers}{said}").contains("line "), "{answers}{said}");
    }
    let found = notes(place.path());
    assert!(found.contains(" (not sent: line 2: age:sex=m is "), "{found}");
    assert_eq!(found.matches(" (not sent: ").count(), 2, "{found}");
    fs::remove_file(place.path().join("mine.csv.clinic-7.answers.log")).unwrap();
    // At the start, too: the line and the cell are in the notes.
    fs::write(place.path().join("mine.csv"), mine().replacen("\n20,", "\n2O,", 1)).unwrap();
    for more in [&[][..], &["--quiet"]] {
        let output = piped(place.path(), more, "");
        let (answers, said) = (text(&output.stdout), text(&output.stderr));
        assert_eq!((&*answers, output.status.code()), ("", Some(2)));
        assert_eq!(
            said,
            "error: this clinic cannot answer: what is wrong is for its owner, in mine.csv.clinic-7.answers.notes\n"
        );
    }
    let notes = notes(place.path());
    assert_eq!(notes.matches(" UTC error: mine.csv: column \"age\" ").count(), 2, "{notes}");
    assert!(notes.contains("line 2 has \"2O\""), "{notes}");
    // What is about the command is said to whoever typed it.
    let none = ["answer", "--plan", "model.plan", "--data", "none.csv", "--as", "clinic-7"];
    let error = refuses(place.path(), &none);
    assert!(error.starts_with("error: none.csv: cannot be read: "), "{error}");
    // Where there are no notes to be written, nothing is said either.
    let error = refuses(place.path(), &[&BASE[..], &["--log", "nowhere/x.log"]].concat());
    assert!(error.contains("the notes x.notes cannot be written: ") && !error.contains("2O"), "{error}");
}
