//! What a page costs: `cargo bench -p sgq-serve` prints how soon the page of a large session is there, how many bytes it takes, and how
//! many queries a second its writer makes with and without somebody who looks, side by side.
//!
//! `cargo bench -p sgq-serve -- 1000 100` has another number of users, and of queries.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)] // it is no library, and stops where something is wrong

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use sgq::{Settings, method};
use sgq_ledger::{Ledger, Plan, Question, Reply, User};
use sgq_serve::{Options, Server};

const DIM: usize = 20;
/// So long a writer is watched, each time.
const WATCHED: Duration = Duration::from_secs(4);
/// So many times each, in turn: other programs on the machine disturb both alike.
const TIMES: usize = 5;
/// A page asks again at most so often while it is told of changes.
const PAGE_PAUSE: Duration = Duration::from_millis(250);

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|it| it != "--bench").collect();
    if let [verb, path] = &arguments[..]
        && verb == "write"
    {
        return write(Path::new(path));
    }
    let number = |place: usize, usual: usize| arguments.get(place).map_or(usual, |it| it.parse().unwrap());
    let (users, queries) = (number(0, 100_000), number(1, 10_000));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.sgq");
    let begun = Instant::now();
    make(&path, users, queries);
    println!(
        "a ledger of {users} users and {queries} queries, frugal, {DIM} parameters: {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    open_page(&path);
    for (name, path, users) in [("the same", path, users), ("100 users", folder.path().join("small.sgq"), 100)] {
        if !path.exists() {
            make(&path, users, 10);
        }
        side_by_side(name, &path);
    }
}

fn make(path: &Path, users: usize, queries: usize) {
    let settings = Settings::new(vec![1.0; DIM], users).seed(1);
    let user = |user: usize| {
        let mut named = User::named(format!("user-{user:06}"));
        named.smoothness = Some(1.0 + (user % 7) as f64);
        named
    };
    let plan = Plan::new(method::frugal(), settings, (0..users).map(user).collect());
    let mut ledger = Ledger::create(path, &plan).unwrap();
    while ledger.queries() < queries as u64 {
        // Many at once: how long each would take on a disk is not the question here.
        ledger.group(|ledger| (0..500.min(queries)).try_for_each(|_| step(ledger))).unwrap();
    }
    ledger.close().unwrap();
}

fn step(ledger: &mut Ledger) -> Result<(), sgq_ledger::LedgerError> {
    let question = ledger.ask()?.expect("there is no budget");
    ledger.tell(question.ticket, &answer(&question)).map(drop)
}

fn answer(question: &Question) -> Reply {
    let steep = 1.0 + (question.user % 7) as f64;
    let center = |coordinate: usize| ((question.user * 31 + coordinate * 17) % 101) as f64 / 50.0 - 1.0;
    let gradient = question.point.iter().enumerate().map(|(i, x)| steep * (x - center(i)));
    Reply::new(gradient.collect::<Vec<f64>>())
}

/// Writes as fast as it can, and prints how many queries a second that were.
fn write(path: &Path) {
    let mut ledger = Ledger::open(path).unwrap();
    let (begun, before) = (Instant::now(), ledger.queries());
    while begun.elapsed() < WATCHED {
        step(&mut ledger).unwrap();
    }
    println!("{}", (ledger.queries() - before) as f64 / begun.elapsed().as_secs_f64());
    ledger.close().unwrap();
}

fn writer(path: &Path) -> f64 {
    let program = env::current_exe().unwrap();
    let output = Command::new(program).arg("write").arg(path).stderr(Stdio::inherit()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// A server in a thread.
fn served<T>(path: &Path, look: impl FnOnce(SocketAddr) -> T) -> T {
    let mut options = Options::new(path);
    options.port = 0;
    let server = Server::bind(options).unwrap();
    let (address, stop) = (server.address(), server.stop());
    let thread = thread::spawn(move || server.run().unwrap());
    let result = look(address);
    stop.stop();
    thread.join().unwrap();
    result
}

/// The body, and how many bytes came.
fn get(address: SocketAddr, path: &str) -> (Vec<u8>, usize) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let (head, body) = all.split_at(end + 4);
    assert!(head.starts_with(b"HTTP/1.1 200"), "{path}: {}", String::from_utf8_lossy(&all));
    let mut text = Vec::new();
    match String::from_utf8_lossy(head).contains("content-encoding: gzip") {
        true => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut text).unwrap()),
        false => text = body.to_vec(),
    }
    (text, all.len())
}

fn json(address: SocketAddr, path: &str) -> (Value, usize) {
    let (text, bytes) = get(address, path);
    (serde_json::from_slice(&text).unwrap(), bytes)
}

