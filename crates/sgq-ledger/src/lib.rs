//! The durable record of every paid question: one SQLite file a session.
//!
//! A hospital that was asked yesterday cannot be un-asked. A [`Ledger`] is a [`Session`](sgq::Session) whose every event is a row on
//! the disk: a question before it goes out, an answer before it moves the point. Opening the file goes on where it was, to the byte,
//! whatever ended the program before.
//!
//! ```
//! use sgq::{Settings, method};
//! use sgq_ledger::{Ledger, Plan, Reply, User};
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("study.sgq");
//! let users = ["north", "south", "west"].map(User::named).to_vec();
//! let plan = Plan::new(method::frugal(), Settings::new(vec![5.0], 3).budget(20), users);
//! let clinic = |user: usize, x: f64| vec![2.0 * (x - [2.0, 1.0, -1.0][user])];
//!
//! let mut ledger = Ledger::create(&path, &plan)?;
//! let question = ledger.ask()?.unwrap();
//! drop(ledger); // the program dies; the question is on the disk
//!
//! let mut ledger = Ledger::open(&path)?;
//! assert_eq!(ledger.pending()[0], question);
//! while let Some(question) = ledger.ask()? {
//!     let gradient = clinic(question.user, question.point[0]);
//!     ledger.tell(question.ticket, &Reply::new(gradient))?;
//! }
//! assert!((ledger.session().point()[0] - 2.0 / 3.0).abs() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The file has the layout of [`schema`], and can be read by any program that knows SQLite, also while a session runs.

mod account;
mod error;
mod event;
mod extension;
pub mod folder;
mod follow;
mod ledger;
mod lock;
mod missing;
mod notice;
mod plan;
pub mod process;
mod protection;
mod read;
mod record;
mod recover;
mod reply;
mod restore;
mod results;
mod rounds;
pub mod schema;
mod seal;
mod study;
mod verify;
mod wire;

pub use account::{Account, Privacy, money};
pub use error::{LedgerError, Rejected};
pub use event::{Event, Kind, time};
pub use extension::Extension;
pub use follow::{Follower, Glance, Line, Progress, Step};
pub use ledger::{Heard, Ledger, Question, Taking, Told};
pub use lock::Holder;
pub use missing::{Absence, Missing};
pub use notice::{Doing, Notice, Watcher};
pub use plan::{Plan, User, default_budget};
pub use protection::{Policy, Protection};
pub use read::{Reader, Status, StudyStatus, UserStatus};
pub use recover::{Recovered, recover};
pub use reply::Reply;
pub use rounds::{Report, Reported, Wants};
pub use study::{Results, Shared, Terms};
pub use verify::{Finding, Verdict};
pub use wire::{Message, Nonsense, Saying};
