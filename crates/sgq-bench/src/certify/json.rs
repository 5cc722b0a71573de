//! Certificates as JSON, keys in a fixed order.

use serde::Serialize;
use sgq::theory::{Bound, Constant, Region, Status, Verdict};

use super::MethodCertificate;
use crate::{Experiment, readable::readable, summary::Pairs};

/// What `sgq certify --json` prints.
#[derive(Debug, Serialize)]
pub struct CertificateFile {
    version: &'static str,
    experiment: String,
    certificates: Vec<CertificateJson>,
}

impl CertificateFile {
    /// Of one experiment.
    pub fn new(experiment: &Experiment, certificates: &[MethodCertificate]) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            experiment: experiment.name.clone(),
            certificates: certificates.iter().map(|it| CertificateJson::new(it, &experiment.targets)).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct CertificateJson {
    problem: String,
    method: String,
    /// Looks at every gradient before each choice: a yardstick, not something that could be run.
    oracle: bool,
    step_size: f64,
    /// The theorem that speaks of the method.
    theorem: Option<String>,
    step_cap: Option<f64>,
    /// Whether a bound on this method's gap is proven.
    guaranteed: bool,
    start_gap: Option<f64>,
    #[serde(rename = "L")]
    mean_smoothness: Option<f64>,
    #[serde(rename = "L_max")]
    max_smoothness: Option<f64>,
    #[serde(rename = "L_f")]
    objective_smoothness: Option<f64>,
    mu: Option<f64>,
    sigma_star: Option<f64>,
    delta: Option<f64>,
    c: Option<f64>,
    #[serde(rename = "C1")]
    c1: Option<f64>,
    #[serde(rename = "C2")]
    c2: Option<f64>,
    provenance: Pairs<Option<String>>,
    region: RegionJson,
    assumptions: Vec<AssumptionJson>,
    sgd: VerdictJson,
    theorem1: VerdictJson,
    theorem2: VerdictJson,
    /// What is guaranteed and what is not, in plain words.
    verdict: String,
}

#[derive(Debug, Serialize)]
struct RegionJson {
    text: String,
    #[serde(flatten)]
    region: Region,
    interval: Option<(f64, f64)>,
    samples: usize,
}

#[derive(Debug, Serialize)]
struct AssumptionJson {
    number: u8,
    statement: &'static str,
    holds: Option<bool>,
    status: String,
}

#[derive(Debug, Serialize)]
struct VerdictJson {
    cap: Option<f64>,
    binding_term: Option<&'static str>,
    holds: bool,
    guaranteed: bool,
    rate: Option<f64>,
    floor: Option<f64>,
    queries_to_gap: Option<Pairs<Option<u64>>>,
    reasons: Vec<String>,
    caveats: Vec<String>,
}

impl CertificateJson {
    fn new(it: &MethodCertificate, targets: &[f64]) -> Self {
        let certificate = &it.certificate;
        let constants = &certificate.constants;
        let value = |constant: Option<Constant>| constant.map(|constant| constant.value);
        let provenance = [
            ("L", constants.mean_smoothness),
            ("L_max", constants.max_smoothness),
            ("L_f", constants.objective_smoothness),
            ("mu", constants.pl_constant),
            ("sigma_star", constants.sigma_star),
            ("delta", constants.delta),
            ("c", constants.c),
            ("C1", constants.c1),
            ("C2", constants.c2),
        ];
        let provenance = provenance.map(|(name, it)| (name.to_owned(), it.map(|it| it.provenance.to_string())));
        let assumptions = certificate.assumptions.iter().map(|assumption| AssumptionJson {
            number: assumption.number,
            statement: assumption.statement,
            holds: match assumption.status {
                Status::Holds(_) | Status::Trivial => Some(true),
                Status::Fails(_) => Some(false),
                Status::Unknown(_) => None,
            },
            status: assumption.status.to_string(),
        });
        Self {
            problem: it.problem.clone(),
            method: it.method.clone(),
            oracle: it.oracle,
            step_size: certificate.step_size,
            theorem: it.theorem.map(|theorem| theorem.to_string()),
            step_cap: it.cap.map(|term| term.value),
            guaranteed: it.guaranteed().is_some(),
            start_gap: certificate.start_gap,
            mean_smoothness: value(constants.mean_smoothness),
            max_smoothness: value(constants.max_smoothness),
            objective_smoothness: value(constants.objective_smoothness),
            mu: value(constants.pl_constant),
            sigma_star: value(constants.sigma_star),
            delta: value(constants.delta),
            c: value(constants.c),
            c1: value(constants.c1),
            c2: value(constants.c2),
            provenance: Pairs(provenance.into()),
            region: RegionJson {
                text: certificate.region.to_string(),
                region: certificate.region.clone(),
                interval: certificate.interval,
                samples: certificate.samples,
            },
            assumptions: assumptions.collect(),
            sgd: VerdictJson::new(&certificate.sgd, targets),
            theorem1: VerdictJson::new(&certificate.theorem1, targets),
            theorem2: VerdictJson::new(&certificate.theorem2, targets),
            verdict: it.words(targets).join(" "),
        }
    }
}

impl VerdictJson {
    fn new(verdict: &Verdict, targets: &[f64]) -> Self {
        let queries =
            |bound: Bound| Pairs(targets.iter().map(|target| (readable(*target), bound.queries_to(*target))).collect());
        Self {
            cap: verdict.cap,
            binding_term: verdict.binding.map(|term| term.formula),
            holds: verdict.holds,
            guaranteed: verdict.is_guaranteed(),
            rate: verdict.rate.map(|rate| rate.factor),
            floor: verdict.rate.and_then(|rate| rate.floor),
            queries_to_gap: verdict.bound.map(queries),
            reasons: verdict.reasons.clone(),
            caveats: verdict.caveats.clone(),
        }
    }
}
