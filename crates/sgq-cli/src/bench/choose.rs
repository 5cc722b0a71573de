//! `sgq bench choose`: the naive scan and the lazy search side by side.

use std::{cell::OnceCell, error::Error, path::PathBuf};

use clap::ValueEnum;
use indicatif::ProgressBar;
use serde::Serialize;
use sgq::{Format, Storage, storage::readable_bytes};
use sgq_bench::{
    choose::{ChooseError, Control, DUMP_FILES, EndedEarly, Measurement, Options, Stage, StepKind, choose},
    output::{Claim, Folder},
    readable::{grouped, readable_time, short},
};

use crate::{Outcome, experiments::interrupt_flag, terminal};

/// Measure what choosing a user costs: the naive scan and the lazy search side by side, on one run.
///
/// Everybody is asked once; then SGQ takes its steps, and at each of them both searches choose from the same table. The run
/// goes on with the lazy one's user, and it is an error if the naive one's was another. The users are quadratics that
/// differ in curvature and in center, worked out whenever they are asked; that takes no memory, and is in none of the times.
/// "Lazy" is what runs do by themselves: they scan small tables, and wherever searching does not pay.
#[derive(clap::Args, Serialize)]
#[command(
    after_help = "Examples:\n  sgq bench choose --users 10000 --dim 100 --steps 2000\n  sgq bench choose --users \
                  1000000 --dim 1000 --table f32 --naive-every 100 --json\n\nA step is choosing a user and taking in its answer. Means \
                  and medians leave out the first 100 steps where there are more than 200. Ctrl-C ends the run and \
                  shows what was measured until then."
)]
pub struct Args {
    /// Users
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    users: u64,
    /// Parameters
    #[arg(long, value_name = "D", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    dim: u64,
    /// Steps after everybody was asked once
    #[arg(long, value_name = "T", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=MOST_STEPS))]
    steps: u64,
    /// How the point moves: with SGD's step or with SAGA's
    #[arg(long, value_enum, default_value = "sgq")]
    method: Method,
    /// The weight of the bonus; the paper has 1
    #[arg(long, value_name = "W", default_value_t = 1.0, allow_negative_numbers = true)]
    bonus_weight: f64,
    /// The probability of asking a user at random
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_negative_numbers = true)]
    explore: f64,
    /// The step size [default: half of 1 / L_max]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    step_size: Option<f64>,
    /// Run the naive scan only at every K-th step, for tables that it takes too long to read; 0: never
    #[arg(long, value_name = "K", default_value_t = 1)]
    naive_every: u64,
    /// How to keep the table of last gradients: f64, or f32, which takes half the room and rounds
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "f64")]
    table: Table,
    /// Keep the table in a file in this folder [default: in memory, or where it does not fit a file in the temporary folder]
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    table_folder: Option<PathBuf>,
    /// Decides who the users are: the same seed makes the same choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Also write the table as it is after the last step, and whom the next choice takes, for other programs to be compared with
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    dump: Option<PathBuf>,
    /// With --dump: replace another table, and files that sgq did not write
    #[arg(long)]
    #[serde(skip)]
    force: bool,
    /// Print the measurement as JSON
    #[arg(long)]
    #[serde(skip)]
    json: bool,
    /// Print nothing but errors (and the result, with --json)
    #[arg(long, short)]
    #[serde(skip)]
    quiet: bool,
}

/// Each step leaves a record, and the session a fingerprint of its answer.
const MOST_STEPS: u64 = 10_000_000;

#[derive(Clone, Copy, ValueEnum, Serialize)]
enum Table {
    F64,
    F32,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
enum Method {
    Sgq,
    SagaSgq,
}

impl Args {
    fn options(&self) -> Result<Options, Box<dyn Error>> {
        let storage = Storage::from(match self.table {
            Table::F64 => Format::F64,
            Table::F32 => Format::F32,
        });
        Ok(Options {
            users: self.users.try_into()?,
            dim: self.dim.try_into()?,
            steps: self.steps,
            method: match self.method {
                Method::Sgq => StepKind::Sgq,
                Method::SagaSgq => StepKind::SagaSgq,
            },
            explore: self.explore,
            bonus_weight: self.bonus_weight,
            step_size: self.step_size,
            naive_every: self.naive_every,
            seed: self.seed,
            storage: match &self.table_folder {
                Some(folder) => storage.in_folder(folder),
                None => storage,
            },
        })
    }

