//! What the verbs share for a regression by a plan: `--plan`, and what is said of it.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use sgq::Settings;
use sgq_data::plan::StudyPlan;
use sgq_ledger::{Ledger, Missing, Plan, Terms, default_budget};
use thiserror::Error;

use super::{clinics, open};
use crate::{
    fit::choose_method,
    terminal::{self, counted},
};

/// Of a study by a plan: makes its ledger where there is none.
#[derive(clap::Args)]
pub struct Options {
    /// What everybody has agreed to (sgq plan new): a ledger that is not there is made, with --users, and one that is must be of it
    #[arg(long, value_name = "MODEL.plan")]
    plan: Option<PathBuf>,
    /// Who takes part, where the ledger is to be made: a CSV file with a column user and, as it may be, cost
    #[arg(long, value_name = "CLINICS.csv", requires = "plan")]
    users: Option<PathBuf>,
}

#[derive(Debug, Error)]
enum StudyError {
    #[error(
        "there is no ledger {file}, and to make one it takes --users CLINICS.csv: a column user with a name in each line"
    )]
    NoUsers { file: String },
    #[error(
        "{file} is not of this plan: its own is {there}, and {plan} is {here}; take the plan that it was made with"
    )]
    OtherPlan { file: String, there: String, plan: String, here: String },
    #[error("{file} is of no plan: leave out --plan")]
    NoPlan { file: String },
    #[error("{file} is of other users than {users}: leave out --users, or name another ledger")]
    OtherUsers { file: String, users: String },
}

impl Options {
    /// Opens a ledger to write to it; one that is not there is made, where all that it takes is given.
    pub fn open(&self, file: &Path) -> Result<Ledger, Box<dyn Error>> {
        let mut ledger = self.open_or_make(file)?;
        ledger.ask_failing_again()?;
        Ok(ledger)
    }

    fn open_or_make(&self, file: &Path) -> Result<Ledger, Box<dyn Error>> {
        let Some(path) = &self.plan else { return open::to_write(file) };
        let plan = StudyPlan::read(path)?;
        let shown = || file.display().to_string();
        let users = self.users.as_deref().map(clinics::read).transpose()?;
        if !file.exists() {
            let users = users.ok_or_else(|| StudyError::NoUsers { file: shown() })?;
            let method = choose_method(None, users.len() as u64, &[])?;
            let settings = Settings::new(vec![0.0], users.len()).budget(default_budget(users.len()));
            return Ok(Ledger::create(file, &Plan::of_study(method, settings, users, Terms::new(plan)))?);
        }
        let ledger = open::to_write(file)?;
        let Some(terms) = ledger.terms() else { return Err(StudyError::NoPlan { file: shown() }.into()) };
        let (there, here) = (terms.plan.id(), plan.id());
        if there != here {
            let plan = path.display().to_string();
            return Err(StudyError::OtherPlan { file: shown(), there, plan, here }.into());
        }
        if users.is_some_and(|users| users != ledger.users()) {
            let users = self.users.as_deref().unwrap_or(Path::new("")).display().to_string();
            return Err(StudyError::OtherUsers { file: shown(), users }.into());
        }
        Ok(ledger)
    }
}

/// What is said of a study that was made, and what to do next.
pub fn beginning(file: &str, terms: &Terms, users: usize, plan: Option<&Path>) -> String {
    let StudyPlan { formula, family, .. } = &terms.plan;
    let name = terminal::one_line(file);
    let plan = plan.map_or_else(String::new, |plan| terminal::one_line(&plan.display().to_string()));
    format!(
        "  {name}: {}, {}, {family}; nobody has been asked\n\n  sgq session run {name} --command \"sgq answer --plan {plan} --data \
         data/{{user}}.csv --as {{user}}\"\n  sgq session exchange {name} FOLDER\n  sgq session result {name}",
        terminal::one_line(&formula.to_string()),
        counted(users as u64, "user"),
    )
}

/// Whose questions fail again and again, why, and what to do.
pub fn complain_of_failing(file: &Path, failing: &[Missing]) {
    let file = file.display();
    for Missing { name, words, .. } in failing {
        terminal::complain(&format!("{} does not answer: {}", terminal::one_line(name), terminal::one_line(words)));
    }
    terminal::complain(&format!(
        "nobody else is asked meanwhile, since the plan limits what each may be asked: put right what keeps them from it and run again, or go \
         on without them: sgq session leave {file} NAME; sgq session status {file} has the reasons"
    ));
}

/// Who will not answer what everybody is asked, why, and what to do: before there is a model, or at the end.
pub fn complain_of_refusals(file: &Path, begun: bool, refusals: &[(String, String)]) {
    let file = file.display();
    for (name, why) in refusals {
        terminal::complain(&format!("{} does not answer: {}", terminal::one_line(name), terminal::one_line(why)));
    }
    terminal::complain(&match begun {
        true => format!(
            "without everybody's closing answer standard errors stay approximate: put right what keeps them from it and run again; \
             sgq session result {file} has what there is"
        ),
        false => format!(
            "the study waits for everybody's first answer: put right what keeps them from it and run again, or go on without them: \
             sgq session leave {file} NAME"
        ),
    });
}
