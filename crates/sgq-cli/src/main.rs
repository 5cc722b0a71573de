//! The command line of sgq.

mod answer;
mod bench;
mod benchmark;
mod certify;
mod coefficients;
mod experiments;
mod fit;
mod methods;
mod plan;
mod predict;
mod reproduce;
mod run;
mod serve;
mod session;
mod tables;
mod terminal;

use std::{env, process::ExitCode};

use clap::{Parser, Subcommand};

/// Whom to ask next, when every gradient must be asked for and each answer is expensive.
#[derive(Parser)]
#[command(
    name = "sgq",
    version,
    arg_required_else_help = true,
    after_help = "Example:\n  sgq reproduce --out out/paper\n  sgq fit patients.csv --user hospital --target died\n  \
                  sgq session new study.sgq --users clinics.csv --dim 6 --budget 300"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Fit(Box<fit::Args>),
    Predict(predict::Args),
    Reproduce(reproduce::Args),
    Run(run::Args),
    Certify(certify::Args),
    Bench(bench::Args),
    Methods(methods::Args),
    Session(session::Args),
    Serve(serve::Args),
    Plan(plan::Args),
    Answer(answer::Args),
}

/// How a command that did not fail ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    Interrupted,
    /// What it checks is not so, and it has said what.
    Failed,
}

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        // What was typed is repeated: where it could steer the terminal it loses its colours.
        Err(error)
            if error.use_stderr() && env::args_os().any(|it| it.to_string_lossy().contains(char::is_control)) =>
        {
            terminal::complain_in_lines(error.to_string().trim_end());
            return ExitCode::from(2);
        }
        Err(error) => error.exit(),
    };
    let outcome = match command {
        Command::Fit(args) => fit::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Certify(args) => certify::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Methods(args) => methods::run(&args),
        Command::Session(args) => session::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Answer(args) => answer::run(&args),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        // What a shell reports for a program that Ctrl-C ended.
        Ok(Outcome::Interrupted) => ExitCode::from(130),
        Ok(Outcome::Failed) => ExitCode::FAILURE,
        Err(error) => {
            terminal::complain_of(&*error);
            ExitCode::from(2)
        }
    }
}
