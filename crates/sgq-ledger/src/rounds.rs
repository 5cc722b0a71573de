//! Questions to everybody: the first one of a study, before there is a model, and the closing ones.

use std::{collections::BTreeMap, fmt, sync::Arc};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sgq_data::{glm::Closing, plan::Summary};

use crate::{
    Event, Kind, LedgerError,
    record::{self, Header},
};

/// The tickets of the first question begin here; those of questions at a point stay below.
const FIRST_TICKET: u64 = 1 << 32;

/// What everybody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wants {
    /// Counts, means, deviations and levels: the first question.
    Summary,
    /// Score, information, deviance and counts at the final point: the closing question.
    Closing,
}

impl Wants {
    /// `summary` or `closing`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Closing => "closing",
        }
    }

    /// The question, for a person.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Summary => "the first question to everybody",
            Self::Closing => "the closing question to everybody",
        }
    }
}

impl fmt::Display for Wants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// An answer to such a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Report {
    /// To the first one.
    Summary(Box<Summary>),
    /// To the closing one.
    Closing(Box<Closing>),
}

impl Report {
    /// The report in a message, if there is one; the error says what is wrong with it.
    pub(crate) fn in_message(message: &Value) -> Option<Result<Self, String>> {
        let (key, value) = ["summary", "closing"].into_iter().find_map(|key| {
            let value = message.get(key).filter(|value| !value.is_null())?;
            Some((key, value))
        })?;
        let read = match key {
            "summary" => Summary::deserialize(value).map(|summary| Self::Summary(Box::new(summary))),
            _ => Closing::deserialize(value).map(|closing| Self::Closing(Box::new(closing))),
        };
        Some(read.map_err(|error| format!("the {key:?} cannot be read: {error}")))
    }

    /// What it answers.
    pub fn answers(&self) -> Wants {
        match self {
            Self::Summary(_) => Wants::Summary,
            Self::Closing(_) => Wants::Closing,
        }
    }

    /// How many numbers its user discloses with it.
    pub fn numbers(&self) -> u64 {
        match self {
            Self::Summary(summary) => summary.numbers(),
            Self::Closing(closing) => closing.numbers() as u64,
        }
    }

    /// As its event has it: with a hash of its own, so that it can be used whatever else is lost.
    pub(crate) fn to_words(&self, ticket: u64) -> serde_json::Result<String> {
        serde_json::to_string(&Kept { report: self, blake3: self.hash(ticket)? })
    }

    /// From the words of its event; none where they are not what was written.
    pub(crate) fn from_words(ticket: u64, words: &str) -> Option<Self> {
        let Kept { report, blake3 } = serde_json::from_str::<Kept<Self>>(words).ok()?;
        (report.hash(ticket).ok()? == blake3).then_some(report)
    }

    fn hash(&self, ticket: u64) -> serde_json::Result<String> {
        let text = format!("{ticket} {}", serde_json::to_string(self)?);
        Ok(blake3::hash(text.as_bytes()).to_hex().to_string())
    }
}

/// A report in the words of its event.
#[derive(Serialize, Deserialize)]
struct Kept<R> {
    #[serde(flatten)]
    report: R,
    blake3: String,
}

/// One question to everybody.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// 0 is the first question, and each closing one has a number of its own.
    pub number: u64,
    pub wants: Wants,
    pub point: Arc<[f64]>,
    /// When it was opened, in milliseconds since 1970.
    pub at: i64,
    pub reports: BTreeMap<usize, Report>,
    /// Who will not answer, and why. It is asked again when the ledger is opened again.
    pub refusals: BTreeMap<usize, String>,
}

impl Round {
    pub fn ticket(&self, user: usize) -> u64 {
        ticket(self.number, user)
    }

    /// The closing that each of these users has reported, if all of them have.
    pub fn closings(&self, users: &[usize]) -> Option<Vec<Closing>> {
        let of = |user: &usize| match self.reports.get(user)? {
            Report::Closing(closing) => Some(Closing::clone(closing)),
            Report::Summary(_) => None,
        };
        users.iter().map(of).collect()
    }
}

/// What a round's event says.
#[derive(Serialize, Deserialize)]
struct Opened<P> {
    round: u64,
    wants: Wants,
    point: P,
}

/// What reports cost and held: they are no queries at a point, and no budget counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reported {
    /// Answers to the first question.
    pub summaries: u64,
    /// Answers to closing ones.
    pub closings: u64,
    /// What was paid for all of them.
    pub cost: f64,
    /// The numbers that they held.
    pub numbers: u64,
}

/// All rounds so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// The last one.
    pub last: Option<Round>,
    /// How many there were.
    pub count: u64,
    pub reported: Reported,
    /// Whether somebody has left since the study has its model.
    pub has_changed: bool,
    has_begun: bool,
}

