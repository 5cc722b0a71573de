//! `sgq certify`: what theory guarantees, and what not.

mod finished;

use std::{
    error::Error,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use sgq::theory::{Certificate, Constant, Region, Theorem};
use sgq_bench::{
    Experiment,
    certify::{CertificateFile, MethodCertificate, Options, RegionSpec, certify, page},
    experiment::NamedProblem,
    output::{Claim, Folder},
    readable::{short, short_factor},
};

use crate::{Outcome, run, terminal};

/// Say what theory guarantees for each method of an experiment, and what not; or what is proven of a fit.
///
/// Of a fit, given as the folder or the model.json that `sgq fit` wrote: a gap that its coefficients are proven to be within, where
/// that is possible, and beside it what is only believed.
///
/// For every method: which of the paper's assumptions hold and on which region, the largest step that its theorem allows,
/// whether the step size is inside, and the rate and floor that follow. Every constant says whether it is exact, a certified
/// bound, or estimated from samples of the region.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  sgq certify experiments/paper-fig1.toml\n  sgq certify experiments/paper-fig1.toml \
                  --region ball:5 --json\n  sgq certify out/patients\n\nRegions:\n  sublevel           everything no worse than the start, \
                  f(x) ≤ f(x_0); the default\n  ball:5             within 5 of the minimiser; ball:5@1,2 of the point (1, 2)\
                  \n  box:-5..5          every coordinate from -5 to 5; box:-5,0..5,1 for each its own\n  trajectory         \
                  the points that the method's first trial comes through\n\nNothing is asked of any user, and nothing billed: \
                  it looks at the problem itself.\nWhat the words mean is in docs/theory.md."
)]
pub struct Args {
    /// The experiment, a TOML file; or a fit, the folder or the model.json that it wrote
    #[arg(value_name = "FILE.toml|FIT")]
    file: PathBuf,
    /// Where the constants are to hold
    #[arg(long, value_name = "REGION", default_value = "sublevel", value_parser = str::parse::<RegionSpec>)]
    region: RegionSpec,
    /// Points of the region to try where a constant cannot be had otherwise
    #[arg(long, value_name = "N", default_value_t = Options::default().samples as u64,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    samples: u64,
    /// Decides which points are tried
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write report.html, certificate.json and the bounds as figures into this folder as well
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the results of another command in that folder
    #[arg(long, requires = "out")]
    force: bool,
    /// Print the verdicts as JSON
    #[arg(long)]
    json: bool,
    /// Print one line for each method
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    if let Some(model) = finished::model_in(&args.file) {
        if args.out.is_some() {
            return Err("--out is for experiments: what a fit has to say is in its own folder, in report.html".into());
        }
        return finished::run(&model, args.json, args.quiet);
    }
    let experiment = run::read(&args.file, &[])?;
    if experiment.tuning.is_some() {
        return Err(
            "the experiment tunes its step sizes, and theory is about one: certify a file without [tuning]".into()
        );
    }
    let options = Options { region: args.region.clone(), samples: args.samples as usize, seed: args.seed };
    let said = serde_json::json!({
        "region": format!("{:?}", args.region), "samples": args.samples, "seed": args.seed,
    });
    let claim = |out: &Path| -> Result<_, Box<dyn Error>> {
        let claim = Claim::new("certify", &said).about(&args.file).writes(page::files(&experiment)).force(args.force);
        claim.check(out)?;
        Ok(Folder::open(out, claim)?)
    };
    // First, so that a folder that may not be written to is known before anything is computed.
    let folder = args.out.as_deref().map(claim).transpose()?;
    let certificates = certify(&experiment, &options)?;
    if args.json {
        let file = CertificateFile::new(&experiment, &certificates);
        terminal::say(&serde_json::to_string_pretty(&file)?)?;
    } else if args.quiet {
        for certificate in &certificates {
            terminal::say(&headline(certificate))?;
        }
    } else {
        terminal::say(text(&experiment, &certificates).trim_end())?;
    }
    if let Some(mut folder) = folder {
        page::write(&mut folder, &experiment, &certificates)?;
        folder.commit()?;
        if !args.json && !args.quiet {
            terminal::say_written(&folder, "")?;
        }
    }
    Ok(Outcome::Done)
}

