//! Iteratively reweighted least squares on all rows in one place, from McCullagh & Nelder (1989), chapter 2, and data to try it on.

use std::fmt::Write as _;

/// Which likelihood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Gaussian,
    /// Targets are 0 and 1.
    Binomial,
    Poisson,
    NegativeBinomial(f64),
    Gamma,
}

/// Rows with the intercept among their columns.
#[derive(Clone, Default)]
pub struct Rows {
    pub x: Vec<Vec<f64>>,
    pub y: Vec<f64>,
    pub weights: Vec<f64>,
    pub offsets: Vec<f64>,
    pub users: Vec<usize>,
}

/// What `summary(glm(…))` shows.
pub struct Plain {
    pub estimates: Vec<f64>,
    pub std_errors: Vec<f64>,
    /// By user, with `G/(G−1) · (N−1)/(N−K)`; for families whose observed and expected information are the same.
    pub clustered: Vec<f64>,
    pub deviance: f64,
    pub null_deviance: f64,
    /// None for gamma with weights.
    pub log_likelihood: Option<f64>,
    pub aic: Option<f64>,
    pub dispersion: f64,
}

impl Kind {
    fn has_log_link(self) -> bool {
        matches!(self, Self::Poisson | Self::NegativeBinomial(_) | Self::Gamma)
    }

    fn mean(self, eta: f64) -> f64 {
        match self {
            Self::Gaussian => eta,
            Self::Binomial => 1.0 / (1.0 + (-eta).exp()),
            _ => eta.exp(),
        }
    }

    /// `V(μ)`.
    fn variance(self, mu: f64) -> f64 {
        match self {
            Self::Gaussian => 1.0,
            Self::Binomial => mu * (1.0 - mu),
            Self::Poisson => mu,
            Self::NegativeBinomial(theta) => mu + mu * mu / theta,
            Self::Gamma => mu * mu,
        }
    }

    /// `dμ/dη`.
    fn rise(self, mu: f64) -> f64 {
        match self {
            Self::Gaussian => 1.0,
            Self::Binomial => mu * (1.0 - mu),
            _ => mu,
        }
    }

    fn deviance(self, y: f64, mu: f64) -> f64 {
        let y_log = |ratio: f64| if y == 0.0 { 0.0 } else { y * ratio.ln() };
        match self {
            Self::Gaussian => (y - mu) * (y - mu),
            Self::Binomial => -2.0 * if y == 1.0 { mu.ln() } else { (1.0 - mu).ln() },
            Self::Poisson => 2.0 * (y_log(y / mu) - (y - mu)),
            Self::NegativeBinomial(theta) => 2.0 * (y_log(y / mu) - (y + theta) * ((y + theta) / (mu + theta)).ln()),
            Self::Gamma => 2.0 * ((y - mu) / mu - (y / mu).ln()),
        }
    }

    /// Of a row with this weight, where the variance is `φ V(μ)` over it.
    fn log_likelihood(self, y: f64, mu: f64, weight: f64, phi: f64) -> f64 {
        match self {
            Self::Gaussian => -0.5 * (weight * (y - mu) * (y - mu) / phi + (std::f64::consts::TAU * phi / weight).ln()),
            Self::Binomial => weight * if y == 1.0 { mu.ln() } else { (1.0 - mu).ln() },
            Self::Poisson => weight * (y * mu.ln() - mu - ln_gamma(y + 1.0)),
            Self::NegativeBinomial(theta) => {
                let chosen = ln_gamma(y + theta) - ln_gamma(theta) - ln_gamma(y + 1.0);
                let tails = theta * (theta / (theta + mu)).ln() + y * (mu / (theta + mu)).ln();
                weight * (chosen + tails)
            }
            Self::Gamma => {
                let shape = weight / phi;
                shape * (shape * y / mu).ln() - shape * y / mu - ln_gamma(shape) - y.ln()
            }
        }
    }
}

/// Stirling's series, after going up to where it is exact to rounding.
fn ln_gamma(x: f64) -> f64 {
    let (mut shift, mut x) = (0.0, x);
    while x < 15.0 {
        shift += x.ln();
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5)) - 1.0 / (1680.0 * x.powi(7));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - shift
}

