//! A live page of a session: whom it asks, why, what that bought, and when it is enough.
//!
//! [`Server`] shows a ledger, or every ledger of a folder, while somebody else writes to it. It only reads, and no look at a ledger holds
//! up its writer. docs/serve.md has the command, the API and what is done against strangers.

mod assets;
mod book;
pub mod demo;
mod events;
mod expected;
mod guard;
mod head;
mod history;
mod live;
mod reply;
mod routes;
mod series;
mod server;
mod users;
mod watch;

pub use guard::{NoToken, Token};
pub use server::{Options, ServeError, Server, Stop};
