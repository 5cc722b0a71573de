//! What a user's folder is called, whatever the user is called.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::User;

/// No folder has a longer name, but for a number at the end. Systems allow 255 bytes.
const LONGEST: usize = 120;

/// A folder's name for each user, no two alike even where capital letters do not count.
///
/// Letters, digits and `-_.,+@=()` stay; everything else is written as in an address, `%2F`, so that no name leads out of its folder.
pub(super) fn folder_names(users: &[User]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let name = |(index, user): (usize, &User)| {
        let mut name = safe(&user.name);
        let too_long = name.len() > LONGEST;
        if too_long {
            let end = (0..=LONGEST).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
            name.truncate(end);
        }
        if too_long || taken.contains(&name.to_lowercase()) {
            // No name has a `~` of its own.
            name += &format!("~{index}");
        }
        taken.insert(name.to_lowercase());
        name
    };
    users.iter().enumerate().map(name).collect()
}

/// The name of a user's folder where no other user's is the same but for capital letters; else a `~` and a number follow.
///
/// ```
/// assert_eq!(sgq_ledger::folder::folder_name("../clinic 7"), "%2E.%2Fclinic 7");
/// ```
pub fn folder_name(user: &str) -> String {
    folder_names(&[User::named(user)]).pop().unwrap_or_default()
}

/// Where a clinic keeps its log, where nobody says: beside its data.
///
/// ```
/// let log = sgq_ledger::folder::log_beside("rows/mine.csv".as_ref(), "clinic-7");
/// assert_eq!(log, std::path::Path::new("rows/mine.csv.clinic-7.answers.log"));
/// ```
pub fn log_beside(data: &Path, name: &str) -> PathBuf {
    let mut path = data.as_os_str().to_owned();
    path.push(format!(".{}.answers.log", folder_name(name)));
    path.into()
}

fn safe(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let is_reserved = is_device(name);
    let mut safe = String::with_capacity(name.len());
    for (place, letter) in letters.iter().enumerate() {
        let is_at_an_end = place == 0 || place + 1 == letters.len();
        let stays = match letter {
            // A leading dot hides, or leads upwards; some systems drop a last dot or blank.
            '.' | ' ' => !is_at_an_end,
            '-' | '_' | ',' | '+' | '@' | '=' | '(' | ')' => true,
            letter => letter.is_alphanumeric() && !(is_reserved && place == 0),
        };
        if stays {
            safe.push(*letter);
        } else {
            let mut bytes = [0; 4];
            letter.encode_utf8(&mut bytes).bytes().for_each(|byte| safe += &format!("%{byte:02X}"));
        }
    }
    safe
}

/// Names that Windows keeps for devices, whatever comes after a dot.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_uppercase();
    let numbered = |kind: &str| stem.strip_prefix(kind).is_some_and(|end| end.chars().count() == 1);
    matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(users: &[&str]) -> Vec<String> {
        folder_names(&users.iter().map(|name| User::named(*name)).collect::<Vec<_>>())
    }

    #[test]
    fn no_name_leads_out_of_its_folder() {
        for (name, expected) in [
            ("clinic-7", "clinic-7"),
            ("Köln (Süd)", "Köln (Süd)"),
            ("..", "%2E%2E"),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
            ("/etc", "%2Fetc"),
            ("a\\b:c", "a%5Cb%3Ac"),
            (".hidden.", "%2Ehidden%2E"),
            ("a~1", "a%7E1"),
            ("%2F", "%252F"),
            ("nul", "%6Eul"),
            ("COM1.txt", "%43OM1.txt"),
            ("com", "com"),
            ("a\u{202e}b", "a%E2%80%AEb"),
        ] {
            assert_eq!(names(&[name]), [expected], "{name}");
        }
    }

    #[test]
    fn every_user_has_its_own() {
        assert_eq!(names(&["a", "A", "b"]), ["a", "A~1", "b"]);
        let long = "ü".repeat(300);
        let found = names(&[&format!("{long}1"), &format!("{long}2")]);
        assert!(found[0] != found[1] && found.iter().all(|name| name.len() < 130), "{found:?}");
    }
}
