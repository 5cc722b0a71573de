//! `sgq session status`: how a session stands, and each of its users.

use std::{
    error::Error,
    fmt::Write as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sgq_bench::{output::quoted, readable::short};
use sgq_data::first_few;
use sgq_ledger::{Absence, Missing, Reported, Status, UserStatus, money};

use super::{duration, open};
use crate::{
    Outcome,
    terminal::{self, counted},
};

/// A table has at most so many users; --csv has all of them.
const USERS_SHOWN: usize = 40;

/// Print how a session stands: queries, cost, what remains, and what each user has disclosed. Somebody may write meanwhile.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq session status study.sgq\n  sgq session status study.sgq --csv > users.csv")]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// Print everything as JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print a line for each user
    #[arg(long)]
    csv: bool,
    /// Bring a ledger of an earlier version up to date first
    #[arg(long)]
    upgrade: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    if args.upgrade {
        open::to_write(&args.file)?.close()?;
    }
    if args.json {
        return print_json(&args.file);
    }
    if args.csv {
        terminal::say_data(&csv(&open::to_read(&args.file)?.status()?.users))?;
        return Ok(Outcome::Done);
    }
    print(&args.file)
}

pub fn print_json(file: &Path) -> Result<Outcome, Box<dyn Error>> {
    let status = open::to_read(file)?.status()?;
    terminal::say(&serde_json::to_string_pretty(&status)?)?;
    Ok(Outcome::Done)
}

/// The same for a person.
pub fn print(file: &Path) -> Result<Outcome, Box<dyn Error>> {
    let reader = open::to_read(file)?;
    terminal::say(&text(file, &reader.status()?, reader.session()?.cost_left()))?;
    Ok(Outcome::Done)
}

fn text(file: &Path, status: &Status, cost_left: Option<f64>) -> String {
    let mut text = format!("\n  {}\n", terminal::one_line(&file.display().to_string()));
    let mut line = |name: &str, value: &str| {
        let _ = write!(text, "\n  {name:<22}{value}");
    };
    if let Some(study) = &status.study {
        line("study", &format!("{}, {}", terminal::one_line(&study.formula), study.family));
        line("plan", &study.plan);
    }
    line("method", &status.method);
    let out = match status.pending {
        0 => "no question is out".to_owned(),
        1 => "1 question is out".to_owned(),
        more => format!("{more} questions are out"),
    };
    line("state", &status.stopped.clone().unwrap_or_else(|| format!("going on; {out}")));
    if status.stopped.is_some() && status.pending > 0 {
        line("", &out);
    }
    if let Some(study) = &status.study {
        if let Some(wants) = study.asks_everybody {
            let names: Vec<String> = study.waits_for.iter().map(|name| terminal::one_line(name)).collect();
            line(&format!("{wants} question"), &format!("waits for {}", first_few(&names)));
        }
        let Reported { summaries, closings, cost, numbers, .. } = study.reported;
        let (first, closing) = (counted(summaries, "first answer"), counted(closings, "closing answer"));
        line("besides queries", &format!("{first}, {closing}, {numbers} numbers, cost {}", money(cost)));
    }
    let of = status.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    line("queries", &format!("{}{of}", status.queries));
    let of = status.cost_budget.map(|budget| format!(" of {}", money(budget))).unwrap_or_default();
    let left = cost_left.map(|left| format!(", {} left", money_left(left))).unwrap_or_default();
    line("cost", &format!("{}{of}{left}", money(status.cost)));
    let of = status.numbers_budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    line("numbers sent", &format!("{}{of}", status.numbers));
    if let Some([gap, low, high]) = status.remaining {
        let part = |part: f64| if part > 0.0 { format!("{part:.1e}") } else { "0".to_owned() };
        let (gap, low, high) = (part(gap), part(low), part(high));
        line("believed to remain", &format!("{gap} ({low} to {high}) of the gap at the start"));
    }
    if let Some(gap) = status.certified {
        line("proven to remain", &format!("a gap of {} at most", short(gap)));
    }
    let last = status.last_event.map(|at| format!(", the last {}", ago(at))).unwrap_or_default();
    line("events", &format!("{}{last}", status.events));
    if let Some(lost) = &status.lost {
        line("lost", lost);
    }
    if let Some(why) = &status.made_anew {
        line("note", &format!("this version of sgq would have asked otherwise, and goes on from the answers ({why})"));
    }
    let sum = |count: fn(&UserStatus) -> u64| status.users.iter().map(count).sum::<u64>();
    let (refused, flagged) = (sum(|user| user.refused), sum(|user| user.flagged));
    if refused + flagged > 0 {
        line("out of line", &format!("{} refused, {flagged} taken and flagged", counted(refused, "answer")));
    }
    if let Some(words) = silent(&status.users) {
        line("note", &words);
    }
    for words in without(&status.missing) {
        line("warning", &words);
    }
    text + "\n\n" + &table(&status.users)
}