impl Rounds {
    /// From the record; each event that is used is checked against its seal.
    pub fn read(connection: &Connection, header: &Header) -> Result<Self, LedgerError> {
        let mut rounds = Self::default();
        if header.terms.is_none() {
            return Ok(rounds);
        }
        let mut query = connection.prepare(
            "SELECT * FROM events WHERE kind IN ('round', 'reported', 'begun', 'left', 'joined') ORDER BY seq",
        )?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let event = Event::from_row(row)?;
            record::check_seal(connection, &header.seal, &event)?;
            rounds.happen(&event)?;
        }
        Ok(rounds)
    }

    fn open(&mut self, number: u64, wants: Wants, point: Vec<f64>, at: i64) {
        let (reports, refusals) = (BTreeMap::new(), BTreeMap::new());
        self.last = Some(Round { number, wants, point: point.into(), at, reports, refusals });
        self.count = number.saturating_add(1);
    }

    /// Takes note of an event.
    pub fn happen(&mut self, event: &Event) -> Result<(), LedgerError> {
        let words = event.words.as_deref().unwrap_or_default();
        match (event.kind, &mut self.last, event.user) {
            (Kind::Round, ..) => {
                let Opened { round: number, wants, point } = serde_json::from_str::<Opened<Vec<f64>>>(words)?;
                self.open(number, wants, point, event.at);
            }
            (Kind::Reported, _, Some(user)) => {
                let ticket = event.ticket.unwrap_or_default();
                let report = Report::from_words(ticket, words).ok_or_else(|| {
                    LedgerError::damaged(format!("the answer of event {} is not what was written", event.seq))
                })?;
                match report.answers() {
                    Wants::Summary => self.reported.summaries += 1,
                    Wants::Closing => self.reported.closings += 1,
                }
                self.reported.cost += event.cost.unwrap_or(0.0);
                self.reported.numbers += event.numbers.unwrap_or(0);
                // What opened the first round may be lost where a ledger was recovered: all that it says is known.
                if self.last.is_none() && ticket == self::ticket(0, user) {
                    self.open(0, Wants::Summary, Vec::new(), event.at);
                }
                if let Some(round) = self.last.as_mut().filter(|round| round.ticket(user) == ticket) {
                    round.reports.insert(user, report);
                    round.refusals.remove(&user);
                }
            }
            (Kind::Begun, ..) => self.has_begun = true,
            (Kind::Left, ..) => self.has_changed |= self.has_begun,
            // Nothing is known of it any more.
            (Kind::Joined, Some(round), Some(user)) => {
                round.reports.remove(&user);
                round.refusals.remove(&user);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The event that opens a round.
pub(crate) fn opening(round: u64, wants: Wants, point: &[f64]) -> Result<Event, LedgerError> {
    let words = Some(serde_json::to_string(&Opened { round, wants, point })?);
    Ok(Event { words, ..Event::now(Kind::Round) })
}

/// The ticket of a question to everybody, for one of them.
pub(crate) fn ticket(round: u64, user: usize) -> u64 {
    FIRST_TICKET * (round + 1) + user as u64
}

/// The round and the user of such a ticket; none of a question at a point.
pub(crate) fn of_ticket(ticket: u64) -> Option<(u64, usize)> {
    let round = (ticket / FIRST_TICKET).checked_sub(1)?;
    Some((round, (ticket % FIRST_TICKET) as usize))
}

/// What a file with a question or an answer is called, without its ending: `17`, `first`, `closing`, `closing-2`.
pub(crate) fn file_stem(ticket: u64) -> String {
    match of_ticket(ticket) {
        None => ticket.to_string(),
        Some((0, _)) => "first".to_owned(),
        Some((1, _)) => "closing".to_owned(),
        Some((round, _)) => format!("closing-{round}"),
    }
}

/// The ticket that a user's file is about.
pub(crate) fn ticket_of_stem(stem: &str, user: usize) -> Option<u64> {
    let round = match stem {
        "first" => 0,
        "closing" => 1,
        _ => match stem.strip_prefix("closing-") {
            Some(number) => number.parse().ok().filter(|round| (2..FIRST_TICKET / 2).contains(round))?,
            None => return stem.parse().ok(),
        },
    };
    Some(ticket(round, user))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_files_and_back() {
        for (number, stem) in
            [(17, "17"), (ticket(0, 6), "first"), (ticket(1, 6), "closing"), (ticket(2, 6), "closing-2")]
        {
            assert_eq!(file_stem(number), stem);
            assert_eq!(ticket_of_stem(stem, 6), Some(number));
        }
        for stem in ["", "closing-1", "closing-x", "closing-99999999999999999999", "first "] {
            assert_eq!(ticket_of_stem(stem, 0), None, "{stem}");
        }
        assert_eq!(of_ticket(ticket(3, 9)), Some((3, 9)));
        assert_eq!(of_ticket(FIRST_TICKET - 1), None);
    }
}