    fn talks(&self) -> bool {
        !self.quiet && !self.json
    }
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let options = args.options()?;
    options.check()?;
    let interrupt = interrupt_flag()?;
    let claim = || Claim::new("bench choose", args).writes(DUMP_FILES).force(args.force);
    let mut dump = args.dump.as_ref().map(|folder| Folder::open(folder, claim())).transpose()?;
    if args.talks() {
        terminal::say(&announcement(&options))?;
    }
    let sweep = terminal::query_progress("first sweep", args.users, args.quiet);
    let steps: OnceCell<ProgressBar> = OnceCell::new();
    let on_answer = |stage: Stage| match stage {
        Stage::Sweep => sweep.inc(1),
        Stage::Steps => {
            let begin = || {
                sweep.finish();
                terminal::query_progress("steps      ", args.steps, args.quiet)
            };
            steps.get_or_init(begin).inc(1);
        }
    };
    let measured = choose(&options, &Control { interrupt, on_answer: &on_answer }, dump.as_mut());
    steps.get().unwrap_or(&sweep).abandon();
    let measured = match measured {
        Err(error @ ChooseError::Interrupted) => {
            terminal::complain(&error.to_string());
            return Ok(Outcome::Interrupted);
        }
        measured => measured?,
    };
    if args.json {
        terminal::say(&serde_json::to_string_pretty(&measured)?)?;
    } else if !args.quiet && measured.steps > 0 {
        terminal::say(&table(&measured))?;
    }
    if let Some(it) = measured.disagreement {
        terminal::complain(&format!(
            "error: at step {} the naive scan chose user {} and the lazy search user {}: they must always agree",
            it.step, it.naive, it.lazy
        ));
        return Ok(Outcome::Failed);
    }
    match measured.ended_early {
        None => Ok(Outcome::Done),
        Some(EndedEarly::Interrupted) => {
            let steps = measured.steps;
            terminal::complain(&format!("interrupted: {steps} of {} steps were measured", args.steps));
            Ok(Outcome::Interrupted)
        }
        Some(EndedEarly::Diverged) => {
            let steps = measured.steps;
            terminal::complain(&format!("error: the run diverged after {steps} steps: give a smaller --step-size"));
            Ok(Outcome::Failed)
        }
    }
}

/// What is about to be measured, and what room it needs.
fn announcement(options: &Options) -> String {
    format!("\n  {}, and up to {} for the points", options.estimate(), readable_bytes(options.point_bytes()))
}

fn table(it: &Measurement) -> String {
    let number = |value: Option<f64>| value.map_or("–".to_owned(), grouped);
    let time = |us: Option<f64>| us.map_or("–".to_owned(), readable_time);
    let ratio = |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| format!("{ratio:.1}×"));
    let medians = &it.medians;
    let naive_rows = if it.compared > 0 { grouped(it.users as f64) } else { "–".into() };
    let heading = ["", "naive", "lazy", "naive / lazy"].map(str::to_owned);
    let lines = [
        heading,
        ["a step, mean".into(), time(it.naive_us_per_step), time(it.lazy_us_per_step), ratio(it.ratio)],
        [
            "a step, median".into(),
            time(medians.naive_us_per_step),
            time(medians.lazy_us_per_step),
            ratio(medians.ratio),
        ],
        ["of it the same for both".into(), time(it.shared_us_per_step), time(it.shared_us_per_step), String::new()],
        ["rows read a step".into(), naive_rows, number(it.rows_read_mean), String::new()],
    ];
    let mut text = String::from("\n");
    for [name, naive, lazy, ratio] in lines {
        text += format!("  {name:<24}{naive:>12}{lazy:>12}{ratio:>18}").trim_end();
        text.push('\n');
    }
    let memory = it.peak_rss_bytes.map_or(String::new(), |bytes| format!(", {} at most in all", readable_bytes(bytes)));
    for (name, value) in [
        ("distinct points", number(it.distinct_points_mean)),
        ("first lazy choice", time(it.first_choice_us)),
        ("first sweep", readable_time(it.first_sweep_seconds * 1e6)),
        ("memory", format!("{} in the table ({}){memory}", readable_bytes(it.table_bytes), it.table)),
        (
            "gap",
            format!(
                "{} at the start, {} after {} steps of size {}",
                short(it.gap_at_start),
                short(it.gap_at_end),
                grouped(it.steps as f64),
                short(it.step_size)
            ),
        ),
    ] {
        text += &format!("  {name:<24}{value}\n");
    }
    let agreement = match it.agree {
        None => "No choice was compared.".to_owned(),
        Some(true) => format!("All {} choices that were compared agree.", grouped(it.compared as f64)),
        Some(false) => format!("Not all of the {} choices that were compared agree.", grouped(it.compared as f64)),
    };
    let averages = match it.averaged_from_step {
        0 => "Means and medians are over all steps.".to_owned(),
        from => format!("Means and medians are from step {from} on."),
    };
    text + &format!("\n  {agreement} {averages}")
}