/// One line on one method.
fn headline(it: &MethodCertificate) -> String {
    let verdict = match it.verdict() {
        _ if it.guaranteed().is_some() => "guaranteed",
        Some(verdict) if verdict.holds => "not guaranteed, but for its caveats",
        _ => "nothing guaranteed",
    };
    format!("{}\t{}\t{verdict}", it.problem, it.method)
}

fn text(experiment: &Experiment, certificates: &[MethodCertificate]) -> String {
    let mut text = String::new();
    for problem in &experiment.problems {
        for (index, it) in certificates.iter().filter(|it| it.problem == problem.name).enumerate() {
            // A trajectory is a region of the method's own.
            if index == 0 || matches!(it.certificate.region, Region::Points { .. }) {
                write_problem(&mut text, problem, &it.certificate);
            }
            write_method(&mut text, it, &experiment.targets);
        }
    }
    text.push_str(
        "\n  The gap is how far the objective is above its minimum; the floor is what remains of it however long one asks.\n",
    );
    text
}

fn write_problem(text: &mut String, problem: &NamedProblem, it: &Certificate) {
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let users = counted(problem.problem.users(), "user");
    let parameters = counted(problem.problem.dim(), "parameter");
    let _ = write!(text, "\n  {}: {users}, {parameters}", problem.name);
    if let Some(gap) = it.start_gap {
        let _ = write!(text, ", gap at the start {}", short(gap));
    }
    let _ = write!(text, "\n  region: {}", it.region);
    if let Some((low, high)) = it.interval {
        let _ = write!(text, "; here from {} to {}", short(low), short(high));
    }
    text.push_str("\n\n");
    for (name, meaning, constant) in page::constants(it) {
        write_constant(text, name, meaning, constant);
    }
    text.push('\n');
    for assumption in &it.assumptions {
        let _ = writeln!(text, "    Assumption {}  {}: {}", assumption.number, assumption.statement, assumption.status);
    }
}

fn write_constant(text: &mut String, name: &str, meaning: &str, constant: Option<Constant>) {
    let (value, source) = match constant {
        Some(constant) => (short(constant.value), constant.provenance.to_string()),
        None => ("–".into(), "not known".into()),
    };
    let _ = writeln!(text, "    {name:<7}{value:>10}  {meaning}; {source}");
}

fn write_method(text: &mut String, it: &MethodCertificate, targets: &[f64]) {
    let label = if it.oracle { format!("{} (oracle, looks not billed)", it.method) } else { it.method.clone() };
    let theorem = it.theorem.map_or("no theorem".to_owned(), |theorem| theorem.to_string());
    let _ = writeln!(text, "\n  {label}, step size {}: {theorem}", short(it.certificate.step_size));
    if let Some(Theorem::One | Theorem::Two { .. }) = it.theorem {
        let constants = &it.certificate.constants;
        match constants.c {
            None if constants.c1.is_some() => {
                text.push_str("    c               –  not defined: the users do not differ\n")
            }
            c => write_constant(text, "c", "Lemma 1, on the region at this step size", c),
        }
        write_constant(text, "C_1", "Assumption 4, on the region", constants.c1);
        write_constant(text, "C_2", "Assumption 4, on the region", constants.c2);
    }
    if let Some(term) = it.cap.filter(|term| it.certificate.step_size <= term.value) {
        let _ = writeln!(text, "    inside its cap, {} = {}", short(term.value), term.formula);
    }
    if let Some(verdict) = it.verdict()
        && let Some(rate) = verdict.rate
    {
        let floor = rate.floor.map_or("not known".into(), short);
        let _ = writeln!(text, "    factor {} a step, floor {floor}", short_factor(rate.factor));
    }
    for sentence in it.words(targets) {
        let _ = writeln!(text, "    {sentence}");
    }
}
