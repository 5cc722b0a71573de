//! `sgq session`: users who are somewhere else, and a record that survives.

mod ask;
mod clinics;
pub mod duration;
mod exchange;
mod extend;
mod fail;
mod history;
pub mod interrupts;
mod log;
mod members;
mod new;
mod open;
mod pending;
mod point;
mod processes;
mod progress;
mod recover;
mod result;
mod status;
mod study;
mod tell;
mod verify;
pub mod whole;

use std::error::Error;

use clap::Subcommand;

use crate::Outcome;
pub use open::to_write;

/// Ask users who are somewhere else, and keep a record of every paid question in one file.
///
/// A question is on the disk before it goes out, and an answer before it is used: whatever ends the program, the session goes on
/// exactly where it was. Users are people (`ask` and `tell`), processes (`run`) or folders (`exchange`).
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq session new study.sgq --users clinics.csv --dim 6 --budget 300\n  sgq session ask study.sgq\n  \
                  sgq session tell study.sgq 0 answer.json\n  sgq session run study.sgq --command \"python3 clinic.py\"\n  \
                  sgq session status study.sgq\n\ndocs/real-users.md goes through all of it, and \
                  docs/taking-part.md through regressions by a plan, where nobody has to write code."
)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    New(Box<new::Args>),
    Ask(ask::Args),
    Tell(tell::Args),
    Fail(fail::Args),
    #[command(about = "Say that users cannot be asked until they are back", after_help = members::example("away"))]
    Away(members::Args),
    #[command(about = "Say that users can be asked again", after_help = members::example("back"))]
    Back(members::Args),
    #[command(about = "Say that users are no longer part of the study: the objective goes on without them", after_help = members::example("leave"))]
    Leave(members::Args),
    #[command(about = "Say that users who had left are part of the study again: nothing is known of them any more", after_help = members::example("join"))]
    Join(members::Args),
    Extend(extend::Args),
    Status(status::Args),
    Pending(pending::Args),
    History(history::Args),
    Point(point::Args),
    Result(result::Args),
    Verify(verify::Args),
    Recover(recover::Args),
    Run(processes::Args),
    Exchange(exchange::Args),
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    match &args.verb {
        Verb::New(args) => new::run(args),
        Verb::Ask(args) => ask::run(args),
        Verb::Tell(args) => tell::run(args),
        Verb::Fail(args) => fail::run(args),
        Verb::Away(args) => members::run(args, members::Change::Away),
        Verb::Back(args) => members::run(args, members::Change::Back),
        Verb::Leave(args) => members::run(args, members::Change::Leave),
        Verb::Join(args) => members::run(args, members::Change::Join),
        Verb::Extend(args) => extend::run(args),
        Verb::Status(args) => status::run(args),
        Verb::Pending(args) => pending::run(args),
        Verb::History(args) => history::run(args),
        Verb::Point(args) => point::run(args),
        Verb::Result(args) => result::run(args),
        Verb::Verify(args) => verify::run(args),
        Verb::Recover(args) => recover::run(args),
        Verb::Run(args) => processes::run(args),
        Verb::Exchange(args) => exchange::run(args),
    }
}
