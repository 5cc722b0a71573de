//! A fit whose every question and answer is on the disk.

use std::{collections::BTreeMap, error::Error, path::Path, sync::atomic::AtomicBool};

use indicatif::ProgressBar;
use serde_json::Value;
use sgq::{Detail, Method, Oracle as _, Session, Settings, Ticket, answer::packed, problem::Regression};
use sgq_data::glm::Precision;
use sgq_ledger::{Extension, Kind, Ledger, LedgerError, Plan, Policy, Protection, Question, Reader, Reply, User};
use thiserror::Error;

use super::asking::{Looks, Run, ask_users};
use crate::session::to_write;

/// So many of the last answers in a ledger are asked for again, to see that they are of the same data.
const CHECKED: usize = 50;

/// Whom a fit asks: users in memory, with or without a record of what they said.
pub enum Users<'a> {
    Simulated(Box<Session<'a>>),
    Recorded(Box<Ledger>),
}

/// Why a ledger does not go with a fit.
#[derive(Debug, Error)]
enum OtherFit {
    #[error("{ledger} is of another fit: {what}; name another --ledger, or fit as before")]
    Differs { ledger: String, what: String },
    #[error("--target-gap looks at the gap, which no user knows, and a ledger holds only what users say: leave it out")]
    TargetGap,
}

impl<'a> Users<'a> {
    /// Makes a ledger for a fit, or goes on with the one that is there.
    pub fn on_ledger(
        path: &Path,
        method: Method,
        mut settings: Settings,
        names: &[String],
        problem: &Regression,
    ) -> Result<Self, Box<dyn Error>> {
        if settings.target_gap.is_some() {
            return Err(OtherFit::TargetGap.into());
        }
        let smoothness = settings.smoothness.take();
        let user = |(index, name): (usize, &String)| {
            let mut user = User::named(name.as_str());
            user.smoothness = smoothness.as_ref().and_then(|each| each.get(index)).copied();
            user
        };
        // Nobody lies here.
        let mut protection = Protection::default();
        protection.unexpected = Policy::Ignore;
        let plan = Plan::new(method, settings, names.iter().enumerate().map(user).collect()).protected(protection);
        if !path.exists() {
            return Ok(Self::Recorded(Box::new(Ledger::create(path, &plan)?)));
        }
        let ledger = to_write(path)?;
        let differs = |what: String| OtherFit::Differs { ledger: path.display().to_string(), what };
        if let Some(what) = difference(&ledger.plan(), &plan)? {
            return Err(differs(what).into());
        }
        if let Some(ticket) = other_answer(path, problem)? {
            let what = format!("its answer to question {ticket} is not that of these data with this --weigh and --l2");
            return Err(differs(what).into());
        }
        Ok(Self::Recorded(Box::new(ledger)))
    }

    pub fn session(&self) -> &Session<'a> {
        match self {
            Self::Simulated(session) => session,
            Self::Recorded(ledger) => ledger.session(),
        }
    }

    /// Asks until it stops or somebody interrupts.
    pub fn ask(
        &mut self,
        problem: &Regression,
        precision: Precision<'_>,
        budget: u64,
        interrupt: &AtomicBool,
        bar: &ProgressBar,
    ) -> Result<Run, Box<dyn Error>> {
        let ledger = match self {
            Self::Simulated(session) => return ask_users(session, problem, precision, budget, interrupt, bar),
            Self::Recorded(ledger) => ledger,
        };
        let mut looks = Looks::new(problem, &ledger.plan().settings.start, budget, interrupt, bar);
        look_back(ledger, &mut looks)?;
        while !looks.is_interrupted() {
            if let Some(part) = precision.tolerance(ledger.session(), ledger.stop_reason()) {
                ledger.extend(Extension { tolerance: Some(part), ..Extension::default() })?;
            }
            ledger.ask_many(usize::MAX)?;
            // In the order of the questions, as without a ledger.
            let (None, Some(question)) = (ledger.stop_reason(), ledger.pending().into_iter().next()) else {
                break;
            };
            let reply = reply(problem, &question);
            ledger.group(|ledger| {
                ledger.tell(question.ticket, &reply)?;
                // An answer may be the last one: what would be asked after it is not asked.
                if ledger.stop_reason().is_none() { ledger.ask_many(usize::MAX).map(drop) } else { Ok(()) }
            })?;
            looks.count(question.user, &question.point, &reply.answer());
            looks.look(ledger.session());
            looks.show(ledger.session());
        }
        Ok(looks.end(ledger.session(), ledger.stop_reason()))
    }
}

