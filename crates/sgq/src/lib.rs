//! Whom to ask next, when every gradient must be asked for, one user at a time, and each answer is expensive.
//!
//! Minimise `f(x) = (1/n) Σ f_i(x)`, where `f_i` belongs to *user* `i`. A *query* asks one user for `∇f_i(x)` at one
//! point; queries are what costs. A [`Method`] is three parts:
//!
//! - [`belief`]: what is held of each user,
//! - [`update`]: how the point moves on an answer,
//! - [`choice`]: whom to ask next.
//!
//! The methods of the paper "Stochastic Gradient Descent with Strategic Querying" (Jiang, Wai, Alizadeh) are
//! constructors in [`method`]. A [`Session`] runs any of them by two calls, [`ask`](Session::ask) and
//! [`tell`](Session::tell); [`simulate`] drives sessions against a [`Problem`] whose optimum is known.

pub mod answer;
pub mod belief;
pub mod choice;
pub mod drive;
mod frugal;
mod kernel;
pub mod linear;
mod matrix;
mod meter;
pub mod method;
mod needs;
mod oracle;
mod part;
pub mod problem;
pub mod random;
mod score;
pub mod session;
pub mod setting;
mod settings;
pub mod simulate;
mod smoothness;
pub mod step_size;
pub mod storage;
pub mod theory;
pub mod update;

pub use answer::{Answer, Detail};
pub use belief::{Belief, LastGradient, Remaining};
pub use choice::{Choice, ChoiceError, Chosen, Order, Reply, Scene, Scores, Why};
pub use linear::LinearSaga;
pub use meter::Meter;
pub use method::Method;
pub use needs::{Need, Needs};
pub use oracle::Oracle;
pub use part::Part;
pub use problem::Problem;
pub use random::Random;
pub use score::{best_improvement, bonus, expected_improvement};
pub use session::{Fate, MemberError, PaidAnswer, Query, Session, Sight, StopReason, TellError, Ticket};
pub use setting::{Setting, SettingError};
pub use settings::{Settings, SettingsError};
pub use smoothness::{Smoothness, SmoothnessError};
pub use step_size::{DefaultStep, StepSize, StepSizeError};
pub use storage::{Format, Place, Storage};
pub use update::{Step, Update};
