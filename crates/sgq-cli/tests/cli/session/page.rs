//! docs/real-users.md and docs/taking-part.md, as a newcomer reads them: every command is run, and prints what the page shows.

use std::{fs, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::{read_text, root, text};

/// Blocks of a kind, in order, with their lines.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let (mut blocks, mut open): (Vec<(&str, String)>, bool) = (Vec::new(), false);
    for line in page.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(kind), false) => {
                blocks.push((kind, String::new()));
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                let (_, block) = blocks.last_mut().unwrap();
                *block += line;
                block.push('\n');
            }
            (None, false) => {}
        }
    }
    blocks
}

/// Whether a line is the one that is shown: `…` stands for anything.
fn is_shown(line: &str, shown: &str) -> bool {
    let mut pieces = shown.split('…');
    let Some(mut rest) = line.strip_prefix(pieces.next().unwrap()) else { return false };
    let mut ends = shown;
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
        ends = piece;
    }
    rest.is_empty() || ends.is_empty()
}

#[test]
fn the_page_on_real_users_is_true() {
    is_true("docs/real-users.md", "sh", "real-users", 12);
}

#[test]
fn the_page_on_taking_part_is_true() {
    is_true("docs/taking-part.md", "sh", "real-users", 6);
}

/// Twelve hospitals end at the fit of all rows, by pipes and by folders.
#[test]
fn the_consortium_of_the_page_is_true() {
    let place = is_true("docs/taking-part.md", "sh consortium", "consortium", 5);
    let read = |path: &str| -> Value { serde_json::from_str(&read_text(place.path().join(path))).unwrap() };
    let fisher = Command::new("bash").args(["-c", "python3 fisher.py data/*.csv"]).current_dir(place.path()).output();
    let fisher = text(&fisher.unwrap().stdout);
    let expected: Vec<f64> =
        fisher.lines().skip(1).flat_map(|line| line.split_whitespace().skip(1)).map(|it| it.parse().unwrap()).collect();
    let answers_of_fisher: u64 = fisher.split_whitespace().next().unwrap().parse().unwrap();
    for result in ["out/model.json", "result.json"] {
        let result = read(result);
        let lines = result["coefficients"].as_array().unwrap();
        let found = lines.iter().flat_map(|line| [&line["estimate"], &line["std_error"]]);
        let found: Vec<f64> = found.map(|it| it.as_f64().unwrap()).collect();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{found} and {expected}");
        }
        let answers: u64 =
            ["queries", "first_answers", "closing_answers"].map(|it| result[it].as_u64().unwrap()).iter().sum();
        assert!(answers < answers_of_fisher, "{answers}");
    }
}

/// Runs a page's commands of a kind beside the files of an example.
fn is_true(page: &str, wanted: &str, example: &str, least: usize) -> TempDir {
    let page = read_text(root().join(page));
    let place = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root().join("examples").join(example)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, place.path().join(path.file_name().unwrap())).unwrap();
    }
    fs::copy(root().join("examples/medpar.csv"), place.path().join("medpar.csv")).unwrap();
    let sgq = std::path::Path::new(env!("CARGO_BIN_EXE_sgq")).parent().unwrap();
    let path = format!("{}:{}", sgq.display(), std::env::var("PATH").unwrap());
    let blocks = blocks(&page);
    let mut run = 0;
    for (number, (kind, block)) in blocks.iter().enumerate() {
        if *kind != wanted {
            continue;
        }
        run += 1;
        // In the order in which it is printed, errors too.
        let output = Command::new("bash")
            .args(["-eo", "pipefail", "-c", &format!("exec 2>&1\n{block}")])
            .env("PATH", &path)
            .current_dir(place.path())
            .output()
            .unwrap();
        let printed = text(&output.stdout);
        assert!(output.status.success(), "{block}{printed}");
        let Some((_, shown)) = blocks.get(number + 1).filter(|(kind, _)| *kind == "text") else { continue };
        let printed: Vec<&str> = printed.lines().map(str::trim_end).filter(|line| !line.contains("Killed")).collect();
        let shown: Vec<&str> = shown.lines().collect();
        let same =
            printed.len() == shown.len() && printed.iter().zip(&shown).all(|(line, shown)| is_shown(line, shown));
        assert!(same, "{block}prints\n{}\nand the page shows\n{}", printed.join("\n"), shown.join("\n"));
    }
    assert!(run >= least, "{run}");
    place
}

#[test]
fn dots_stand_for_anything() {
    for (line, shown, same) in [
        ("abc", "abc", true),
        ("abc", "ab", false),
        ("abc", "a…", true),
        ("abc", "…c", true),
        ("abc", "a…d", false),
        ("[6.05,0.7]", "[6…,0…]", true),
        ("[6.05,0.7] more", "[6…,0…]", false),
    ] {
        assert_eq!(is_shown(line, shown), same, "{line} {shown}");
    }
}
