//! `sgq fit`: a regression on users' data, one gradient of one user at a time.

mod asking;
mod on_ledger;
mod options;
mod proof;
mod report;
mod step;

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use serde::Serialize;
use sgq::{
    Detail, Method, Oracle as _, Problem as _, Session, Sight, StepSize,
    problem::{Loss, Regression},
    setting::Value,
};
use sgq_bench::{
    experiment::MAX_BUDGET,
    figure::{Curve, Figure, Point},
    fit_page,
    output::{Claim, Folder, file_name, quoted},
};
use sgq_data::{
    Card, Dataset,
    glm::{MODEL_FORMAT, Model, Precision, StdErrors, Subject, SubjectError},
};

use crate::{Outcome, coefficients::influence_csv, experiments::interrupt_flag, terminal};
use asking::Run;
pub use asking::in_parts;
use on_ledger::Users;
use options::{DataOptions, FitError, MethodOptions, TableFormat};
pub use options::{NewSetting, Tolerance, choose_method, parse};
use report::{Report, SettingsReport};
pub use step::StepRule;

/// Fit a regression to users' data, asking one user at a time, and count what it costs.
///
/// Its coefficients are those of a regression on all rows in one place, R's glm: rows count alike, and there is no penalty.
///
/// The data of all users are in one file, so this is a simulation: each user is asked for the gradient on its own rows
/// only, and every query is counted and billed to it as in a real run. The gap is measured against the optimum on all
/// data, which no real run knows: it is diagnostic, and not billed.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:\n  sgq fit patients.csv --user hospital --formula \"died ~ age + sex * ward\" --close\n  sgq fit patients.csv \
                  --user hospital --target died --budget 300\n\nIt writes report.html (all of it, to look at), model.json (for \
                  `sgq predict`), forest.svg, forest.png, queries.csv, influence.csv, gap.csv, gap.svg and gap.png. How columns are read is in docs/data.md.\n\n\
                  Why frugal by default: nothing is to be tuned, and for small gaps it needs few queries on average on \
                  real data. With more than 100,000 users its looks at everybody take minutes, and saga is the default. The paper's sgq does badly on many users. docs/fit.md and docs/results.md compare them.\n\n\
                  Ctrl-C keeps what was reached, marked as interrupted. The same seed gives the same bytes."
)]
pub struct Args {
    /// The data: a CSV file with a header, plain or gzip
    #[arg(value_name = "DATA.csv")]
    file: PathBuf,
    #[command(flatten)]
    data: DataOptions,
    #[command(flatten)]
    method: MethodOptions,
    /// Ask every user one more question at the end, for its information, deviance and counts: standard errors are then exact
    #[arg(long)]
    close: bool,
    /// Which standard errors to print: model, as glm does; or clustered by user
    #[arg(long, value_name = "KIND", default_value = "model")]
    errors: Errors,
    /// Do without what no real run knows: the gap, and whether columns are collinear or separated before anybody is asked
    #[arg(long, conflicts_with = "target_gap")]
    no_diagnostics: bool,
    /// Print the method's own numbers as well
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
    /// Folder to write to [default: out/ and the file's name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep every question and answer in this file, and go on from what is in it: sgq session status looks at it
    #[arg(long, value_name = "STUDY.sgq")]
    ledger: Option<PathBuf>,
    /// Replace the results of another fit, and files that sgq did not write
    #[arg(long)]
    force: bool,
    /// Print what model.json holds instead of a table
    #[arg(long)]
    json: bool,
    /// Print nothing but errors and warnings (and the result, with --json)
    #[arg(long, short)]
    quiet: bool,
}

/// Which standard errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[value(rename_all = "lower")]
#[serde(rename_all = "lowercase")]
pub enum Errors {
    Model,
    Clustered,
}

impl From<Errors> for StdErrors {
    fn from(errors: Errors) -> Self {
        match errors {
            Errors::Model => Self::Model,
            Errors::Clustered => Self::Clustered,
        }
    }
}

/// Tables with more bytes are announced before they are allocated.
const WORTH_SAYING: u64 = 100_000_000;

/// What a fit writes.
const FILES: [&str; 9] = [
    "model.json",
    "report.html",
    "forest.svg",
    "forest.png",
    "queries.csv",
    "influence.csv",
    "gap.csv",
    "gap.svg",
    "gap.png",
];

