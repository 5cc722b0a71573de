//! One question in a file.

use std::{error::Error, io, path::Path};

use sgq_bench::output::check_file;
use sgq_data::plan::{Clinic, Outcome as Answered};
use sgq_ledger::folder::{read_plain, write_whole};

use super::Args;
use crate::{Outcome, terminal};

/// A question with a long point and a model of many levels has fewer bytes.
pub const LONGEST: usize = 1 << 28;

pub fn run(args: &Args, question: &Path, clinic: &mut Clinic) -> Result<Outcome, Box<dyn Error>> {
    if let Some(out) = &args.out {
        // An earlier answer may be replaced, and nothing else.
        check_file(out, &[question, &args.data, &args.plan], &["{\"ticket\":", "{\"error\":"], false)?;
    }
    let text = read_plain(question, LONGEST).map_err(|why| format!("{}: {why}", question.display()))?;
    let reply = clinic.answer(text.trim());
    match &args.out {
        Some(out) => write_whole(out, &format!("{}\n", reply.line))?,
        None => {
            use io::Write as _;

            writeln!(io::stdout().lock(), "{}", reply.line)?;
        }
    }
    let is_refused = reply.outcome == Answered::Refused;
    if !args.quiet || is_refused {
        terminal::complain_in_lines(&reply.words);
    }
    Ok(if is_refused { Outcome::Failed } else { Outcome::Done })
}
