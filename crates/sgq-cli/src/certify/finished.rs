//! What is proven of a fit that is done, and what is only believed.

use std::{
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sgq::Remaining;
use sgq_bench::readable::short;
use sgq_data::glm::{Model, ModelError};

use crate::{
    Outcome,
    fit::in_parts,
    terminal::{self, one_line},
};

/// What a model says of how it came about.
#[derive(Deserialize)]
struct Finished {
    data: String,
    method: String,
    stop: String,
    converged: Option<bool>,
    diverged: bool,
    remaining: Option<Remaining>,
    certified: Option<f64>,
    #[serde(default)]
    uncertified: Option<String>,
    queries: u64,
    settings: Settings,
    #[serde(default)]
    diagnostic: Option<Diagnostic>,
    problem: Problem,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    certified_gap: Option<f64>,
}

/// Null after divergence.
#[derive(Clone, Copy, Deserialize, Serialize)]
struct Diagnostic {
    gap: Option<f64>,
    relative_gap: Option<f64>,
    gap_at_start: Option<f64>,
}

#[derive(Deserialize)]
struct Problem {
    pl_constant: Option<f64>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Certificate {
    data: String,
    target: String,
    user: String,
    method: String,
    queries: u64,
    stop: String,
    proven: Option<Proven>,
    /// Why nothing is proven.
    unproven_because: Option<String>,
    believed: Option<Remaining>,
    /// Of all data, which no real run has.
    diagnostic: Option<Diagnostic>,
    verdict: String,
}

/// `f(x) − inf f ≤ G²/2μ`.
#[derive(Clone, Copy, Serialize)]
struct Proven {
    gap: f64,
    /// At least the norm of the gradient: `G`.
    gradient_bound: Option<f64>,
    /// `μ`.
    pl_constant: Option<f64>,
}

/// The model, where a fit is what was given.
pub fn model_in(path: &Path) -> Option<PathBuf> {
    let is_model = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    if path.is_dir() { Some(path.join("model.json")) } else { is_model.then(|| path.to_owned()) }
}

pub fn run(path: &Path, json: bool, quiet: bool) -> Result<Outcome, Box<dyn Error>> {
    let model = Model::read(path)?;
    let text = fs::read(path)?;
    if serde_json::from_slice::<serde_json::Value>(&text)?.get("plan").is_some_and(|plan| !plan.is_null()) {
        return Err(format!(
            "{} is the result of a study by a plan, of which nothing is proven: nobody knows the constants of all rows; sgq session result \
             says what is believed",
            path.display()
        )
        .into());
    }
    let damaged = |cause: serde_json::Error| ModelError::Damaged { path: path.to_owned(), what: cause.to_string() };
    let finished: Finished = serde_json::from_slice(&text).map_err(damaged)?;
    let certificate = finished.certificate(&model);
    if json {
        terminal::say(&serde_json::to_string_pretty(&certificate)?)?;
    } else if quiet {
        terminal::say(&certificate.verdict)?;
    } else {
        terminal::say(certificate.text().trim_end())?;
    }
    Ok(Outcome::Done)
}

impl Finished {
    fn certificate(self, model: &Model) -> Certificate {
        let mu = self.problem.pl_constant;
        let proven = self.certified.map(|gap| {
            let gradient_bound = mu.map(|mu| (2.0 * mu * gap).sqrt());
            Proven { gap, gradient_bound, pl_constant: mu }
        });
        let verdict = self.verdict();
        let unknown = || "the model does not say: fit it again with this version".to_owned();
        Certificate {
            data: self.data,
            target: model.target.clone(),
            user: model.user.clone(),
            method: self.method,
            queries: self.queries,
            stop: self.stop,
            unproven_because: proven.is_none().then(|| self.uncertified.unwrap_or_else(unknown)),
            proven,
            believed: self.remaining,
            diagnostic: self.diagnostic,
            verdict,
        }
    }

    fn verdict(&self) -> String {
        let believed = match self.converged {
            Some(true) => "it is believed to have converged",
            Some(false) => "it has not converged",
            None => "whether it has converged is not known",
        };
        match (self.certified, self.settings.certified_gap) {
            _ if self.diverged => "nothing is proven: the run diverged".to_owned(),
            (Some(gap), Some(wanted)) if gap <= wanted => {
                format!("proven: the gap is at most {}, as was asked for", short(gap))
            }
            (Some(gap), _) => format!("proven: the gap is at most {}; {believed}", short(gap)),
            (None, _) => format!("nothing is proven; {believed}"),
        }
    }
}

impl Certificate {
    fn text(&self) -> String {
        let names = [&self.target, &self.data, &self.user, &self.method].map(|name| one_line(name));
        let [target, data, user, method] = names;
        let mut text = format!("\n  {target} of {data}, asked by {user}: {method}, {} queries\n\n", self.queries);
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<10}{value}");
        };
        match (self.proven, &self.unproven_because) {
            (Some(proven), _) => {
                line("proven", &format!("a gap of {} at most", short(proven.gap)));
                if let (Some(bound), Some(mu)) = (proven.gradient_bound, proven.pl_constant) {
                    let (bound, mu) = (short(bound), short(mu));
                    line(
                        "",
                        &format!("G²/2μ, with the constant μ = {mu}, and G = {bound} ≥ ‖∇f‖ from everybody's last"),
                    );
                    line("", "answer and smoothness L_i; as true as μ and the L_i are");
                }
            }
            (None, because) => line("proven", &format!("nothing: {}", because.as_deref().unwrap_or_default())),
        }
        line(
            "believed",
            &match self.believed {
                Some(it) => format!(
                    "a gap of {}, {} of the gap at the start: an estimate, and no proof",
                    short(it.gap),
                    in_parts(&it)
                ),
                None => format!("nothing: {method} has no estimate of what remains"),
            },
        );
        if let Some(Diagnostic { gap: Some(gap), relative_gap: Some(part), .. }) = self.diagnostic {
            let part = short(100.0 * part);
            line("measured", &format!("{}, {part}% of the gap at the start (diagnostic: of all data)", short(gap)));
        }
        line("stopped", &self.stop);
        line("verdict", &self.verdict);
        text
    }
}
