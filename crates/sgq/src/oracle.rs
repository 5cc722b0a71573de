//! Where gradients come from.

/// Answers the one question that costs something: a user's gradient at a point, and where it can, the loss and the Hessian there.
///
/// # Contract
///
/// `gradient` writes exactly `∇f_user(point)`, with no noise: asked twice at the same point it gives the same numbers.
/// It is only called with `user < users()` and slices of length `dim()`.
pub trait Oracle: Sync {
    /// How many users there are, `n`.
    fn users(&self) -> usize;

    /// How many parameters there are, `d`.
    fn dim(&self) -> usize;

    /// Writes `∇f_user(point)` into `gradient`.
    fn gradient(&self, user: usize, point: &[f64], gradient: &mut [f64]);

    /// `f_user(point)`, where the user can tell.
    fn user_loss(&self, user: usize, point: &[f64]) -> Option<f64> {
        let _ = (user, point);
        None
    }

    /// Writes `∇²f_user(point)`, row by row, into `hessian`; returns false where the user cannot tell.
    fn hessian(&self, user: usize, point: &[f64], hessian: &mut [f64]) -> bool {
        let _ = (user, point, hessian);
        false
    }
}
