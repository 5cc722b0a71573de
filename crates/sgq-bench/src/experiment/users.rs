//! The table `[users]`, and `users` of a method: how users behave.

use sgq::{
    Detail,
    drive::{Absence, Behaviour, BehaviourError, Late, Latency, Noise, Slowness},
};
use toml::de::DeValue;

use super::{
    FileError,
    section::{Section, number, suggestion},
};

/// What such a table says.
pub(super) struct UsersTable {
    pub behaviour: Behaviour,
    /// How much users say to methods that do not ask for another amount.
    pub answers: Option<Detail>,
}

/// Reads the table of a section, where it has one.
pub(super) fn read(section: &Section<'_>) -> Result<Option<UsersTable>, FileError> {
    let Some(value) = section.value("users") else {
        return Ok(None);
    };
    let wrong = || section.complain("users", "expected a table, such as { failure = 0.3 } or a heading [users]");
    let table = value.get_ref().as_table().ok_or_else(wrong)?;
    let what = section.name_of("users");
    let what = if what == "`users`" { "[users]".to_owned() } else { what };
    let users = &Section::new(section.source, what, value.span(), table);
    users.allow(&["latency", "spread", "failure", "late", "absence", "noise", "answers"])?;
    let behaviour = Behaviour {
        latency: read_latency(users)?.unwrap_or_default(),
        slowness: users.number("spread")?.map_or(Slowness::Same, Slowness::Spread),
        failure: users.number("failure")?.unwrap_or(0.0),
        late: pair(users, "late", &["part", "by"])?.map(|[part, by]| Late { part, by }),
        absence: pair(users, "absence", &["part", "lasts"])?.map(|[part, lasts]| Absence { part, lasts }),
        noise: read_noise(users)?,
    };
    // Lists of slowness belong to problems, and are checked there.
    behaviour.check(0).map_err(|error| blame(users, &error))?;
    Ok(Some(UsersTable { behaviour, answers: read_answers(users)? }))
}

/// Puts a refusal at the key that caused it.
fn blame(users: &Section<'_>, error: &BehaviourError) -> FileError {
    const KEYS: [&str; 6] = ["latency", "spread", "failure", "late", "absence", "noise"];
    let key = KEYS.into_iter().find(|key| *key == error.field()).unwrap_or("latency");
    users.complain(key, error)
}

/// How much users say, of a method or of everybody.
pub(super) fn read_answers(section: &Section<'_>) -> Result<Option<Detail>, FileError> {
    let Some(text) = section.text("answers")? else {
        return Ok(None);
    };
    let names = Detail::ALL.map(|detail| detail.to_string());
    let found = Detail::ALL.into_iter().find(|detail| detail.to_string() == text);
    let unknown = || {
        let hint = suggestion(text, names.iter().map(|name| &**name));
        section.complain("answers", format!("an answer cannot be {text:?}{hint}"))
    };
    found.map(Some).ok_or_else(unknown)
}

fn read_latency(users: &Section<'_>) -> Result<Option<Latency>, FileError> {
    let expected = "one of { fixed = 1 }, { exponential = 1 } and { heavy-tailed = 1 }";
    users.read("latency", expected, |value| {
        let table = value.as_table()?;
        let (name, mean) = table.iter().next().filter(|_| table.len() == 1)?;
        let mean = number(mean.get_ref())?;
        match &**name.get_ref() {
            "fixed" => Some(Latency::Fixed(mean)),
            "exponential" => Some(Latency::Exponential(mean)),
            "heavy-tailed" => Some(Latency::HeavyTailed(mean)),
            _ => None,
        }
    })
}

