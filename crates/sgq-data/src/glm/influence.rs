//! What each user does to the coefficients.

use serde::{Deserialize, Serialize};

use super::{
    Closing, Collinear, Fit, Inference, InferenceError, Learned, Statistics,
    collinear::INFORMATION_TOLERANCE,
    inference::penalised_information,
    matrix::{self, Cholesky},
};

/// How the coefficients would change if one user were left out, to first order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Influence {
    /// The user, counted from 0.
    pub user: usize,
    /// `β₍₋ᵢ₎ − β`, Eq. (8) of the [module](super), on the original scale. None where the other users alone do not determine
    /// the coefficients.
    pub change: Option<Vec<f64>>,
    /// The same in standard errors of the fit with everybody, as DFBETAS is.
    pub in_std_errors: Option<Vec<f64>>,
    /// The coefficient that changes most, in standard errors; or one that only this user determines.
    pub largest: String,
    /// That change in standard errors, with its sign; infinite where only this user determines a coefficient.
    #[serde(with = "maybe_infinite")]
    pub largest_in_std_errors: f64,
    /// Whether it is above `2/√G`, the threshold of Belsley, Kuh & Welsch (1980) for DFBETAS, with users for rows. Where all of
    /// `G` users are alike, a change has a standard deviation of about `1/√G` clustered standard errors.
    pub flagged: bool,
}

/// How many of the most influential users are named.
const MOST_NAMED: usize = 200;

/// Who matters how much, with users by their names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Influences<'a> {
    /// How many users there are.
    pub users: usize,
    /// How many of them matter more than the threshold.
    pub flagged: usize,
    /// `2/√G`, in standard errors.
    pub threshold: f64,
    /// The most influential, the first of them the most.
    pub largest: Vec<InfluenceOf<'a>>,
}

/// What one user matters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InfluenceOf<'a> {
    /// The user's name.
    pub user: &'a str,
    /// The coefficient that would change most without the user.
    pub coefficient: &'a str,
    /// By so many standard errors; none where this user alone determines it.
    pub in_std_errors: Option<f64>,
    /// Whether that is above the threshold.
    pub flagged: bool,
}

impl<'a> Influences<'a> {
    /// None where influence is not known.
    pub fn of(statistics: &'a Statistics, user_names: &'a [String]) -> Option<Self> {
        let all = &statistics.influence;
        let of = |it: &'a Influence| InfluenceOf {
            user: user_names.get(it.user).map_or("", String::as_str),
            coefficient: &it.largest,
            in_std_errors: Some(it.largest_in_std_errors).filter(|change| change.is_finite()),
            flagged: it.flagged,
        };
        (!all.is_empty()).then(|| Self {
            users: all.len(),
            flagged: all.iter().filter(|it| it.flagged).count(),
            threshold: 2.0 / (all.len() as f64).sqrt(),
            largest: all.iter().take(MOST_NAMED).map(of).collect(),
        })
    }
}

/// JSON has no infinity: none is written in its place.
mod maybe_infinite {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
    }
}

/// Every user's influence, the largest first: `(J − J_i)⁻¹ s_i`, Eq. (8), with the penalty and the factors of users where the fit
/// has them. One step of Newton's method without the user; exact for gaussian.
///
/// `inference` is that of the fit: its standard errors are the unit.
pub fn influence(fit: &Fit<'_>, closings: &[Closing], inference: &Inference) -> Result<Vec<Influence>, InferenceError> {
    fit.check(closings.len())?;
    for (user, closing) in closings.iter().enumerate() {
        closing.check(fit.dim(), fit.family).map_err(|source| InferenceError::Closing { user, source })?;
    }
    let information = penalised_information(fit, closings);
    let each = |(user, closing): (usize, &Closing)| {
        let factor = fit.factor(user);
        let mut others = information.clone();
        matrix::add(&mut others, -factor, closing.observed());
        let decomposed = relative_to(&information, &others, fit.dim());
        let change = decomposed.map(|others| {
            let score: Vec<f64> = closing.score.iter().map(|value| factor * value).collect();
            others.solve(&score)
        });
        describe(
            fit,
            user,
            closings.len(),
            change.map_err(|null| Collinear::named(&null, &information, fit.names, &fit.scale)),
            inference,
        )
    };
    finish(closings.iter().enumerate().map(each).collect())
}

/// The same from a learned Hessian `H` and the users' last gradients: `H⁻¹ (g_i − ḡ) / G`.
pub fn influence_approximate(
    fit: &Fit<'_>,
    learned: &Learned<'_>,
    inference: &Inference,
) -> Result<Vec<Influence>, InferenceError> {
    let factor = fit.definite(&learned.packed(fit)?)?;
    let users = learned.gradients.len();
    let each = |(user, gradient): (usize, Vec<f64>)| {
        let mean: Vec<f64> = gradient.iter().map(|value| value / users as f64).collect();
        describe(fit, user, users, Ok(factor.solve(&mean)), inference)
    };
    finish(learned.centred(fit.dim()).into_iter().enumerate().map(each).collect())
}

/// The factor of what the others know, or a vector that they know nothing of: less of it is left than rounding, compared with
/// what all know.
fn relative_to(all: &[f64], others: &[f64], dim: usize) -> Result<Cholesky, Vec<f64>> {
    // A column that only this user has is left with rounding, which a scale of its own would blow up.
    let mut cleaned = others.to_vec();
    for k in 0..dim {
        if matrix::at(others, k, k) <= INFORMATION_TOLERANCE * matrix::at(all, k, k) {
            for j in 0..dim {
                let (row, column) = (k.max(j), k.min(j));
                cleaned[matrix::packed_len(row) + column] = 0.0;
            }
        }
    }
    let factor = Cholesky::new(&cleaned, dim, INFORMATION_TOLERANCE);
    match factor.null_vectors().into_iter().next() {
        Some(null) => Err(null),
        None => Ok(factor),
    }
}

fn describe(
    fit: &Fit<'_>,
    user: usize,
    users: usize,
    change: Result<Vec<f64>, Collinear>,
    inference: &Inference,
) -> Result<Influence, InferenceError> {
    let (found, expected) = (inference.coefficients.len(), fit.dim());
    if found != expected {
        return Err(InferenceError::Length { what: "coefficients in the table", found, expected });
    }
    let change = match change {
        Ok(change) => fit.scale.change(&change),
        Err(lost) => {
            return Ok(Influence {
                user,
                change: None,
                in_std_errors: None,
                largest: lost.column,
                largest_in_std_errors: f64::INFINITY,
                flagged: true,
            });
        }
    };
    let scaled = change.iter().zip(&inference.coefficients).map(|(change, line)| change / line.std_error);
    let scaled: Vec<f64> = scaled.collect();
    let largest = (0..scaled.len()).max_by(|a, b| scaled[*a].abs().total_cmp(&scaled[*b].abs())).unwrap_or(0);
    let value = scaled.get(largest).copied().unwrap_or(0.0);
    Ok(Influence {
        user,
        change: Some(change),
        in_std_errors: Some(scaled),
        largest: fit.names.get(largest).cloned().unwrap_or_default(),
        largest_in_std_errors: value,
        flagged: value.abs() > 2.0 / (users as f64).sqrt(),
    })
}

fn finish(each: Vec<Result<Influence, InferenceError>>) -> Result<Vec<Influence>, InferenceError> {
    let mut influences = each.into_iter().collect::<Result<Vec<_>, _>>()?;
    influences.sort_by(|a, b| b.largest_in_std_errors.abs().total_cmp(&a.largest_in_std_errors.abs()));
    Ok(influences)
}
