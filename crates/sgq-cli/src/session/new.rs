//! `sgq session new`: a session, before anybody is asked.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use sgq::{Detail, Method, Settings, StepSize};
use sgq_data::{glm::Precision, plan::StudyPlan};
use sgq_ledger::{Ledger, LedgerError, Plan, Policy, Protection, Terms, default_budget, money};
use thiserror::Error;

use super::{clinics, open::SessionError, status, study, whole};
use crate::{
    Outcome,
    fit::{NewSetting, StepRule, Tolerance, choose_method, parse},
    terminal::{self, counted},
};

/// Make a new session: who the users are, where to start, when to stop. Nobody is asked yet.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example:\n  sgq session new study.sgq --users clinics.csv --dim 6 --budget 300\n\nclinics.csv has a column user and, \
                  as it may be, cost (of a question), weight (what a user counts in the objective) and smoothness (its L_i):\n\n  \
                  user,cost,weight\n  clinic-1,1,120\n  clinic-2,2.5,80\n\nEverything is fixed from here on, but for what sgq session \
                  extend, away, back, leave and join change. The same seed asks the same users.\n\nWith --plan, which sgq plan new makes, it is a \
                  regression: everybody is asked for counts and means first, and dimension, start and weights follow from that."
)]
pub struct Args {
    /// The ledger to make; a file that is there is never touched
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// A CSV file with a column user, and as it may be cost, weight and smoothness
    #[arg(long, value_name = "CLINICS.csv")]
    users: PathBuf,
    /// What everybody has agreed to (sgq plan new): a regression, whose users answer with sgq answer
    #[arg(long, value_name = "MODEL.plan", conflicts_with_all = ["dim", "start", "answers", "certified_gap", "pl_constant"])]
    plan: Option<PathBuf>,
    /// How many parameters there are; the start is 0 for each of them
    #[arg(long, value_name = "N", required_unless_present_any = ["start", "plan"], value_parser = parse_dim)]
    dim: Option<usize>,
    /// Where to start: numbers with commas between, or a JSON file with a list of them
    #[arg(long, value_name = "POINT", allow_hyphen_values = true)]
    start: Option<String>,
    /// Any name that `sgq methods` lists [default: frugal; saga where there are more than 100,000 users]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// A setting of the method that `sgq methods` lists, such as lazy=true; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse::parse_setting)]
    set: Vec<NewSetting>,
    /// A number; auto, the method's own default; or theory, the largest that the method's theorem allows
    #[arg(long, value_name = "SIZE", default_value = "auto")]
    step_size: StepRule,
    /// Stop after that many queries; or none [default: 500, or 10 for each user where that is more, unless there is another budget]
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    budget: Option<Limit>,
    /// Stop before all queries together cost more than this
    #[arg(long, value_name = "COST", value_parser = parse::parse_positive)]
    cost_budget: Option<f64>,
    /// Stop before all answers together hold more numbers than this: a gradient holds one for each parameter
    #[arg(long, value_name = "N", value_parser = whole::count)]
    numbers_budget: Option<u64>,
    /// Stop once so small a part of the gap at the start is believed to remain, by the method's own estimate; or off
    /// [default: 0.0001, where the method can tell and there is no --certified-gap or --plan]
    #[arg(long, value_name = "PART")]
    tol: Option<Tolerance>,
    /// With --plan: stop once coefficients are believed to be at most so many standard errors off [default: 0.01, where the method can
    /// tell]
    #[arg(long, value_name = "ERRORS", value_parser = parse::parse_positive, requires = "plan", conflicts_with = "tol")]
    precision: Option<f64>,
    /// With --plan: do without the closing question, so that standard errors are approximate
    #[arg(long, requires = "plan")]
    no_close: bool,
    /// Stop once the gap is proven to be at most this, in the objective's own units; needs smoothness in the users' file, and
    /// --pl-constant
    #[arg(long, value_name = "GAP", value_parser = parse::parse_positive)]
    certified_gap: Option<f64>,
    /// The Polyak-Łojasiewicz constant μ of the objective, such as that of strong convexity
    #[arg(long, value_name = "μ", value_parser = parse::parse_positive)]
    pl_constant: Option<f64>,
    /// How many questions may be out at once
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = parse::parse_open)]
    open: usize,
    /// How much users are asked to say, at most: gradient, loss (the gradient and the loss) or hessian (all three)
    #[arg(long, value_name = "WHAT", default_value = "gradient", value_parser = parse::parse_answers)]
    answers: Detail,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::number)]
    seed: u64,
    /// Print how the session stands as JSON
    #[arg(long)]
    json: bool,
    /// Print nothing but errors (and the result, with --json)
    #[arg(long, short)]
    quiet: bool,
    // The last, because of its heading.
    #[command(flatten)]
    protection: ProtectionOptions,
}