/// A table in which each of two keys has a number.
fn pair(users: &Section<'_>, key: &'static str, keys: &[&'static str; 2]) -> Result<Option<[f64; 2]>, FileError> {
    let Some(inner) = inner(users, key)? else {
        return Ok(None);
    };
    inner.allow(keys)?;
    let mut values = [0.0; 2];
    for (value, key) in values.iter_mut().zip(keys) {
        *value = inner.require(key, inner.number(key)?)?;
    }
    Ok(Some(values))
}

fn read_noise(users: &Section<'_>) -> Result<Option<Noise>, FileError> {
    // A number alone is noise that nobody states.
    if let Some(part) = users.value("noise").and_then(|value| number(value.get_ref())) {
        return Ok(Some(Noise { part, stated: false }));
    }
    let Some(noise) = inner(users, "noise")? else {
        return Ok(None);
    };
    noise.allow(&["part", "stated"])?;
    let part = noise.require("part", noise.number("part")?)?;
    let stated = noise.read("stated", "true or false", DeValue::as_bool)?.unwrap_or(false);
    Ok(Some(Noise { part, stated }))
}

fn inner<'a>(users: &Section<'a>, key: &'static str) -> Result<Option<Section<'a>>, FileError> {
    let Some(value) = users.value(key) else {
        return Ok(None);
    };
    let example = match key {
        "late" => "{ part = 0.1, by = 10 }",
        "absence" => "{ part = 0.2, lasts = 50 }",
        _ => "{ part = 0.01, stated = true }",
    };
    let wrong = || users.complain(key, format!("expected a table such as {example}"));
    let table = value.get_ref().as_table().ok_or_else(wrong)?;
    Ok(Some(Section::new(users.source, users.name_of(key), value.span(), table)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    fn experiment(users: &str, problem: &str, method: &str) -> Result<Experiment, String> {
        let text = format!(
            "budget = 9\n{users}\n[[problem]]\nname = \"p\"\nkind = \"quadratic\"\ncurvature = [1, 1]\ncenter = [0, 1]\n\
             start = 3\n{problem}\n[[method]]\nmethod = \"ciag\"\nstep_size = 0.1\n{method}\n"
        );
        Experiment::from_toml("x.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn everything_that_can_be_said() {
        let all = "[users]\nlatency = { heavy-tailed = 2 }\nspread = 0.5\nfailure = 0.33\nlate = { part = 0.1, by = 10 }\n\
                   absence = { part = 0.2, lasts = 50 }\nnoise = { part = 0.01, stated = true }\nanswers = \"loss\"";
        let found = experiment(all, "", "open = 2").unwrap();
        let expected = Behaviour {
            latency: Latency::HeavyTailed(2.0),
            slowness: Slowness::Spread(0.5),
            failure: 0.33,
            late: Some(Late { part: 0.1, by: 10.0 }),
            absence: Some(Absence { part: 0.2, lasts: 50.0 }),
            noise: Some(Noise { part: 0.01, stated: true }),
        };
        assert_eq!(found.users, Some(expected));
        assert_eq!(found.methods[0].answers, Detail::Loss);
        assert!(found.methods[0].is_oracle() && found.measures_spending());
        let hessians =
            experiment(&all.replace("spread = 0.5\n", ""), "slowness = [1, 4]", "answers = \"hessian\"").unwrap();
        assert_eq!(hessians.methods[0].answers, Detail::Hessian);
        assert!(!hessians.methods[0].is_oracle() && hessians.methods[0].sees_more().is_none());
        assert_eq!(hessians.problems[0].slowness.as_deref(), Some(&[1.0, 4.0][..]));
        let noisy = experiment("[users]\nnoise = 0.1", "", "").unwrap();
        assert_eq!(noisy.users.unwrap().noise, Some(Noise { part: 0.1, stated: false }));
        let own = experiment("[users]\nfailure = 0.1", "", "users = { failure = 0.5, answers = \"hessian\" }").unwrap();
        assert_eq!(own.methods[0].users.as_ref().map(|users| users.failure), Some(0.5));
        assert_eq!(own.methods[0].answers, Detail::Hessian);
        let plain = experiment("", "", "").unwrap();
        assert!(plain.users.is_none() && !plain.measures_spending());
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (users, problem, method, line, words) in [
            (
                "[users]\nlatncy = { fixed = 1 }",
                "",
                "",
                3,
                "unknown key `latncy` in [users]; did you mean \"latency\"?",
            ),
            ("users = 3", "", "", 2, "`users`: expected a table, such as { failure = 0.3 } or a heading [users]"),
            ("[users]\nlatency = 3", "", "", 3, "`latency` of [users]: expected one of { fixed = 1 }, { exponential"),
            ("[users]\nlatency = { fixed = 1, exponential = 2 }", "", "", 3, "expected one of"),
            ("[users]\nlatency = { fixed = -1 }", "", "", 3, "latency is -1: it must be finite and not negative"),
            ("[users]\nspread = 9", "", "", 3, "`spread` of [users]: spread is 9: it must be at least 0 and at most 5"),
            ("[users]\nfailure = 1", "", "", 3, "failure is 1: it must be at least 0 and below 1"),
            ("[users]\nlate = 0.1", "", "", 3, "`late` of [users]: expected a table such as { part = 0.1, by = 10 }"),
            ("[users]\nlate = { part = 0.1 }", "", "", 3, "`late` of [users] has no `by`, which it needs"),
            ("[users]\nlate = { part = 2, by = 1 }", "", "", 3, "late part is 2: it must be at least 0 and below 1"),
            ("[users]\nlate = { part = 0.1, bye = 1 }", "", "", 3, "unknown key `bye` in `late` of [users]"),
            ("[users]\nabsence = { part = 0.1, lasts = 0 }", "", "", 3, "absence lasts is 0: it must be positive"),
            ("[users]\nnoise = { part = \"x\" }", "", "", 3, "`part` of `noise` of [users]: expected a number"),
            ("[users]\nnoise = -1", "", "", 3, "noise part is -1: it must be finite and not negative"),
            ("[users]\nanswers = \"hesian\"", "", "", 3, "cannot be \"hesian\"; did you mean \"hessian\"?"),
            ("", "", "answers = \"all\"", 13, "`answers` of method number 1: an answer cannot be \"all\"; there are"),
            ("", "slowness = [1, 2]", "", 9, "`slowness` of problem \"p\": users take no time without [users]"),
            ("[users]", "slowness = [1]", "", 9, "1 numbers of slowness were given for 2 users: give one for each"),
            ("", "", "users = { failure = 2 }", 13, "`failure` of `users` of method number 1: failure is 2"),
            ("[users]\nspread = 1", "slowness = [1, 1]", "", 10, "either `spread` in [users] or `slowness`"),
        ] {
            let error = experiment(users, problem, method).err().unwrap_or_default();
            assert!(error.contains(words) && error.starts_with(&format!("x.toml:{line}:")), "{users}: {error}");
        }
    }
}
