//! What a user says when it is asked.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Oracle, Query, TellError, kernel};

/// How much an answer says. Each level includes the ones before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// The gradient, `d` numbers.
    #[default]
    Gradient,
    /// The loss too, one number more.
    Loss,
    /// The Hessian too, `d (d + 1) / 2` numbers more.
    Hessian,
}

impl Detail {
    /// Every level, the least first.
    pub const ALL: [Self; 3] = [Self::Gradient, Self::Loss, Self::Hessian];
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gradient => "gradient",
            Self::Loss => "loss",
            Self::Hessian => "hessian",
        })
    }
}

/// One user's answer: its gradient at the point asked for, and whatever else it has to say. A gradient alone is an answer:
/// [`tell`](crate::Session::tell) takes a slice as well.
///
/// ```
/// use sgq::{Answer, Session, Settings, method};
///
/// // f_i(x) = (x − b_i)² with b = 1 and 3.
/// let mut session = Session::new(method::frugal(), Settings::new(vec![5.0], 2).answers(sgq::Detail::Hessian))?;
/// while session.queries() < 4 {
///     let query = session.ask()?.unwrap();
///     let off = query.point[0] - [1.0, 3.0][query.user];
///     session.tell(query.ticket, Answer::new(&[2.0 * off]).loss(off * off).hessian(&[2.0]))?;
/// }
/// assert!((session.point()[0] - 2.0).abs() < 1e-9);
/// assert_eq!(session.meter().numbers(), 4 * 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer<'a> {
    /// `∇f_i(x)`.
    pub gradient: &'a [f64],
    /// `f_i(x)`.
    pub loss: Option<f64>,
    /// `∇²f_i(x)`, its lower triangle row by row: `d (d + 1) / 2` numbers.
    pub hessian: Option<&'a [f64]>,
    /// The variance of the noise in each coordinate of the gradient, or one number for all of them.
    pub variance: Option<&'a [f64]>,
    /// What the user counts in the objective, such as how many rows it has, where that was not
    /// [said before](crate::Settings::weights).
    pub weight: Option<f64>,
    /// What the answer cost, where that is not what was [said before](crate::Settings::costs).
    pub cost: Option<f64>,
}

impl<'a> Answer<'a> {
    /// A gradient and nothing else.
    pub fn new(gradient: &'a [f64]) -> Self {
        Self { gradient, loss: None, hessian: None, variance: None, weight: None, cost: None }
    }

    /// The same with the loss.
    pub fn loss(self, loss: f64) -> Self {
        Self { loss: Some(loss), ..self }
    }

    /// The same with the Hessian: its lower triangle, row by row; see [`packed`].
    pub fn hessian(self, packed: &'a [f64]) -> Self {
        Self { hessian: Some(packed), ..self }
    }

    /// The same with the variance of the noise in each coordinate of the gradient, or one number for all of them.
    pub fn variance(self, variance: &'a [f64]) -> Self {
        Self { variance: Some(variance), ..self }
    }

    /// The same with what the user counts in the objective, such as how many rows it has.
    pub fn weight(self, weight: f64) -> Self {
        Self { weight: Some(weight), ..self }
    }

    /// The same with what it cost.
    pub fn cost(self, cost: f64) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// How many numbers it holds. What it counts and what it cost are not among them.
    pub fn numbers(&self) -> u64 {
        let many = [Some(self.gradient), self.hessian, self.variance].into_iter().flatten().map(<[f64]>::len);
        (many.sum::<usize>() + usize::from(self.loss.is_some())) as u64
    }

    /// Whether all its numbers are: an exact answer may be past what numbers can hold.
    pub(crate) fn is_finite(&self) -> bool {
        let mut many = [Some(self.gradient), self.hessian, self.variance].into_iter().flatten();
        self.loss.is_none_or(f64::is_finite) && many.all(|numbers| kernel::all_within(numbers, f64::MAX))
    }