/// How many queries there may be.
#[derive(Clone, Copy)]
enum Limit {
    Most(u64),
    None,
}

/// What one user may do to the run, and the run to its users.
#[derive(clap::Args)]
#[command(next_help_heading = "Protection")]
struct ProtectionOptions {
    /// Nobody is asked once it has given so many answers
    #[arg(long, value_name = "N", value_parser = whole::count)]
    answers_each: Option<u64>,
    /// Nobody is asked once one more answer could spend more than this ε; users say what noise they added
    #[arg(long, value_name = "ε", value_parser = parse::parse_positive)]
    epsilon: Option<f64>,
    /// The δ of (ε, δ) differential privacy
    #[arg(long, value_name = "δ", value_parser = parse::parse_positive, default_value_t = Protection::default().delta)]
    delta: f64,
    /// An answer that breaks ‖g − g_i‖ ≤ L_i ‖x − x_i‖, where smoothness is given: ignore, flag or refuse
    #[arg(long, value_name = "POLICY", default_value = "flag", value_parser = parse_policy)]
    unsmooth: Policy,
    /// By what part it may be broken
    #[arg(long, value_name = "PART", value_parser = parse_slack, default_value_t = Protection::default().smoothness_slack)]
    unsmooth_slack: f64,
    /// An answer that is far longer than all that came from others: ignore, flag or refuse
    #[arg(long, value_name = "POLICY", default_value = "refuse", value_parser = parse_policy)]
    too_long: Policy,
    /// How many times longer
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor, default_value_t = Protection::default().length_factor)]
    too_long_factor: f64,
    /// An answer that is far from what the method's model expects of it, beside the answers of all others: ignore, flag or refuse
    #[arg(long, value_name = "POLICY", default_value = "refuse", value_parser = parse_policy)]
    unexpected: Policy,
    /// How many times as far as the others' answers are long
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor, default_value_t = Protection::default().unexpected_factor)]
    unexpected_factor: f64,
}

impl ProtectionOptions {
    fn protection(&self) -> Protection {
        let mut protection = Protection::default();
        (protection.answers_each, protection.epsilon, protection.delta) = (self.answers_each, self.epsilon, self.delta);
        (protection.smoothness, protection.smoothness_slack) = (self.unsmooth, self.unsmooth_slack);
        (protection.length, protection.length_factor) = (self.too_long, self.too_long_factor);
        (protection.unexpected, protection.unexpected_factor) = (self.unexpected, self.unexpected_factor);
        protection
    }
}

