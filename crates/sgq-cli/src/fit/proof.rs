//! Why a fit proves nothing of its gap.

use sgq::session::Uncertified;

/// What has no constant `μ`, and what has.
pub const NO_CONSTANT: &str = "a proof needs the constant μ of strong convexity, and there is none: take --family gaussian, or a formula \
                               without an intercept (- 1) and a penalty (--l2)";

/// The same as the session says, in the words of this command.
pub fn why_none(why: Uncertified) -> String {
    match why {
        Uncertified::NoConstant => NO_CONSTANT.to_owned(),
        // They take long, and are only computed for a proof, or for a step size.
        Uncertified::NoSmoothness => {
            "no proof was asked for, and it needs constants of the data: fit with --certified-gap".to_owned()
        }
        why => why.to_string(),
    }
}