/// `A⁻¹` by Gauss and Jordan, with the largest pivot of a column.
fn inverse(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let d = matrix.len();
    let mut a: Vec<Vec<f64>> = matrix.to_vec();
    a.iter_mut().enumerate().for_each(|(k, row)| row.extend((0..d).map(|j| f64::from(u8::from(j == k)))));
    for k in 0..d {
        let pivot = (k..d).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
        a.swap(k, pivot);
        let top: Vec<f64> = a[k].iter().map(|value| value / a[k][k]).collect();
        for (i, row) in a.iter_mut().enumerate() {
            let factor = row[k];
            match i == k {
                true => row.clone_from(&top),
                false => row.iter_mut().zip(&top).for_each(|(value, top)| *value -= factor * top),
            }
        }
    }
    a.into_iter().map(|row| row[d..].to_vec()).collect()
}

fn times(matrix: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
}

/// The coefficients and the inverse of `XᵀWX` there.
fn solve(kind: Kind, rows: &Rows) -> (Vec<f64>, Vec<Vec<f64>>) {
    let d = rows.x[0].len();
    let total: f64 = rows.weights.iter().sum();
    let mean = rows.y.iter().zip(&rows.weights).map(|(y, w)| w * y).sum::<f64>() / total;
    let mut beta = vec![0.0; d];
    beta[0] = if kind.has_log_link() { mean.ln() } else { 0.0 };
    let mut inverted = Vec::new();
    for _ in 0..60 {
        let (mut left, mut right) = (vec![vec![0.0; d]; d], vec![0.0; d]);
        for (row, x) in rows.x.iter().enumerate() {
            let eta = x.iter().zip(&beta).map(|(x, b)| x * b).sum::<f64>() + rows.offsets[row];
            let mu = kind.mean(eta);
            let rise = kind.rise(mu);
            let weight = rows.weights[row] * rise * rise / kind.variance(mu);
            let working = eta - rows.offsets[row] + (rows.y[row] - mu) / rise;
            for j in 0..d {
                right[j] += weight * x[j] * working;
                (0..d).for_each(|k| left[j][k] += weight * x[j] * x[k]);
            }
        }
        inverted = inverse(&left);
        beta = times(&inverted, &right);
    }
    (beta, inverted)
}

pub fn glm(kind: Kind, rows: &Rows) -> Plain {
    let (beta, inverted) = solve(kind, rows);
    let null = Rows { x: vec![vec![1.0]; rows.y.len()], ..rows.clone() };
    let (level, _) = solve(kind, &null);
    let (count, d) = (rows.y.len() as f64, beta.len() as f64);
    let predict = |x: &[f64], beta: &[f64], row: usize| {
        kind.mean(x.iter().zip(beta).map(|(x, b)| x * b).sum::<f64>() + rows.offsets[row])
    };
    let (mut pearson, mut deviance, mut null_deviance) = (0.0, 0.0, 0.0);
    let mut scores = vec![vec![0.0; beta.len()]; rows.users.iter().max().unwrap() + 1];
    let means: Vec<f64> = (0..rows.y.len()).map(|row| predict(&rows.x[row], &beta, row)).collect();
    for (row, x) in rows.x.iter().enumerate() {
        let (y, w, mu) = (rows.y[row], rows.weights[row], means[row]);
        pearson += w * (y - mu) * (y - mu) / kind.variance(mu);
        deviance += w * kind.deviance(y, mu);
        null_deviance += w * kind.deviance(y, predict(&[1.0], &level, row));
        let slope = w * (y - mu) * kind.rise(mu) / kind.variance(mu);
        scores[rows.users[row]].iter_mut().zip(x).for_each(|(score, x)| *score += slope * x);
    }
    let estimated = matches!(kind, Kind::Gaussian | Kind::Gamma);
    let dispersion = if estimated { pearson / (count - d) } else { 1.0 };
    let phi = if kind == Kind::Gaussian { deviance / count } else { dispersion };
    let equal = rows.weights.iter().all(|weight| *weight == rows.weights[0]);
    let each = (0..means.len()).map(|row| kind.log_likelihood(rows.y[row], means[row], rows.weights[row], phi));
    let log_likelihood = (kind != Kind::Gamma || equal).then(|| each.sum::<f64>());
    let moved: Vec<Vec<f64>> = scores.iter().map(|score| times(&inverted, score)).collect();
    let users = scores.len() as f64;
    let correction = users / (users - 1.0) * (count - 1.0) / (count - d);
    let clustered = |k: usize| (correction * moved.iter().map(|change| change[k] * change[k]).sum::<f64>()).sqrt();
    Plain {
        std_errors: (0..beta.len()).map(|k| (dispersion * inverted[k][k]).sqrt()).collect(),
        clustered: (0..beta.len()).map(clustered).collect(),
        estimates: beta,
        deviance,
        null_deviance,
        log_likelihood,
        aic: log_likelihood.map(|value| 2.0 * d - 2.0 * value),
        dispersion,
    }
}