/// What makes no sense together.
#[derive(Debug, Error)]
enum NewError {
    #[error("--start {text:?} is neither numbers with commas between nor a file: {why}")]
    Start { text: String, why: String },
    #[error("--start has {found} numbers, and --dim is {dim}: leave out --dim, or give {dim} numbers")]
    Dim { found: usize, dim: usize },
    #[error("{method} has no step size: leave out --step-size, or name another --method")]
    OwnStep { method: String },
    #[error("nothing would ever stop it: {why}, so give a --budget, --cost-budget or --numbers-budget")]
    Endless { why: String },
    #[error("--numbers-budget is {budget}, and one answer holds {needed} numbers: give at least {needed}")]
    NumbersBudget { budget: u64, needed: u64 },
    #[error("{error} (each L_i belongs into the column smoothness of {users})")]
    NoSmoothness { error: String, users: String },
    #[error("there is no folder {folder}: make it first, or name another file")]
    NoFolder { folder: String },
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let users = clinics::read(&args.users)?;
    let method = choose_method(args.method.as_deref(), users.len() as u64, &args.set)?;
    let settings = settings(args, &method, users.len())?;
    let plan = match &args.plan {
        Some(path) => Plan::of_study(method, settings, users, terms(args, path)?),
        None => Plan::new(method, settings, users),
    };
    let plan = plan.protected(args.protection.protection());
    let shown = args.file.display().to_string();
    if args.file.symlink_metadata().is_ok() {
        return Err(SessionError::IsThere { path: shown }.into());
    }
    if let Some(folder) = args.file.parent().filter(|it| !it.as_os_str().is_empty() && !it.is_dir()) {
        return Err(NewError::NoFolder { folder: folder.display().to_string() }.into());
    }
    let session = plan.session().map_err(|error| with_remedy(args, &plan, error))?;
    if let Some(budget) = args.numbers_budget.filter(|budget| *budget < session.numbers_wanted()) {
        return Err(NewError::NumbersBudget { budget, needed: session.numbers_wanted() }.into());
    }
    Ledger::create(&args.file, &plan)?.close()?;
    if args.json {
        return status::print_json(&args.file);
    }
    if !args.quiet {
        if let Some(terms) = &plan.study {
            terminal::say(&study::beginning(&shown, terms, plan.users.len(), args.plan.as_deref()))?;
            return Ok(Outcome::Done);
        }
        let Plan { method, settings, users, .. } = &plan;
        let budgets = [
            settings.budget.map(|it| format!(", at most {}", queries(it))),
            settings.cost_budget.map(|it| format!(", a cost of at most {}", money(it))),
            settings.numbers_budget.map(|it| format!(", at most {it} numbers")),
        ];
        let budget: String = budgets.into_iter().flatten().collect();
        let name = terminal::one_line(&shown);
        terminal::say(&format!(
            "  {name}: {}, {}, {}{budget}; nobody has been asked\n\n  sgq session ask {name}\n  sgq session run {name} \
             --command \"python3 clinic.py\"\n  sgq session exchange {name} FOLDER",
            counted(users.len() as u64, "user"),
            counted(settings.start.len() as u64, "parameter"),
            method.name(),
        ))?;
    }
    Ok(Outcome::Done)
}

fn terms(args: &Args, path: &Path) -> Result<Terms, Box<dyn Error>> {
    let precision = args.precision.or(args.tol.is_none().then_some(Precision::DEFAULT));
    Ok(Terms::new(StudyPlan::read(path)?).precision(precision).close(!args.no_close))
}

fn queries(count: u64) -> String {
    if count == 1 { "1 query".to_owned() } else { format!("{count} queries") }
}

/// What the file of users could have said is named by its column.
fn with_remedy(args: &Args, plan: &Plan, error: LedgerError) -> Box<dyn Error> {
    let unknown = plan.users.iter().all(|user| user.smoothness.is_none());
    match error {
        LedgerError::Settings(error) if unknown && error.to_string().contains("smoothness") => {
            NewError::NoSmoothness { error: error.to_string(), users: args.users.display().to_string() }.into()
        }
        error => error.into(),
    }
}