impl Args {
    /// The same data, read and asked in the same way, is the same fit.
    fn claim(&self) -> Claim {
        #[derive(Serialize)]
        struct Settings<'a> {
            #[serde(flatten)]
            data: &'a DataOptions,
            #[serde(flatten)]
            method: &'a MethodOptions,
            close: bool,
            errors: Errors,
            no_diagnostics: bool,
        }
        let Self { data, method, close, errors, no_diagnostics, .. } = self;
        let settings = Settings { data, method, close: *close, errors: *errors, no_diagnostics: *no_diagnostics };
        Claim::new("fit", &settings).about(&self.file).writes(FILES).force(self.force)
    }
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let out = args.out.clone().unwrap_or_else(|| Path::new("out").join(file_name(&stem(&args.file))));
    // A slip in the command is named before the folder is looked at.
    args.method.choose(0)?;
    args.claim().check(&out)?;
    let (data, chosen) = args.data.read(&args.file)?;
    let subject =
        Subject::new(&data, chosen.family, args.data.weigh)?.penalised(args.data.l2).std_errors(args.errors.into());
    let encoding = subject.study.encoding;
    let in_file = |error: SubjectError| {
        let option = if error.needs_penalty() { " (--l2 0.01)" } else { "" };
        format!("{}: {error}{option}", args.file.display())
    };
    let budget = args.method.budget.unwrap_or_else(|| subject.default_budget().min(MAX_BUDGET));
    let method = args.method.choose(budget.min(data.users() as u64))?;
    // Constants take long with many columns, and most methods that need none are not helped by them.
    let needs_constants = method.has_step_size() || args.method.certified_gap.is_some();
    let problem = subject.problem(!args.no_diagnostics, needs_constants || args.verbose).map_err(in_file)?;
    if args.method.certified_gap.is_some() && problem.pl_constant().is_none() {
        return Err(FitError::NoProof.into());
    }
    let card = Card::new(&data, &problem);
    // Constants that are only to be shown change nothing.
    let settings = subject.settings(&problem, needs_constants).budget(budget).seed(args.method.seed);
    let mut settings = settings.open(args.method.open).answers(args.method.answers);
    if let Some(numbers) = args.method.numbers_budget {
        settings = settings.numbers_budget(numbers);
    }
    if let Some(gap) = args.method.certified_gap {
        settings = settings.certified_gap(gap);
    }
    let tolerance = args.method.tolerance(&method);
    if let Some(part) = tolerance {
        settings = settings.tolerance(part);
    }
    let step_rule = match args.method.step_size {
        StepRule::Auto => match method.default_step(&settings)? {
            Some(auto) => format!("auto: {}", auto.formula),
            None => "none: the method goes its own way".to_owned(),
        },
        _ if !method.has_step_size() => return Err(FitError::OwnStep { method: method.name().to_owned() }.into()),
        StepRule::Number(size) => {
            settings = settings.step_size(size);
            "given".to_owned()
        }
        StepRule::Theory => {
            settings = settings.step_size(StepSize::Theory);
            "theory".to_owned()
        }
    };
    if let Some(part) = args.method.target_gap {
        let gap = problem.gap(&settings.start).filter(|gap| *gap > 0.0).ok_or(FitError::NothingToGain)?;
        settings = settings.target_gap(part * gap);
    }
    let storage = args.method.storage(&method, &problem)?;
    let estimate = storage.estimate(problem.users(), problem.dim());
    let large = method.keeps_table() && estimate.table > WORTH_SAYING;
    if (large || args.method.table.is_some()) && !args.quiet {
        terminal::complain(&format!("table of last gradients: {estimate}"));
    }
    settings = settings.storage(storage);
    let mut users = match &args.ledger {
        Some(path) => Users::on_ledger(path, method.clone(), settings, &data.user_names, &problem)?,
        None => Users::Simulated(Box::new(Session::with_sight(method.clone(), settings, Sight::Problem(&problem))?)),
    };
    let step_rule = match (args.method.step_size, users.session().theorem()) {
        (StepRule::Theory, Some(theorem)) => format!("theory: the cap of {theorem}"),
        _ => step_rule,
    };
    let step_size = method.has_step_size().then(|| users.session().step_size());

    let interrupt = interrupt_flag()?;
    let mut folder = Folder::open(&out, args.claim())?;
    let bar = terminal::query_progress(method.name(), budget, args.quiet);
    let precision = Precision { errors: args.method.precision(&method), study: &subject.study };
    let run = users.ask(&problem, precision, budget, interrupt, &bar)?;
    let session = users.session();

    let statistics = match args.close && !run.diverged() && !run.interrupted() {
        true => subject.close(session.point())?,
        false => subject.study.learned(session, &run.secants),
    };
    let model = Model {
        format: MODEL_FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        interrupted: run.interrupted(),
        diverged: false,
        user: args.data.user.clone(),
        target: encoding.response().as_column().map_or_else(|| encoding.response().to_string(), ToOwned::to_owned),
        formula: args.data.in_words(encoding),
        family: chosen.family,
        l2: args.data.l2,
        standardised: session.point().to_vec(),
        encoding: encoding.clone(),
    };
    let settings = SettingsReport {
        step_size,
        step_size_rule: step_rule,
        model: method.curvature(problem.dim()).map(|held| held.to_string()),
        budget,
        numbers_budget: args.method.numbers_budget,
        open: args.method.open,
        answers: args.method.answers,
        precision: precision.errors,
        tolerance,
        certified_gap: args.method.certified_gap,
        target_gap: args.method.target_gap,
        p: match method.setting("p") {
            Some(Value::Number(p)) => Some(p),
            _ => None,
        },
        set: args.method.set.iter().map(|it| (it.name.clone(), it.value.clone())).collect(),
        seed: args.method.seed,
        standardised: !args.data.no_standardise,
        table: method.keeps_table().then(|| args.method.table.unwrap_or(TableFormat::F64)),
    };
    let report = Report::new(args, &model, &method, settings, session, &run, &data, card, &statistics, precision)?;
    let told = serde_json::to_value(&report)?;
    let json = serde_json::to_string_pretty(&report)? + "\n";
    folder.write("model.json", &json)?;
    let gap = (!args.no_diagnostics).then(|| figure(args, &model, &method, session, &run, rounding(&problem, &run)));
    folder.write("report.html", fit_page::html(&told, gap.as_ref())?)?;
    folder.write_drawing("forest", fit_page::forest_svg(&told)?)?;
    folder.write("queries.csv", queries_csv(&data, session.meter().billed_per_user()))?;
    folder.write("influence.csv", influence_csv(&model.encoding, &statistics, &data.user_names))?;
    match &gap {
        Some(figure) => {
            folder.write("gap.csv", gap_csv(&run))?;
            folder.write_figure("gap", figure)?;
        }
        // Of an earlier fit, and not of this one.
        None => ["gap.csv", "gap.svg", "gap.png"].into_iter().for_each(|name| folder.remove(name)),
    }
    folder.commit()?;
    if args.json {
        terminal::say(json.trim_end())?;
    } else if !args.quiet {
        terminal::say(&report.text(&chosen, args.verbose))?;
        terminal::say_written(&folder, "")?;
    }
    if run.interrupted() {
        let queries = session.queries();
        terminal::complain(&format!("interrupted: what was reached after {queries} queries is in {}", out.display()));
        if args.ledger.is_some() {
            terminal::complain("go on with the same command");
        }
        return Ok(Outcome::Interrupted);
    }
    if let Some(warning) = report.warning() {
        terminal::complain(&format!("warning: {warning}"));
    }
    if run.diverged() {
        let out = out.display();
        let way_out = match (method.has_step_size(), args.method.answers) {
            (true, _) => "give a smaller --step-size",
            (false, Detail::Hessian) => "take --method saga",
            (false, _) => "have users send Hessians (--answers hessian), or take --method saga",
        };
        return Err(format!(
            "the fit diverged, and its coefficients mean nothing: {way_out} ({out} has what there is)"
        )
        .into());
    }
    Ok(Outcome::Done)
}

