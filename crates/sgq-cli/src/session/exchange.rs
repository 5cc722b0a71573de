//! `sgq session exchange`: users that are folders.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use sgq_ledger::{
    Ledger, LedgerError,
    folder::{Exchanged, Folder},
};

use super::{
    duration, interrupts::Interrupts, log::Log, open, processes::this_command, progress::Console, result, status, study,
};
use crate::{
    Outcome,
    terminal::{self, counted},
};

/// Put questions into a folder, and take answers out of it: for those who release every file by hand.
///
/// Question 17 for clinic-7 is DIR/to/clinic-7/17.json; its answer belongs into DIR/from/clinic-7/17.json.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq session exchange study.sgq exchange\n  sgq session exchange study.sgq exchange --watch --lease 7d\n\nOnce, or \
                        with --watch until the session stops. An answer is {\"gradient\": [0.5, -1]}; {\"error\": \"…\"} says that there is none. \
                        Files are written whole. What was taken moves to DIR/from/clinic-7/taken; what was refused to …/refused, with the \
                        reason beside it, and its question stays out. A file that is not complete yet waits."
)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// The folder; it is made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    study: study::Options,
    /// Go on until the session stops
    #[arg(long)]
    watch: bool,
    /// With --watch, how often to look
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse, requires = "watch", allow_hyphen_values = true)]
    every: Duration,
    /// A file that cannot be read is set aside once it has not changed for so long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration::parse, allow_hyphen_values = true)]
    settle: Duration,
    /// A question fails so long after it was asked; its answer is taken all the same
    #[arg(long, value_name = "TIME", value_parser = duration::parse, allow_hyphen_values = true)]
    lease: Option<Duration>,
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

/// Without any sign of news, the ledger is opened this often all the same: leases end.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// How often to look whether somebody has interrupted.
const PAUSE: Duration = Duration::from_millis(50);

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    if let Some(log) = args.log {
        log.start()?;
    }
    let interrupts = Interrupts::watch()?;
    let mut ledger = args.study.open(&args.file)?;
    let mut folder = Folder::new(&args.folder, ledger.users());
    (folder.settle, folder.lease) = (args.settle, args.lease);
    let mut console = Console::new(&args.file, args.log, args.quiet || !args.watch, interrupts);
    console.set_quiet(args.quiet);
    let mut done = folder.exchange(&mut ledger, &mut console)?;
    let mut is_over = ledger.stop_reason().is_some() && done.out == 0;
    // Between two looks the ledger is free: sgq session away and others can write.
    ledger.close()?;
    if args.watch {
        let mut looked = (Instant::now(), signature(&args.file));
        while !is_over && !interrupts.are_there() {
            sleep(args.every, interrupts);
            if !folder.has_news() && looked.1 == signature(&args.file) && looked.0.elapsed() < LOOK_ANYWAY {
                continue;
            }
            let mut ledger = match Ledger::open(&args.file) {
                Err(LedgerError::InUse { .. }) => continue,
                opened => opened?,
            };
            let more = folder.exchange(&mut ledger, &mut console)?;
            done = added(done, more);
            is_over = ledger.stop_reason().is_some() && more.out == 0;
            ledger.close()?;
            looked = (Instant::now(), signature(&args.file));
        }
    }
    console.end();
    report(args, done, is_over, interrupts)
}

fn report(args: &Args, done: Exchanged, is_over: bool, interrupts: &Interrupts) -> Result<Outcome, Box<dyn Error>> {
    if args.json {
        status::print_json(&args.file)?;
    } else if !args.quiet {
        let status = open::to_read(&args.file)?.status()?;
        if is_over {
            result::print(&args.file)?;
        }
        let Exchanged { taken, refused, failed, waiting, out, .. } = done;
        let folder = terminal::one_line(&args.folder.display().to_string());
        // Below the line that moved.
        let above = if args.watch { "\n" } else { "" };
        let mut words = format!(
            "{above}  {} taken, {} refused, {} failed, {} incomplete",
            counted(taken, "answer"),
            counted(refused, "file"),
            counted(failed, "question"),
            counted(waiting, "file")
        );
        let is_out =
            |out: usize| format!("{} {}", counted(out as u64, "question"), if out == 1 { "is" } else { "are" });
        words += &match (&status.stopped, out) {
            (Some(why), 0) => {
                let look = if status.study.is_some() { "result" } else { "point" };
                format!("\n  {why}; sgq session {look} {}", terminal::one_line(&args.file.display().to_string()))
            }
            (Some(why), out) => format!("\n  {why}; {} still out in {folder}/to", is_out(out)),
            (None, out) => format!("\n  {} out in {folder}/to", is_out(out)),
        };
        status::without(&status.missing).iter().for_each(|missing| words += &format!("\n  warning: {missing}"));
        terminal::say(&words)?;
    }
    if args.watch && !is_over && interrupts.are_there() {
        terminal::complain(&format!("interrupted, and everything is on the disk; go on with: {}", this_command()));
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::Done)
}

fn added(one: Exchanged, other: Exchanged) -> Exchanged {
    let mut sum = other;
    sum.taken += one.taken;
    sum.refused += one.refused;
    sum.failed += one.failed;
    sum
}

/// What changes whenever somebody writes to a ledger.
fn signature(file: &Path) -> (Option<SystemTime>, Option<u64>) {
    let about = fs::metadata(file).ok();
    (about.as_ref().and_then(|about| about.modified().ok()), about.map(|about| about.len()))
}

fn sleep(time: Duration, interrupts: &Interrupts) {
    let begun = Instant::now();
    while begun.elapsed() < time && !interrupts.are_there() {
        thread::sleep(PAUSE.min(time));
    }
}