/// What is left of a budget in cost. Less than half a cent is nothing.
pub fn money_left(left: f64) -> String {
    if left < 0.005 { "0".to_owned() } else { money(left) }
}

/// Who cannot be asked, though more remains than was asked for: a line for each reason.
pub fn without(missing: &[Missing]) -> Vec<String> {
    let line = |absence: Absence, why: &str, remedy: &str| {
        let of: Vec<&Missing> = missing.iter().filter(|it| it.absence == absence).collect();
        let names: Vec<String> = of.iter().map(|it| terminal::one_line(&it.name)).collect();
        let (why, it) = match &of[..] {
            [] => return None,
            [one] => (&*one.words, "it"),
            _ => (why, "them"),
        };
        Some(format!(
            "{} cannot be asked ({why}): what remains may not fall without {it}: sgq session {remedy}",
            first_few(&names)
        ))
    };
    [
        line(Absence::Away, "they are away", "back, leave or extend"),
        line(Absence::Failing, "they fail again and again", "back, leave or extend"),
        line(Absence::Spent, "their limits are spent", "leave or extend"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Who was asked and has never answered: the point is without these.
pub fn silent(users: &[UserStatus]) -> Option<String> {
    let silent = users.iter().filter(|user| user.account.answers == 0 && user.failures > 0 && !user.left);
    let names: Vec<String> = silent.map(|user| terminal::one_line(&user.name)).collect();
    let has = if names.len() == 1 { "has" } else { "have" };
    (!names.is_empty()).then(|| format!("{} {has} never answered: the point is without", first_few(&names)))
}

/// How long ago something was, at a time in milliseconds since 1970.
fn ago(at: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = now.saturating_sub(Duration::from_millis(u64::try_from(at).unwrap_or(0)));
    format!("{} ago ({})", duration::words(since), sgq_ledger::time(at))
}

fn state(user: &UserStatus) -> &'static str {
    match (user.left, &user.spent, user.away) {
        (true, ..) => "has left",
        (_, Some(_), _) => "limit spent",
        (.., true) => "away",
        _ => "",
    }
}

fn table(users: &[UserStatus]) -> String {
    let mut shown: Vec<&UserStatus> = users.iter().collect();
    // Where there are too many, those who were asked come first.
    if users.len() > USERS_SHOWN {
        shown.sort_by_key(|user| std::cmp::Reverse(user.account.answers + user.failures + user.refused));
    }
    let names: Vec<String> = shown.iter().take(USERS_SHOWN).map(|user| terminal::one_line(&user.name)).collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max("user".len());
    let has_epsilon = users.iter().any(|user| user.epsilon.is_some());
    let epsilon = if has_epsilon { format!("{:>9}", "epsilon") } else { String::new() };
    let mut text = format!("  {:<widest$}  answers  numbers  failures  refused  flagged{epsilon}", "user");
    for (user, name) in shown.iter().zip(&names) {
        let epsilon = match (has_epsilon, user.epsilon) {
            (true, Some(epsilon)) => format!("{epsilon:>9.3}"),
            (true, None) => format!("{:>9}", "–"),
            _ => String::new(),
        };
        let line = format!(
            "\n  {name:<widest$}  {:>7}  {:>7}  {:>8}  {:>7}  {:>7}{epsilon}  {}",
            user.account.answers,
            user.account.numbers,
            user.failures,
            user.refused,
            user.flagged,
            state(user),
        );
        text += line.trim_end();
        if let Some(reason) = user.last_reason.as_ref().filter(|_| user.failures > 0) {
            text += &format!("\n  {:<widest$}  last failure: {}", "", terminal::one_line(reason));
        }
    }
    if users.len() > USERS_SHOWN {
        text += &format!("\n  … and {} more: --csv has all of them", users.len() - USERS_SHOWN);
    }
    text
}

fn csv(users: &[UserStatus]) -> String {
    let mut text =
        "user,answers,numbers,without_noise,epsilon,failures,refused,flagged,away,left,limit_spent,last_reason"
            .to_owned();
    for user in users {
        let epsilon = user.epsilon.map(|epsilon| epsilon.to_string()).unwrap_or_default();
        let _ = write!(
            text,
            "\n{},{},{},{},{epsilon},{},{},{},{},{},{},{}",
            quoted(&user.name),
            user.account.answers,
            user.account.numbers,
            user.account.bare,
            user.failures,
            user.refused,
            user.flagged,
            user.away,
            user.left,
            user.spent.is_some(),
            quoted(user.last_reason.as_deref().unwrap_or_default()),
        );
    }
    text
}