/// What a user says to a question, as much as is wanted.
fn reply(problem: &Regression, question: &Question) -> Reply {
    answer(problem, question.user, &question.point, question.wants)
}

fn answer(problem: &Regression, user: usize, point: &[f64], wants: Detail) -> Reply {
    let dim = point.len();
    let mut reply = Reply::new(vec![0.0; dim]);
    problem.gradient(user, point, &mut reply.gradient);
    reply.loss = (wants >= Detail::Loss).then(|| problem.user_loss(user, point)).flatten();
    if wants >= Detail::Hessian {
        let mut hessian = vec![0.0; dim * dim];
        reply.hessian = problem.hessian(user, point, &mut hessian).then(|| packed(&hessian, dim));
    }
    reply
}

/// What is not the same in two plans, in words.
fn difference(there: &Plan, here: &Plan) -> Result<Option<String>, serde_json::Error> {
    if there.method != here.method {
        let (there, here) = (there.method.name(), here.method.name());
        let settings = if there == here { ", with other settings" } else { "" };
        return Ok(Some(format!("its method is {there}{settings}, and this one is {here}")));
    }
    if there.users != here.users {
        let (one, other) = (there.users.len(), here.users.len());
        return Ok(Some(if one == other {
            "its users are called otherwise, or their rows have changed".to_owned()
        } else {
            format!("it has {one} users, and the data have {other}")
        }));
    }
    // The users' constants were looked at with them.
    let named = |plan: &Plan| -> Result<BTreeMap<String, Value>, serde_json::Error> {
        let mut settings = plan.settings.clone();
        settings.smoothness = None;
        serde_json::from_value(serde_json::to_value(settings)?)
    };
    let (there, here) = (named(there)?, named(here)?);
    let differs = here.into_iter().find(|(name, value)| there.get(name) != Some(value));
    Ok(differs.map(|(name, value)| {
        let before = there.get(&name).unwrap_or(&Value::Null);
        match name.as_str() {
            "start" => "it begins elsewhere: its columns or its targets are others".to_owned(),
            _ => format!("its {} is {before}, and this one's {value}", name.replace('_', " ")),
        }
    }))
}

/// One of the last answers that these data would not give.
fn other_answer(path: &Path, problem: &Regression) -> Result<Option<u64>, LedgerError> {
    let reader = Reader::open(path)?;
    let mut answered = std::collections::VecDeque::new();
    reader.history(|event| {
        if matches!(event.kind, Kind::Answered | Kind::Late) {
            if answered.len() == CHECKED {
                answered.pop_front();
            }
            answered.push_back(event);
        }
        Ok(())
    })?;
    for event in answered {
        if let (Some((point, told)), Some(user)) = (reader.answer(&event)?, event.user) {
            let mut gradient = vec![0.0; point.len()];
            problem.gradient(user, &point, &mut gradient);
            if told.gradient.iter().map(|it| it.to_bits()).ne(gradient.iter().map(|it| it.to_bits())) {
                return Ok(event.ticket);
            }
        }
    }
    Ok(None)
}

/// Goes through what is in the ledger once more, for the gaps on the way and what was sent. Where it cannot be gone through as it was
/// (budgets were raised, or another version of the program has asked), the gaps begin where it stands.
fn look_back(ledger: &Ledger, looks: &mut Looks<'_>) -> Result<(), Box<dyn Error>> {
    let Plan { method, settings, .. } = ledger.plan();
    let mut again = Session::new(method, settings)?;
    let (mut events, reader) = (Vec::new(), Reader::open(ledger.path())?);
    reader.history(|event| {
        events.push(event);
        Ok(())
    })?;
    for event in events {
        match (event.kind, event.ticket) {
            (Kind::Asked, Some(ticket)) => {
                if again.ask()?.is_none_or(|query| query.ticket != Ticket(ticket)) {
                    break;
                }
            }
            (Kind::Answered, Some(ticket)) => {
                let (Some((point, told)), Some(user)) = (reader.answer(&event)?, event.user) else { break };
                if again.tell(Ticket(ticket), told.answer()).is_err() {
                    break;
                }
                looks.count(user, &point, &told.answer());
                looks.look(&again);
            }
            (Kind::Extended, _) => {
                serde_json::from_str::<Extension>(event.words.as_deref().unwrap_or_default())?.apply(&mut again)?;
            }
            (Kind::Waited | Kind::Noted, _) => {}
            _ => break,
        }
    }
    Ok(())
}
