//! Users' data, ready for [`sgq`]: files become a [`Regression`](sgq::problem::Regression), one block of rows a user.
//!
//! - [`csv`]: tables with a header, grouped by a column;
//! - [`libsvm`]: sparse rows, grouped in one of several ways;
//! - [`Formula`]: what is predicted from what, written as in R;
//! - [`Encoding`]: coefficients on the original scale, and predictions for new rows;
//! - [`glm`]: standard errors, tests and intervals of a fit, its deviance, and what keeps it from being had;
//! - [`plan`]: what a consortium agrees to, and the side of a clinic that answers by it;
//! - [`Card`]: what kind of problem the data make.
//!
//! Files may be plain or gzip, which their first bytes tell. What is wrong with one is told by line, column and value.

mod card;
pub mod csv;
mod dataset;
mod encoding;
mod expression;
mod file;
mod formula;
pub mod glm;
mod grouping;
pub mod libsvm;
mod names;
pub mod plan;

pub use card::{Card, Counts, Spread};
pub use csv::TableError;
pub use dataset::{Dataset, DatasetError, Scaling, Target};
pub use encoding::{Column, EncodeError, Encoding, Part, PredictError, Prediction, Variable};
pub use expression::Expression;
pub use file::{InFile, ReadError};
pub use formula::{Formula, FormulaError, Wrong};
pub use names::first_few;
