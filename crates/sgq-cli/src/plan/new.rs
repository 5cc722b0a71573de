//! `sgq plan new`: the agreement as a file.

use std::{error::Error, fs, path::PathBuf};

use sgq::Detail;
use sgq_data::{
    Formula,
    glm::{Family, Weigh},
    plan::{Rules, StudyPlan},
};
use sgq_ledger::folder::write_whole;

use super::show;
use crate::{Outcome, fit::parse, session::whole, terminal};

/// Make a plan: the file that everybody in a study gets.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example:\n  sgq plan new model.plan --formula \"died ~ age + sex\" --family binomial\n\nThe formula names every column: it \
                  has no `.`. Text is a factor; a column of numbers is one where the formula says factor(kind)."
)]
pub struct Args {
    /// The plan to make
    #[arg(value_name = "MODEL.plan")]
    file: PathBuf,
    /// The model as in R, such as "died ~ age + sex * ward + offset(log(days))"
    #[arg(long, value_name = "FORMULA", value_parser = parse::parse_formula)]
    formula: Formula,
    /// gaussian, binomial, poisson, negbin:THETA, gamma, huber or huber:DELTA (in standard deviations of the target)
    #[arg(long, value_name = "FAMILY")]
    family: Family,
    /// What counts the same: rows, as in a regression on all rows in one place; or users, however many rows each has
    #[arg(long, value_name = "WHAT", default_value = "rows")]
    weigh: Weigh,
    /// The penalty λ in λ/2 ‖β‖² on the mean loss, on every scaled coefficient but the intercept
    #[arg(long, value_name = "λ", default_value_t = 0.0, value_parser = parse::parse_penalty)]
    l2: f64,
    /// A column that says how much each row counts: R's prior weights
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
    /// How much a clinic is asked to say at a point, at most: gradient, loss (the gradient and the loss) or hessian (all three)
    #[arg(long, value_name = "WHAT", default_value = "gradient", value_parser = parse::parse_answers)]
    answers: Detail,
    /// How many questions at a point a clinic answers
    #[arg(long, value_name = "N", default_value_t = Rules::default().answers_each, value_parser = whole::count)]
    answers_each: u64,
    /// How many closing questions a clinic answers, for standard errors and deviance; 0 for none
    #[arg(long, value_name = "N", default_value_t = Rules::default().closing, value_parser = whole::number)]
    closing: u64,
    /// A clinic with fewer rows answers nothing
    #[arg(long, value_name = "N", default_value_t = Rules::default().min_rows, value_parser = whole::count)]
    min_rows: u64,
    /// A clinic answers for models of so many coefficients for each of its rows, at most
    #[arg(long, value_name = "SHARE", default_value_t = Rules::default().parameters_per_row, value_parser = parse::parse_positive)]
    parameters_per_row: f64,
    /// A clinic answers at points whose coefficients are no larger, on scaled columns
    #[arg(long, value_name = "SIZE", default_value_t = Rules::default().largest_coefficient, value_parser = parse::parse_positive)]
    largest_coefficient: f64,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let rules = Rules {
        answers: args.answers,
        answers_each: args.answers_each,
        closing: args.closing,
        min_rows: args.min_rows,
        parameters_per_row: args.parameters_per_row,
        largest_coefficient: args.largest_coefficient,
    };
    let (weigh, l2, weight) = (args.weigh, args.l2, args.weight.clone());
    let plan = StudyPlan { weigh, l2, weight, rules, ..StudyPlan::new(args.formula.clone(), args.family) };
    plan.check()?;
    let shown = args.file.display();
    match fs::symlink_metadata(&args.file) {
        Ok(there) if !there.is_file() => return Err(format!("{shown} is not a file: name another one").into()),
        Ok(_) if !args.force => {
            let why = "somebody may have agreed to it: name another file, or replace it with --force";
            return Err(format!("{shown} is there already, and {why}").into());
        }
        _ => {}
    }
    write_whole(&args.file, &plan.to_json())?;
    if !args.quiet {
        let name = terminal::one_line(&shown.to_string());
        terminal::say(&format!(
            "{}\n\n  written to {name}: give it to everybody\n\n  sgq plan check {name} --data mine.csv",
            show::words(&plan)
        ))?;
    }
    Ok(Outcome::Done)
}