fn open_page(path: &Path) {
    let id = path.file_name().unwrap().to_string_lossy().into_owned();
    served(path, |address| {
        let begun = Instant::now();
        let (page, mut bytes) = get(address, "/");
        let page = String::from_utf8(page).unwrap();
        for file in page.split('"').filter(|it| it.starts_with("/assets/")) {
            bytes += get(address, file).1;
        }
        println!("page and its files: {} kB, {} ms", bytes / 1000, begun.elapsed().as_millis());
        let (head, more) = json(address, &format!("/api/s/{id}/head"));
        bytes += more;
        println!("head: {} bytes, there after {} ms", more, begun.elapsed().as_millis());
        for what in ["curve", "asked", "users?count=100", "events?count=100", "path?coordinates=0,1,2,3,4,5"] {
            let asked = Instant::now();
            let (_, more) = json(address, &format!("/api/s/{id}/{what}"));
            bytes += more;
            println!("{what}: {more} bytes, {} ms", asked.elapsed().as_millis());
        }
        println!("all of it: {} kB, {} ms", bytes / 1000, begun.elapsed().as_millis());
        let queries = head["status"]["queries"].clone();
        while json(address, &format!("/api/s/{id}/head")).0["status"]["replayed"] != queries {
            thread::sleep(Duration::from_millis(50));
        }
        println!("everything replayed: {:.1} s", begun.elapsed().as_secs_f64());
        for what in ["curve", "asked"] {
            println!("{what} then: {} bytes", json(address, &format!("/api/s/{id}/{what}")).1);
        }
        for what in ["users?sort=tell&desc=1", "users?search=99", "users?sort=name&desc=1&from=50000"] {
            let asked = Instant::now();
            json(address, &format!("/api/s/{id}/{what}"));
            println!("{what}: {} ms", asked.elapsed().as_millis());
        }
    });
    // All of this process: the server, and what has made the ledger.
    if let Some(line) =
        fs::read_to_string("/proc/self/status").unwrap_or_default().lines().find(|it| it.starts_with("VmHWM"))
    {
        println!("memory at most: {}", line.trim_start_matches("VmHWM:").trim());
    }
}

/// What a page asks for with each change.
fn look(address: SocketAddr, id: &str, is_over: &AtomicBool) -> usize {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    stream.write_all(format!("GET /api/live HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    let mut changes = BufReader::new(stream);
    let (mut line, mut looks, mut n, mut ticket) = (String::new(), 0, 0, 0);
    while !is_over.load(Ordering::Relaxed) {
        line.clear();
        if changes.read_line(&mut line).is_err() || !line.starts_with("data: ") {
            continue;
        }
        json(address, &format!("/api/s/{id}/head"));
        let curve = json(address, &format!("/api/s/{id}/curve?from={n}")).0;
        let asked = json(address, &format!("/api/s/{id}/asked?from={ticket}")).0;
        let last =
            |value: &Value, before: u64| value["n"].as_array().and_then(|it| it.last()?.as_u64()).unwrap_or(before);
        (n, ticket) = (last(&curve, n), last(&asked, ticket));
        for what in ["users?sort=tell&desc=1", "events", "path?coordinates=0,1,2,3,4,5"] {
            json(address, &format!("/api/s/{id}/{what}"));
        }
        looks += 1;
        thread::sleep(PAGE_PAUSE);
    }
    looks
}

fn side_by_side(name: &str, path: &Path) {
    let id = path.file_name().unwrap().to_string_lossy().into_owned();
    println!("the writer of {name}, queries a second in {} s each:", WATCHED.as_secs());
    let mut rates: Vec<[f64; 2]> = Vec::new();
    for _ in 0..TIMES {
        let alone = writer(path);
        let (watched, looks) = served(path, |address| {
            let is_over = AtomicBool::new(false);
            json(address, &format!("/api/s/{id}/head"));
            thread::scope(|scope| {
                let looking = scope.spawn(|| look(address, &id, &is_over));
                let watched = writer(path);
                is_over.store(true, Ordering::Relaxed);
                (watched, looking.join().unwrap())
            })
        });
        println!("  alone {alone:.0}   with a page open {watched:.0}   ({looks} looks)");
        rates.push([alone, watched]);
    }
    let median = |which: usize| {
        let mut of: Vec<f64> = rates.iter().map(|rates| rates[which]).collect();
        of.sort_by(f64::total_cmp);
        of[of.len() / 2]
    };
    println!("  in the middle: alone {:.0}, with a page open {:.0}", median(0), median(1));
}
