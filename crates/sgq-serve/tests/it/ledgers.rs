//! Ledgers to look at, and a browser that only asks.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use sgq::{Method, Settings, session::Failure};
use sgq_ledger::{Ledger, Plan, Question, Reply, User};
use sgq_serve::{Options, Server, Stop, Token};

pub const USERS: usize = 7;

pub fn plan(method: Method, open: usize, budget: u64) -> Plan {
    let user = |user: usize| {
        let mut user = User::named(format!("clinic-{user}"));
        user.smoothness = Some(4.0);
        user
    };
    let settings = Settings::new(vec![4.0, -3.0, 2.0], USERS).step_size(0.05).budget(budget).open(open).seed(11);
    Plan::new(method, settings, (0..USERS).map(user).collect())
}

pub fn answer(question: &Question) -> Reply {
    let center = |coordinate: usize| ((question.user * 7 + coordinate * 3) % 5) as f64 - 2.0;
    let steep = |coordinate: usize| 0.5 + ((question.user + coordinate) % 3) as f64;
    Reply::new(question.point.iter().enumerate().map(|(i, x)| steep(i) * (x - center(i))).collect::<Vec<f64>>())
}

/// One answer, and now and then a failure.
pub fn step(ledger: &mut Ledger) -> bool {
    ledger.ask_many(usize::MAX).unwrap();
    let Some(question) = ledger.pending().into_iter().next() else { return false };
    match question.ticket % 9 {
        5 => ledger.fail(question.ticket, Failure::new().because("no <b>answer</b> within 30 minutes")).unwrap(),
        _ => drop(ledger.tell(question.ticket, &answer(&question)).unwrap()),
    }
    true
}

/// A folder in memory, where there is one.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A ledger with so many answers and failures.
pub fn ledger(folder: &tempfile::TempDir, name: &str, plan: &Plan, steps: usize) -> PathBuf {
    let path = folder.path().join(name);
    let mut ledger = Ledger::create(&path, plan).unwrap();
    (0..steps).all(|_| step(&mut ledger));
    ledger.close().unwrap();
    path
}

/// A server that ends with its test.
pub struct Served {
    pub address: SocketAddr,
    pub url: String,
    stop: Stop,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

pub fn serve(path: &Path) -> Served {
    serve_with(path, None)
}

pub fn serve_with(path: &Path, token: Option<Token>) -> Served {
    let mut options = Options::new(path);
    (options.port, options.token) = (0, token);
    let server = Server::bind(options).unwrap();
    let (address, url, stop) = (server.address(), server.url(), server.stop());
    let thread = Some(thread::spawn(move || server.run().unwrap()));
    Served { address, url, stop, thread }
}

/// An answer: its status, its headers in lower case, and its body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        assert!(self.headers.contains("content-type: application/json"), "{}", self.headers);
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap().to_owned()
    }
}

impl Served {
    pub fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let headers = String::from_utf8(all[..end].to_vec()).unwrap().to_lowercase();
        let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, headers, body: all[end + 4..].to_vec() }
    }

    /// GET, with more headers.
    pub fn get_with(&self, path: &str, headers: &str) -> Answer {
        let Self { address, .. } = self;
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n"))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.get_with(path, "")
    }

    /// The answer of the API about a ledger.
    pub fn ask(&self, id: &str, what: &str) -> Value {
        let answer = self.get(&format!("/api/s/{id}/{what}"));
        assert_eq!(answer.status, 200, "{what}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    /// The head, once all was replayed.
    pub fn replayed_head(&self, id: &str) -> Value {
        let begun = Instant::now();
        loop {
            let head = self.ask(id, "head");
            if head["status"]["replayed"] == head["status"]["queries"] {
                return head;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{head}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What is told of changes: a line each.
    pub fn listen(&self) -> impl Iterator<Item = Value> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(format!("GET /api/live HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        // It listens from here on.
        assert!(lines.by_ref().any(|line| line.ends_with(": listening")));
        lines.filter_map(|line| Some(serde_json::from_str(line.strip_prefix("data: ")?).unwrap()))
    }
}
