//! `sgq plan`: what everybody in a study agrees to before anybody is asked.

mod check;
mod new;
mod show;

use std::error::Error;

use clap::Subcommand;

use crate::Outcome;

/// Make the plan that everybody in a study agrees to, look at it, and try it on a file.
///
/// A plan is one small file: what is predicted from what, what each clinic may be asked and how often, and what it does not answer.
/// Everybody gets the same; sgq answer answers by it.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq plan new model.plan --formula \"died ~ age + sex\" --family binomial\n  sgq plan show model.plan\n  \
                  sgq plan check model.plan --data mine.csv\n\ndocs/taking-part.md goes through all of it."
)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    New(new::Args),
    Show(show::Args),
    Check(check::Args),
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    match &args.verb {
        Verb::New(args) => new::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Check(args) => check::run(args),
    }
}