    /// Refuses an answer of a user that cannot be right.
    pub(crate) fn check(&self, user: usize, dim: usize) -> Result<(), TellError> {
        let gradient = self.gradient;
        if gradient.len() != dim {
            return Err(TellError::Length { user, expected: dim, found: gradient.len() });
        }
        if !kernel::all_within(gradient, f64::MAX)
            && let Some(coordinate) = gradient.iter().position(|value| !value.is_finite())
        {
            return Err(TellError::NotFinite { user, coordinate, value: gradient[coordinate] });
        }
        let refused = |what, why: String| Err(TellError::Extra { user, what, why });
        if let Some(loss) = self.loss.filter(|loss| !loss.is_finite()) {
            return refused("loss", format!("is {loss}: it must be finite"));
        }
        if let Some(hessian) = self.hessian {
            let expected = packed_length(dim);
            if hessian.len() != expected {
                let found = hessian.len();
                return refused(
                    "Hessian",
                    format!("has {found} numbers, expected {expected}: the lower triangle, row by row"),
                );
            }
            if let Some(place) = hessian.iter().position(|value| !value.is_finite()) {
                return refused("Hessian", format!("is {} at position {place}: it must be finite", hessian[place]));
            }
        }
        if let Some(variance) = self.variance {
            if variance.len() != dim && variance.len() != 1 {
                let found = variance.len();
                return refused(
                    "variance",
                    format!("has {found} numbers: give one for each of {dim} coordinates, or one"),
                );
            }
            if let Some(value) = variance.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
                return refused("variance", format!("is {value}: it must be finite and not negative"));
            }
        }
        if let Some(weight) = self.weight.filter(|weight| !(weight.is_finite() && *weight > 0.0)) {
            return refused("weight", format!("is {weight}: it must be positive and finite"));
        }
        match self.cost {
            Some(cost) if !(cost.is_finite() && cost >= 0.0) => {
                refused("cost", format!("is {cost}: it must be finite and not negative"))
            }
            _ => Ok(()),
        }
    }
}

impl<'a> From<&'a [f64]> for Answer<'a> {
    fn from(gradient: &'a [f64]) -> Self {
        Self::new(gradient)
    }
}

impl<'a> From<&'a Vec<f64>> for Answer<'a> {
    fn from(gradient: &'a Vec<f64>) -> Self {
        Self::new(gradient)
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Answer<'a> {
    fn from(gradient: &'a [f64; N]) -> Self {
        Self::new(gradient)
    }
}

/// An [`Answer`] that owns what it holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OwnedAnswer {
    gradient: Vec<f64>,
    loss: Option<f64>,
    hessian: Option<Vec<f64>>,
    variance: Option<Vec<f64>>,
    weight: Option<f64>,
    cost: Option<f64>,
}

impl OwnedAnswer {
    /// The answer of a user that is at hand, with as much as is wanted and it can tell.
    pub fn ask(&mut self, users: &dyn Oracle, query: &Query) {
        let Query { user, point, wants, .. } = query;
        let dim = point.len();
        self.gradient.resize(dim, 0.0);
        users.gradient(*user, point, &mut self.gradient);
        self.variance = None;
        self.loss = (*wants >= Detail::Loss).then(|| users.user_loss(*user, point)).flatten();
        self.hessian = None;
        if *wants >= Detail::Hessian {
            let mut hessian = vec![0.0; dim * dim];
            self.hessian = users.hessian(*user, point, &mut hessian).then(|| packed(&hessian, dim));
        }
    }

    /// Adds noise to each coordinate of the gradient, and states its variance where there is one to state.
    pub fn disturb(&mut self, mut noise: impl FnMut() -> f64, variance: Option<f64>) {
        self.gradient.iter_mut().for_each(|value| *value += noise());
        self.variance = variance.map(|variance| vec![variance]);
    }

