//! A ledger of any size, or one that grows while somebody looks on: what the page of `sgq serve` is tested with.
//!
//!     cargo run -p sgq-ledger --example grow -- study.sgq USERS DIM QUERIES [MILLISECONDS]
//!
//! The queries are answered in batches of 16, each of which is one write. With a pace, the file is made with as many queries, and then
//! one is asked and answered after each such time, as long as a line comes from the standard input or it stays open. Users are linear
//! regressions, whose names try what a page may get wrong. Prints `ready` once the queries are in, and `N TIME` for each answer
//! after that, with milliseconds since 1970.

use std::{
    env,
    error::Error,
    io::{Read as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sgq::{Settings, method, session::Failure};
use sgq_ledger::{Ledger, Plan, Reply, User};

const BATCH: usize = 16;

/// Names that are markup, long, written from the right, or none that a reader sees.
fn name(user: usize) -> String {
    match user {
        0 => "<script>document.title='taken'</script>".into(),
        1 => "<img src=x onerror=\"document.title='taken'\">".into(),
        2 => "x".repeat(10_000),
        3 => "مستشفى السلام".into(),
        4 => "\u{202e}gnp.exe".into(),
        5 => "🏥👩‍⚕️ clinic 🇧🇷".into(),
        6 => "\"quoted\" 'name' & more; --".into(),
        7 => "${7*7} {{7*7}} %s".into(),
        user => format!("clinic-{user:06}"),
    }
}

/// The gradient of a square whose size and place are the user's own.
fn gradient(user: usize, point: &[f64]) -> Vec<f64> {
    let own = |place: usize| ((user * 31 + place * 17) % 101) as f64 / 50.0 - 1.0;
    let size = 0.5 + (user % 7) as f64 / 7.0;
    point.iter().enumerate().map(|(place, x)| size * (x - own(place))).collect()
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis())
}

static ENDED: AtomicBool = AtomicBool::new(false);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, users, dim, queries, pace @ ..] = &arguments[..] else {
        return Err("usage: grow study.sgq USERS DIM QUERIES [MILLISECONDS]".into());
    };
    let (users, dim, queries): (usize, usize, usize) = (users.parse()?, dim.parse()?, queries.parse()?);
    let everybody = (0..users).map(|user| User::named(name(user))).collect();
    let out = BATCH.min(users);
    let settings = Settings::new(vec![3.0; dim], users).budget(10 * queries as u64 + 1000).open(out).seed(7);
    let mut ledger = Ledger::create(path, &Plan::new(method::frugal(), settings, everybody))?;
    let mut done = 0;
    while done < queries {
        let most = out.min(queries - done);
        done += ledger.group(|ledger| {
            let asked = ledger.questions(most)?;
            for question in &asked {
                ledger.tell(question.ticket, &Reply::new(gradient(question.user, &question.point)))?;
            }
            Ok(asked.len())
        })?;
        if ledger.stop_reason().is_some() {
            return Err("the session has stopped: ask for fewer queries".into());
        }
    }
    println!("ready");
    if let [milliseconds] = pace {
        let pause = Duration::from_millis(milliseconds.parse()?);
        thread::spawn(|| {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            ENDED.store(true, Ordering::Relaxed);
        });
        while !ENDED.load(Ordering::Relaxed) && ledger.stop_reason().is_none() {
            let Some(question) = ledger.ask()? else { break };
            thread::sleep(pause);
            // One that fails now and then.
            if question.user == 6 {
                ledger.fail(question.ticket, Failure::new().because("<b>no answer</b> within a minute"))?;
                continue;
            }
            ledger.tell(question.ticket, &Reply::new(gradient(question.user, &question.point)))?;
            println!("{} {}", ledger.queries(), now());
            std::io::stdout().flush()?;
        }
    }
    ledger.close()?;
    Ok(())
}