/// The file's name without its ending, and without that of gzip.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

fn queries_csv(data: &Dataset, billed: &[u64]) -> String {
    let lines = data.user_names.iter().zip(billed).map(|(name, queries)| format!("{},{queries}\n", quoted(name)));
    "user,queries\n".to_owned() + &lines.collect::<String>()
}

/// `{:?}` prints the shortest digits that read back as the same number.
fn gap_csv(run: &Run) -> String {
    let lines = run.gaps.iter().map(|(queries, gap)| format!("{queries},{gap:?}\n"));
    "queries,gap\n".to_owned() + &lines.collect::<String>()
}

/// Gaps below this are rounding: a gap is a difference of two sums over all rows, and where it came out negative it was nothing
/// but rounding. Of squares it is a sum of squares, and exact to the square of that.
fn rounding(problem: &Regression, run: &Run) -> f64 {
    /// How many units in the last place such a sum is off.
    const UNITS: f64 = 16.0;
    let part = if problem.loss() == Loss::Squares { (UNITS * f64::EPSILON).powi(2) } else { UNITS * f64::EPSILON };
    let value = problem.optimum().map_or(0.0, |optimum| optimum.value.abs());
    let negative = run.gaps.iter().map(|(_, gap)| -gap).fold(0.0, f64::max);
    (part * value).max(negative)
}

/// The gap against queries, as far as it is one.
fn figure(args: &Args, model: &Model, method: &Method, session: &Session<'_>, run: &Run, rounding: f64) -> Figure {
    let label = match session.sees_more() {
        Some(words) => format!("{} ({words})", method.name()),
        None => method.name().to_owned(),
    };
    let end = run.gaps.iter().position(|(_, gap)| *gap <= rounding);
    let shown = &run.gaps[..end.map_or(run.gaps.len(), |end| end.max(1))];
    let points = shown.iter().map(|(queries, gap)| Point { x: *queries as f64, mean: *gap, error: f64::NAN });
    Figure {
        title: format!("{} of {}, asked by {}", model.target, stem(&args.file), args.data.user),
        x_label: if end.is_some() { "queries, until the gap is rounding" } else { "queries" }.into(),
        y_label: "objective gap (diagnostic, not billed)".into(),
        curves: vec![Curve { label, points: points.collect(), dashed: method.needs_oracle(), ..Curve::default() }],
        y_range: None,
        parts: false,
    }
}