    /// The answer of a user whose function is so many times as large.
    pub fn scale(&mut self, factor: f64) {
        let many = [Some(&mut self.gradient), self.hessian.as_mut()].into_iter().flatten();
        many.flatten().for_each(|value| *value *= factor);
        self.loss.iter_mut().for_each(|loss| *loss *= factor);
        self.variance.iter_mut().flatten().for_each(|variance| *variance *= factor * factor);
    }
}

impl From<&Answer<'_>> for OwnedAnswer {
    fn from(answer: &Answer<'_>) -> Self {
        Self {
            gradient: answer.gradient.to_vec(),
            loss: answer.loss,
            hessian: answer.hessian.map(<[f64]>::to_vec),
            variance: answer.variance.map(<[f64]>::to_vec),
            weight: answer.weight,
            cost: answer.cost,
        }
    }
}

impl<'a> From<&'a OwnedAnswer> for Answer<'a> {
    fn from(answer: &'a OwnedAnswer) -> Self {
        Self {
            gradient: &answer.gradient,
            loss: answer.loss,
            hessian: answer.hessian.as_deref(),
            variance: answer.variance.as_deref(),
            weight: answer.weight,
            cost: answer.cost,
        }
    }
}

/// The lower triangle of a symmetric matrix, row by row: what an [`Answer`] has of a Hessian.
///
/// ```
/// assert_eq!(sgq::answer::packed(&[1.0, 2.0, 2.0, 5.0], 2), [1.0, 2.0, 5.0]);
/// ```
pub fn packed(matrix: &[f64], dim: usize) -> Vec<f64> {
    (0..dim).flat_map(|row| &matrix[row * dim..][..=row]).copied().collect()
}

/// How many numbers a packed matrix has.
pub(crate) fn packed_length(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// Writes a packed matrix out, row by row.
pub(crate) fn unpack(packed: &[f64], dim: usize, matrix: &mut [f64]) {
    let mut values = packed.iter();
    for row in 0..dim {
        for (column, value) in (0..=row).zip(&mut values) {
            matrix[row * dim + column] = *value;
            matrix[column * dim + row] = *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let matrix = [4.0, 1.0, 2.0, 1.0, 5.0, 3.0, 2.0, 3.0, 6.0];
        let small = packed(&matrix, 3);
        assert_eq!(small, [4.0, 1.0, 5.0, 2.0, 3.0, 6.0]);
        let mut whole = [0.0; 9];
        unpack(&small, 3, &mut whole);
        assert_eq!(whole, matrix);
    }

    #[test]
    fn answers_that_cannot_be_right_are_refused_by_name() {
        let fine = Answer::new(&[1.0, 2.0]);
        assert_eq!(fine.check(3, 2), Ok(()));
        let words = |answer: Answer<'_>| answer.check(3, 2).unwrap_err().to_string();
        for (answer, expected) in [
            (Answer::new(&[1.0]), "has 1 numbers, expected 2"),
            (Answer::new(&[1.0, f64::NAN]), "coordinate 1"),
            (fine.loss(f64::INFINITY), "the loss of user 3 is inf"),
            (fine.hessian(&[1.0; 4]), "has 4 numbers, expected 3"),
            (fine.hessian(&[1.0, f64::NAN, 1.0]), "is NaN at position 1"),
            (fine.variance(&[1.0; 3]), "has 3 numbers"),
            (fine.variance(&[-1.0]), "the variance of user 3 is -1"),
            (fine.weight(0.0), "the weight of user 3 is 0"),
            (fine.cost(f64::NAN), "the cost of user 3 is NaN"),
        ] {
            assert!(words(answer).contains(expected), "{}", words(answer));
        }
    }

    #[test]
    fn numbers_are_counted() {
        let all = Answer::new(&[1.0, 2.0]).loss(1.0).hessian(&[1.0, 0.0, 1.0]).variance(&[0.1]).weight(3.0).cost(7.0);
        assert_eq!((Answer::new(&[1.0, 2.0]).numbers(), all.numbers()), (2, 2 + 1 + 3 + 1));
        assert_eq!(Answer::from(&OwnedAnswer::from(&all)), all);
    }
}
