//! What the method itself believed along the way: replayed from the record, and written down as it grows.

use std::collections::VecDeque;

use sgq::{
    Scores, Session, Why,
    choice::{ScorePart, Scored},
};
use sgq_ledger::{Kind, Step};

/// What was believed to remain after an event, as parts of the gap at the start: expected, and the ends of the 90% interval.
#[derive(Clone, Copy, Debug)]
pub struct Believed {
    pub seq: i64,
    pub part: [f64; 3],
}

/// A question as the method saw it.
#[derive(Clone, Debug)]
pub struct Questioned {
    pub ticket: u64,
    pub user: usize,
    pub why: Option<Why>,
    pub explored: Option<bool>,
    pub asked_at: i64,
    pub answered_at: Option<i64>,
    /// How far the point moved on the answer.
    pub moved: Option<f64>,
    pub part_before: Option<f64>,
    pub part_after: Option<f64>,
    /// Where the method goes by scores, and somebody looked before it was put.
    pub scored: Option<Candidates>,
}

/// Those who could have been asked instead.
#[derive(Clone, Debug)]
pub struct Candidates {
    pub rule: &'static str,
    pub parts: &'static [ScorePart],
    /// The best, and the one that was asked.
    pub shown: Vec<Scored>,
    /// The place of the one that was asked, from 1.
    pub rank: usize,
    pub of: usize,
}

/// So many of the best candidates are kept.
const SHOWN: usize = 20;

impl Candidates {
    fn new(scores: &Scores, user: usize) -> Option<Self> {
        let ranked = scores.ranked();
        let asked = *scores.of(user)?;
        let rank = 1 + ranked.iter().filter(|it| it.score > asked.score).count();
        let mut shown: Vec<Scored> = ranked.iter().copied().take(SHOWN).collect();
        if shown.iter().all(|it| it.user != user) {
            shown.push(asked);
        }
        Some(Self { rule: scores.rule, parts: scores.parts, shown, rank, of: ranked.len().max(rank) })
    }
}

/// The last questions are kept as the method saw them: as many as may be out and be looked at.
const QUESTIONS_KEPT: usize = 32;

/// What was written down over a stretch of the record.
#[derive(Debug, Default)]
pub struct History {
    /// After each event that can change what is believed, in order.
    pub believed: Vec<Believed>,
    pub questions: VecDeque<Questioned>,
    scores: Option<Scores>,
    /// The point before an answer.
    before: Vec<f64>,
    part_before: Option<f64>,
}

/// What remains, as parts of the gap at the start.
pub fn part_of(session: &Session<'_>) -> Option<[f64; 3]> {
    let remaining = session.remaining()?;
    let start = remaining.at_start;
    Some([remaining.gap, remaining.low, remaining.high].map(|gap| if start > 0.0 { gap / start } else { 0.0 }))
}

impl History {
    /// Writes down what an event does. Before the last question in the record, `wants_scores` says whether to look at the scores.
    pub fn see(&mut self, step: &Step<'_>, wants_scores: impl FnOnce() -> bool) {
        let Step { event, session, .. } = step;
        match (event.kind, step.has_happened) {
            (Kind::Asked, false) => {
                self.scores = (step.is_last_question && wants_scores()).then(|| session.scores()).flatten();
            }
            (Kind::Asked, true) => self.note_question(step),
            (Kind::Answered | Kind::Late, false) => {
                self.before.clear();
                self.before.extend_from_slice(session.point());
                self.part_before = part_of(session).map(|part| part[0]);
            }
            (Kind::Answered | Kind::Late, true) => self.note_answer(step),
            // A failure may have been billed, and users who leave or join change what is to be found.
            (Kind::Failed | Kind::Left | Kind::Joined, true) => self.note_part(event.seq, session),
            _ => {}
        }
    }

    /// Where a stretch begins with what was believed before it.
    pub fn note_part(&mut self, seq: i64, session: &Session<'_>) {
        self.believed.extend(part_of(session).map(|part| Believed { seq, part }));
    }

    fn note_question(&mut self, step: &Step<'_>) {
        let (Some(ticket), Some(user)) = (step.event.ticket, step.event.user) else { return };
        // The session's last open question is this one.
        let explored = step.session.pending().last().and_then(|query| query.explored);
        let scored = self.scores.take().and_then(|scores| Candidates::new(&scores, user));
        self.questions.push_back(Questioned {
            ticket,
            user,
            why: step.why,
            explored,
            asked_at: step.event.at,
            answered_at: None,
            moved: None,
            part_before: None,
            part_after: None,
            scored,
        });
        self.keep_last();
    }

    fn keep_last(&mut self) {
        while self.questions.len() > QUESTIONS_KEPT {
            self.questions.pop_front();
        }
    }

    fn note_answer(&mut self, step: &Step<'_>) {
        let Step { event, session, .. } = step;
        self.note_part(event.seq, session);
        let question = self.questions.iter_mut().rev().find(|question| Some(question.ticket) == event.ticket);
        if let Some(question) = question {
            let squares = self.before.iter().zip(session.point()).map(|(one, other)| (one - other) * (one - other));
            question.answered_at = Some(event.at);
            question.moved = Some(squares.sum::<f64>().sqrt());
            question.part_before = self.part_before;
            question.part_after = part_of(session).map(|part| part[0]);
        }
    }

    /// Puts what was replayed before what was seen live.
    pub fn put_before(&mut self, mut earlier: Self) {
        let first = self.believed.first().map_or(i64::MAX, |it| it.seq);
        earlier.believed.retain(|it| it.seq < first);
        earlier.believed.append(&mut self.believed);
        self.believed = earlier.believed;
        for mut question in earlier.questions.into_iter().rev() {
            match self.questions.iter_mut().find(|it| it.ticket == question.ticket) {
                // Its answer was seen live, and its choice was not.
                Some(known) => known.scored = known.scored.take().or(question.scored.take()),
                None => self.questions.push_front(question),
            }
        }
        self.keep_last();
    }

    /// What was believed after an event.
    pub fn at(&self, seq: i64) -> Option<[f64; 3]> {
        let after = self.believed.partition_point(|it| it.seq <= seq);
        let last = self.believed.get(after.checked_sub(1)?)?;
        Some(last.part)
    }
}
