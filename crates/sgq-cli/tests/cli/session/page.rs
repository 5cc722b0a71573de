//! docs/real-users.md and docs/taking-part.md, as a newcomer reads them: every command is run, and prints what the page shows.

use std::{fs, process::Command};

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
    is_true("docs/real-users.md", 12);
}

#[test]
fn the_page_on_taking_part_is_true() {
    is_true("docs/taking-part.md", 6);
}

/// Runs a page's commands beside the files of `examples/real-users`.
fn is_true(page: &str, least: usize) {
    let page = read_text(root().join(page));
    let place = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root().join("examples/real-users")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, place.path().join(path.file_name().unwrap())).unwrap();
    }
    let sgq = std::path::Path::new(env!("CARGO_BIN_EXE_sgq")).parent().unwrap();
    let path = format!("{}:{}", sgq.display(), std::env::var("PATH").unwrap());
    let blocks = blocks(&page);
    let mut run = 0;
    for (number, (kind, block)) in blocks.iter().enumerate() {
        if *kind != "sh" {
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