/// Numbers that look random, and are the same everywhere: Knuth's linear congruential generator.
pub struct Numbers(pub u64);

impl Numbers {
    /// Between 0 and 1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of mean 0 and variance 1, about normal.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// A patient.
#[derive(Clone)]
pub struct Patient {
    pub hospital: usize,
    pub age: f64,
    pub sex: &'static str,
    pub ward: &'static str,
    pub days: f64,
    pub died: f64,
    pub falls: f64,
    pub cost: f64,
    pub score: f64,
    pub counts: f64,
}

/// Hospitals of such sizes, each with a level of its own. Ages have one decimal, so that they can be written and read.
pub fn patients(sizes: &[usize]) -> Vec<Patient> {
    let mut numbers = Numbers(2031);
    let mut patients = Vec::new();
    for (hospital, size) in sizes.iter().enumerate() {
        let level = 0.4 * numbers.normal();
        for _ in 0..*size {
            let age = (10.0 * (62.0 + 14.0 * numbers.normal() + 5.0 * level)).round() / 10.0;
            let sex = if numbers.next() < 0.45 { "f" } else { "m" };
            let ward = ["east", "north", "west"][(3.0 * numbers.next()) as usize];
            let days = 1.0 + (20.0 * numbers.next()).floor();
            let risk = -0.6 + level + 0.04 * (age - 62.0) + if sex == "m" { 0.5 } else { 0.0 };
            let risk = risk - if ward == "west" { 0.6 } else { 0.0 };
            let died = f64::from(u8::from(numbers.next() < 1.0 / (1.0 + (-risk).exp())));
            let rate = days * (-2.5 + 0.4 * level + 0.02 * (age - 62.0)).exp();
            // Poisson's, by its inverse.
            let (mut falls, mut left, mut chance) = (0.0, numbers.next(), (-rate).exp());
            while left > chance && falls < 200.0 {
                left -= chance;
                falls += 1.0;
                chance *= rate / falls;
            }
            let cost = ((7.0 + 0.3 * level + 0.01 * age + 0.5 * numbers.normal()).exp() * 100.0).round() / 100.0;
            let score = ((50.0 - 0.3 * age + 4.0 * level + 6.0 * numbers.normal()) * 1000.0).round() / 1000.0;
            let counts = 1.0 + (4.0 * numbers.next()).floor();
            patients.push(Patient { hospital, age, sex, ward, days, died, falls, cost, score, counts });
        }
    }
    patients
}

/// The sizes of 38 hospitals: one patient in the smallest, 382 in the largest.
pub fn sizes() -> Vec<usize> {
    (0..38_usize).map(|k| 1 + 381 * k * k * k / (37 * 37 * 37)).collect()
}

pub fn csv(patients: &[Patient]) -> String {
    let mut csv = "hospital,age,sex,ward,days,died,falls,cost,score,counts\n".to_owned();
    for it in patients {
        let died = if it.died == 1.0 { "yes" } else { "no" };
        let Patient { hospital, age, sex, ward, days, falls, cost, score, counts, .. } = it;
        let _ = writeln!(csv, "H{hospital},{age},{sex},{ward},{days},{died},{falls},{cost},{score},{counts}");
    }
    csv
}

/// The rows with these columns besides the intercept.
pub fn rows(patients: &[Patient], target: impl Fn(&Patient) -> f64, columns: &[fn(&Patient) -> f64]) -> Rows {
    Rows {
        x: patients.iter().map(|it| [1.0].into_iter().chain(columns.iter().map(|of| of(it))).collect()).collect(),
        y: patients.iter().map(target).collect(),
        weights: vec![1.0; patients.len()],
        offsets: vec![0.0; patients.len()],
        users: patients.iter().map(|it| it.hospital).collect(),
    }
}