fn settings(args: &Args, method: &Method, users: usize) -> Result<Settings, Box<dyn Error>> {
    let start = match (&args.start, args.dim) {
        (None, dim) => vec![0.0; dim.unwrap_or(0)],
        (Some(text), dim) => {
            let start = read_point(text)?;
            if let Some(dim) = dim.filter(|dim| *dim != start.len()) {
                return Err(NewError::Dim { found: start.len(), dim }.into());
            }
            start
        }
    };
    let mut settings = Settings::new(start, users).open(args.open).answers(args.answers).seed(args.seed);
    (settings.cost_budget, settings.numbers_budget) = (args.cost_budget, args.numbers_budget);
    settings.budget = match args.budget {
        Some(Limit::Most(most)) => Some(most),
        None if args.cost_budget.is_none() && args.numbers_budget.is_none() => Some(default_budget(users)),
        Some(Limit::None) | None => None,
    };
    (settings.certified_gap, settings.pl_constant) = (args.certified_gap, args.pl_constant);
    settings.tolerance = match args.tol {
        Some(Tolerance::Part(part)) => Some(part),
        Some(Tolerance::Off) => None,
        None if args.certified_gap.is_some() || args.plan.is_some() => None,
        None => method.default_tolerance(),
    };
    match args.step_size {
        StepRule::Auto => {}
        _ if !method.has_step_size() => return Err(NewError::OwnStep { method: method.name().to_owned() }.into()),
        StepRule::Number(size) => settings = settings.step_size(size),
        StepRule::Theory => settings = settings.step_size(StepSize::Theory),
    }
    let ends = [settings.budget.is_some(), args.cost_budget.is_some(), args.numbers_budget.is_some()];
    // A plan limits what each user is asked.
    if args.plan.is_none() && !ends.contains(&true) && settings.tolerance.is_none() && settings.certified_gap.is_none()
    {
        let why = match method.default_tolerance() {
            Some(_) => "the tolerance is off and there is no budget".to_owned(),
            None => format!("{} cannot tell what remains, and there is no budget", method.name()),
        };
        return Err(NewError::Endless { why }.into());
    }
    Ok(settings)
}

/// Numbers with commas between, or the file that holds them.
fn read_point(text: &str) -> Result<Vec<f64>, NewError> {
    let wrong = |why: String| NewError::Start { text: text.to_owned(), why };
    if let Ok(numbers) = text.split(',').map(|number| number.trim().parse::<f64>()).collect::<Result<Vec<f64>, _>>() {
        return Ok(numbers);
    }
    let json = fs::read_to_string(text).map_err(|error| wrong(error.to_string()))?;
    let not_so = |why: String| wrong(format!("{why}; the file must hold a list of numbers, such as [0.5, -1]"));
    let broken = |error: serde_json::Error| {
        not_so(match error.is_eof() {
            true => "it is cut short".to_owned(),
            false => format!("it is not JSON at line {}, column {}", error.line(), error.column()),
        })
    };
    let value: Value = serde_json::from_str(json.strip_prefix('\u{feff}').unwrap_or(&json)).map_err(broken)?;
    let Value::Array(numbers) = value else { return Err(not_so("it holds no list".to_owned())) };
    let number = |(place, value): (usize, &Value)| {
        value.as_f64().ok_or_else(|| not_so(format!("it has {value} at place {place}")))
    };
    numbers.iter().enumerate().map(number).collect()
}

fn parse_limit(text: &str) -> Result<Limit, String> {
    match text {
        "none" => Ok(Limit::None),
        _ => parse::parse_budget(text).map(Limit::Most).map_err(|error| format!("{error}, or none")),
    }
}

fn parse_dim(text: &str) -> Result<usize, String> {
    let dim = text.parse().ok().filter(|dim| (1..=100_000_000).contains(dim));
    dim.ok_or_else(|| "expected a whole number from 1 to 100000000".to_owned())
}

fn parse_policy(text: &str) -> Result<Policy, String> {
    match text {
        "ignore" => Ok(Policy::Ignore),
        "flag" => Ok(Policy::Flag),
        "refuse" => Ok(Policy::Refuse),
        _ => Err("expected ignore, flag or refuse".to_owned()),
    }
}

fn parse_slack(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number from 0".to_owned())
}

fn parse_factor(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number > 1.0 && number.is_finite());
    number.ok_or_else(|| "expected a number above 1".to_owned())
}
