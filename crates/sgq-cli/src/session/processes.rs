//! `sgq session run`: users that are processes.

use std::{error::Error, path::PathBuf, time::Duration};

use sgq_ledger::process::{self, Command, Ended, Options};

use super::{duration, interrupts::Interrupts, log::Log, open, progress::Console, result, status, study, whole};
use crate::{Outcome, terminal};

/// Ask users that are processes, until the session stops. The same command goes on after whatever has ended it.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example:\n  sgq session run study.sgq --command \"python3 clinic.py\"\n  sgq session run study.sgq --command \"ssh {user} answer\" \
                        --timeout 10m --retries 5\n\nThe process reads questions from its standard input, a line of JSON each, and writes \
                        answers to its standard output:\n\n  {\"ticket\":17,\"user\":\"clinic-7\",\"point\":[0.5,-1.0],\"wants\":[\"gradient\"]}\n  \
                        {\"ticket\":17,\"gradient\":[0.1,2.0],\"loss\":0.7}        or {\"ticket\":17,\"error\":\"the database is down\"}\n\nThe \
                        command is not given to a shell: write sh -c '…' for pipes. A process that crashes, hangs, floods or answers \
                        nonsense is dealt with, and the ledger says how. docs/real-users.md has examples in Python and in shell."
)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// The program that answers; {user} stands for the user's name, and gives each user a process of its own
    #[arg(long, value_name = "COMMAND", value_parser = parse_command)]
    command: Command,
    #[command(flatten)]
    study: study::Options,
    /// Start a process for each user, when it is first asked; its name is in the environment as SGQ_USER
    #[arg(long)]
    each: bool,
    /// How long an answer may take; then its process is ended, started again, and asked again
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration::parse, allow_hyphen_values = true)]
    timeout: Duration,
    /// How often a question that came to nothing is asked again, before it fails
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::times)]
    retries: u32,
    /// How long to wait before that; each time twice as long, up to a minute, and a little by chance
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration::parse, allow_hyphen_values = true)]
    wait: Duration,
    /// A question fails so long after this run has first asked it, whatever happens; its answer is taken all the same
    #[arg(long, value_name = "TIME", value_parser = duration::parse, allow_hyphen_values = true)]
    lease: Option<Duration>,
    /// Use answers in the order of the questions: then it does not matter how long they take
    #[arg(long)]
    in_order: bool,
    /// End a process after so many lines in a row that are no answers
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::count)]
    wrong_lines: u64,
    /// Write a log to the standard error in place of a progress line: text or json
    #[arg(long, value_name = "FORMAT")]
    log: Option<Log>,
    /// Print how the session stands as JSON at the end
    #[arg(long)]
    json: bool,
    /// Print nothing but errors (and the result, with --json)
    #[arg(long, short)]
    quiet: bool,
}

fn parse_command(text: &str) -> Result<Command, String> {
    text.parse().map_err(|error: process::CommandError| error.to_string())
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    if let Some(log) = args.log {
        log.start()?;
    }
    let mut ledger = args.study.open(&args.file)?;
    let mut options = Options::new(args.command.clone());
    options.each = args.each || args.command.names_user();
    (options.timeout, options.retries, options.wait) = (args.timeout, args.retries, args.wait);
    options.longest_wait = options.longest_wait.max(args.wait);
    (options.lease, options.in_order, options.wrong_lines) = (args.lease, args.in_order, args.wrong_lines);
    options.seed = ledger.plan().settings.seed;
    let mut console = Console::new(&args.file, args.log, args.quiet, Interrupts::watch()?);
    status::without(&ledger.missing()?).iter().for_each(|words| console.line(&format!("warning: {words}")));
    let ended = process::run(&mut ledger, &options, &mut console);
    console.end_with(&ledger);
    let closed = ledger.close();
    let ended = ended?;
    closed?;
    if args.json {
        status::print_json(&args.file)?;
    } else if !args.quiet {
        status::print(&args.file)?;
        // What is printed last is seen first.
        result::print(&args.file)?;
    }
    let status = open::to_read(&args.file)?.status()?;
    if args.quiet {
        let warnings = status::silent(&status.users).into_iter().chain(status::without(&status.missing));
        warnings.for_each(|words| terminal::complain(&format!("warning: {words}")));
    }
    match ended {
        Ended::Interrupted => {
            terminal::complain(&format!("interrupted, and everything is on the disk; go on with: {}", this_command()));
            Ok(Outcome::Interrupted)
        }
        Ended::Unanswered(refusals) => {
            let begun = status.study.is_some_and(|study| study.begun);
            study::complain_of_refusals(&args.file, begun, &refusals);
            // Coefficients are there; without a first answer there are none.
            Ok(if begun { Outcome::Done } else { Outcome::Failed })
        }
        Ended::Failing(failing) => {
            study::complain_of_failing(&args.file, &failing);
            Ok(Outcome::Failed)
        }
        Ended::Waiting(names) => {
            let file = args.file.display();
            terminal::complain(&format!(
                "the only questions that are out are for users who are away ({}): sgq session back {file} NAME, or sgq session fail \
                 {file} TICKET",
                names.join(", ")
            ));
            Ok(Outcome::Failed)
        }
        // Whether that is good news is in the status: only what did not get there is a failure.
        Ended::Stopped(sgq::StopReason::NobodyAnswers) => {
            let file = args.file.display();
            let may_be = status.users.iter().any(|user| user.spent.is_none() && !user.left);
            terminal::complain(&match may_be {
                true => format!("nobody can be asked: sgq session back {file} NAME says that somebody can be"),
                false => format!(
                    "nobody can be asked: everybody has spent what it may disclose; sgq session point {file} says where it stands"
                ),
            });
            Ok(Outcome::Failed)
        }
        Ended::Stopped(sgq::StopReason::Diverged { .. }) => {
            terminal::complain(
                "the session diverged, and its point means nothing: take another method, or a smaller step size",
            );
            Ok(Outcome::Failed)
        }
        Ended::Stopped(_) => Ok(Outcome::Done),
    }
}

/// What was typed, as one would type it again.
pub fn this_command() -> String {
    let plain =
        |word: &str| !word.is_empty() && word.chars().all(|it| it.is_alphanumeric() || "-_./=:,+@%".contains(it));
    // What is not text is shown as far as it is.
    let words = std::env::args_os().skip(1).map(|word| match word.to_string_lossy().into_owned() {
        word if plain(&word) => word,
        word => format!("'{}'", word.replace('\'', r"'\''")),
    });
    std::iter::once("sgq".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
