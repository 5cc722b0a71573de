//! What happens to a session, and how a row says so.

use std::{
    borrow::Cow,
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, Row};
use serde::Serialize;

use crate::LedgerError;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// A question was put. `words` says why.
    Asked,
    /// An answer came before its turn, and waits for it. It moves the point once it is told, in an event `about` this one.
    Held,
    /// A question that was out was answered.
    Answered,
    /// A question that had failed, or had been withdrawn, was answered all the same.
    Late,
    /// An answer was not taken. `words` has why, and the beginning of what came.
    Refused,
    /// An answer was taken and looks odd. `words` has why.
    Flagged,
    /// A question will not be answered. `words` has the reason.
    Failed,
    /// A question of an earlier version of the program is not waited for any more.
    Withdrawn,
    /// A user cannot be asked until it is back.
    Away,
    /// A user can be asked again.
    Back,
    /// A user is no longer one.
    Left,
    /// A user who had left is one again.
    Joined,
    /// A budget or a tolerance was changed. `words` is [`Extension`](crate::Extension) as JSON.
    Extended,
    /// The session was made anew from all answers, because this version of the program would have asked otherwise.
    Rebuilt,
    /// Nobody could be asked before an answer comes or somebody is back.
    Waited,
    /// Everybody is asked the same: the first question of a study, or a closing one. `words` is what is asked, as JSON.
    Round,
    /// A question to everybody was answered. `words` is the answer, as JSON.
    Reported,
    /// A study has its model: everybody has answered the first question. `words` is what follows from the answers, as JSON.
    Begun,
    /// Something that changes nothing, for whoever reads the record: a process that crashed, say.
    Noted,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 19] = [
        Self::Asked,
        Self::Held,
        Self::Answered,
        Self::Late,
        Self::Refused,
        Self::Flagged,
        Self::Failed,
        Self::Withdrawn,
        Self::Away,
        Self::Back,
        Self::Left,
        Self::Joined,
        Self::Extended,
        Self::Rebuilt,
        Self::Waited,
        Self::Round,
        Self::Reported,
        Self::Begun,
        Self::Noted,
    ];

    /// The word in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Held => "held",
            Self::Answered => "answered",
            Self::Late => "late",
            Self::Refused => "refused",
            Self::Flagged => "flagged",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
            Self::Away => "away",
            Self::Back => "back",
            Self::Left => "left",
            Self::Joined => "joined",
            Self::Extended => "extended",
            Self::Rebuilt => "rebuilt",
            Self::Waited => "waited",
            Self::Round => "round",
            Self::Reported => "reported",
            Self::Begun => "begun",
            Self::Noted => "noted",
        }
    }

    /// Whether the session changes by it.
    pub fn counts(self) -> bool {
        !matches!(
            self,
            Self::Held | Self::Refused | Self::Flagged | Self::Withdrawn | Self::Round | Self::Reported | Self::Noted
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One row of the record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// Its number, from 1 without holes.
    pub seq: i64,
    /// When, in milliseconds since 1970, UTC.
    pub at: i64,
    /// What.
    pub kind: Kind,
    /// The question it is about.
    pub ticket: Option<u64>,
    /// The user it is about, by number.
    pub user: Option<usize>,
    /// Why, or what else there is to say.
    pub words: Option<String>,
    /// What was billed for it.
    pub cost: Option<f64>,
    /// How many numbers came with it.
    pub numbers: Option<u64>,
    /// The number of the event with the answer that was told or refused here, where that had come before its turn.
    pub about: Option<i64>,
    /// The BLAKE3 hash of this event, with all that belongs to it, and the seal before it.
    #[serde(skip)]
    pub seal: Vec<u8>,
}

impl Event {
    /// Of a kind, now, with nothing else to say.
    pub(crate) fn now(kind: Kind) -> Self {
        Self {
            seq: 0,
            at: now(),
            kind,
            ticket: None,
            user: None,
            words: None,
            cost: None,
            numbers: None,
            about: None,
            seal: Vec::new(),
        }
    }

    pub(crate) fn from_row(row: &Row<'_>) -> Result<Self, LedgerError> {
        let word: String = row.get("kind")?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word);
        let (seq, ticket, user, numbers): (i64, Option<i64>, Option<i64>, Option<i64>) =
            (row.get("seq")?, row.get("ticket")?, row.get("user")?, row.get("numbers")?);
        let damaged = || LedgerError::damaged(format!("event {seq} makes no sense"));
        Ok(Self {
            seq,
            at: row.get("at")?,
            kind: kind.ok_or_else(damaged)?,
            ticket: ticket.map(u64::try_from).transpose().map_err(|_| damaged())?,
            user: user.map(usize::try_from).transpose().map_err(|_| damaged())?,
            words: row.get("words")?,
            cost: row.get("cost")?,
            numbers: numbers.map(u64::try_from).transpose().map_err(|_| damaged())?,
            about: row.get("about")?,
            seal: row.get("seal")?,
        })
    }

    pub(crate) fn insert(&self, connection: &Connection) -> Result<(), LedgerError> {
        let sql = "INSERT INTO events (seq, at, kind, ticket, user, words, cost, numbers, seal, about) VALUES \
                   (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        connection.prepare_cached(sql)?.execute((
            self.seq,
            self.at,
            self.kind.word(),
            self.ticket.map(|it| it as i64),
            self.user.map(|it| it as i64),
            &self.words,
            self.cost,
            self.numbers.map(|it| it as i64),
            &self.seal,
            self.about,
        ))?;
        Ok(())
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// A time as people write it: 2026-11-18 19:03:07 UTC.
pub fn time(at: i64) -> String {
    let (days, seconds) = (at.div_euclid(86_400_000), at.rem_euclid(86_400_000) / 1000);
    // Days to a date of the Gregorian calendar, in eras of 400 years that begin in March.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Numbers as the file has them: on most processors, these are the bytes that the numbers have in memory.
pub(crate) fn to_bytes(numbers: &[f64]) -> Cow<'_, [u8]> {
    match cfg!(target_endian = "little") {
        true => Cow::Borrowed(bytemuck::cast_slice(numbers)),
        false => Cow::Owned(numbers.iter().flat_map(|number| number.to_le_bytes()).collect()),
    }
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Vec<f64>> {
    let (eights, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| eights.iter().map(|eight| f64::from_le_bytes(*eight)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        for (at, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (1_763_492_587_999, "2025-11-18 19:03:07 UTC"),
            (-1, "1969-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(time(at), expected);
        }
    }

    #[test]
    fn bytes_are_numbers() {
        let numbers = [0.0, -0.0, 1e-300, f64::MAX];
        let same = from_bytes(&to_bytes(&numbers)).unwrap();
        assert!(same.iter().zip(numbers).all(|(a, b)| a.to_bits() == b.to_bits()));
        assert_eq!(from_bytes(&[1, 2, 3]), None);
        assert_eq!(*to_bytes(&[-2.0]), [0, 0, 0, 0, 0, 0, 0, 0xc0]);
    }
}
