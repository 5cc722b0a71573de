//! `sgq serve`: a live page of a session.

use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use sgq_serve::{Options, Server, Token, demo::Demo};

use crate::{Outcome, terminal};

/// Show a session as a page that follows it: whom it asks and why, what that bought, and when it is enough.
///
/// Another process may write to the ledger meanwhile: this one only reads. The page is for this machine alone, unless --host names
/// another address; then the address that is printed has a token, and nothing is shown without it.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq serve study.sgq\n  sgq serve studies/ --port 8081\n  sgq serve --demo")]
pub struct Args {
    /// The ledger, or a folder of ledgers (every *.sgq in it)
    #[arg(value_name = "STUDY.sgq", required_unless_present = "demo")]
    path: Option<PathBuf>,
    /// The port to listen at; 0 takes any that is free
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// The address to listen at: whoever reaches it needs the token that is printed
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// A file with the token, so that it stays the same: where there is none, it is made
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Run a session on bundled data at a pace to watch, and show it: users that are slow, one that fails now and then, one away for a
    /// while
    #[arg(long, conflicts_with = "path")]
    demo: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let demo = args.demo.then(Demo::start).transpose()?;
    let path = demo.as_ref().map(Demo::path).or(args.path.as_deref()).unwrap_or(".".as_ref());
    let token = args.token_file.as_deref().map(Token::in_file).transpose()?;
    let mut options = Options::new(path);
    (options.host, options.port, options.token) = (args.host, args.port, token);
    let server = Server::bind(options)?;
    let stop = server.stop();
    ctrlc::set_handler(move || stop.stop())?;
    terminal::say(&server.url())?;
    server.run()?;
    Ok(Outcome::Done)
}
