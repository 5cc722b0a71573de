//! What a consortium agrees to, and the side of a clinic that answers by it with no code of its own.
//!
//! - [`StudyPlan`]: the agreement, one file that everybody has;
//! - [`Summary`]: what a clinic discloses first: counts, means, deviations and levels;
//! - [`Clinic`]: answers questions by the plan, refuses what it does not allow, and keeps a log;
//! - [`agree`]: from everybody's summaries to the columns, levels and scaling that all use, and to where the fit begins.
//!
//! ```
//! use sgq_data::plan::{StudyPlan, Summary, agree};
//!
//! let plan = StudyPlan::new("died ~ age + sex".parse()?, "binomial".parse()?);
//! let north = Summary::of("age,sex,died\n61,f,no\n70,m,yes\n55,m,no\n".as_bytes(), &plan)?;
//! let south = Summary::of("died,age,sex\nyes,81,f\nno,49,f\nno,66,m\nyes,,m\n".as_bytes(), &plan)?;
//! let agreed = agree(&plan, &[("north", &north), ("south", &south)])?;
//! assert_eq!(agreed.encoding.column_names(), ["intercept", "age", "sex=m"]);
//! assert_eq!((agreed.rows, agreed.rows_missing, agreed.totals), (6, 1, vec![3.0, 3.0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agree;
mod clinic;
mod layout;
mod log;
mod model;
mod noise;
mod notes;
mod own_scale;
mod pooled;
mod question;
mod rules;
mod study_plan;
mod summarise;
mod summary;
mod words;

pub use agree::{AgreeError, Agreed, agree};
pub use clinic::{Clinic, ClinicError, Options, Outcome, Reply};
pub use log::LogError;
pub use rules::Rules;
pub use study_plan::{PlanError, StudyPlan};
pub use summarise::SummaryError;
pub use summary::{LevelCount, Moments, Summary, TargetLevel, TargetSummary, VariableSummary};
