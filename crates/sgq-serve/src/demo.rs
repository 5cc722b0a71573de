//! A session to look at: patients of 54 hospitals, whose answers come at a pace to watch.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use sgq::{Random, Settings, method, session::Failure};
use sgq_data::plan::{Clinic, ClinicError, Options, StudyPlan};
use sgq_ledger::{Ledger, LedgerError, Message, Plan, Question, Saying, Terms, User};
use tempfile::TempDir;
use thiserror::Error;

/// The patients of examples/medpar.csv.
const PATIENTS: &str = include_str!("../demo/medpar.csv");
const FORMULA: &str = "died ~ los + white + age80 + type2 + type3";
/// How many standard errors a coefficient may be off: so few that there is something to watch.
const PRECISION: f64 = 1e-4;
/// So many questions are out at a time.
const OPEN: usize = 3;

/// An answer takes so long, and so many times as long where a hospital is slow.
const ANSWER: Duration = Duration::from_millis(1100);
const SLOWER: u32 = 4;
/// One in so many hospitals is slow.
const SLOW: usize = 9;
/// The first and the closing question, which everybody gets at once, are answered so quickly.
const QUICK: Duration = Duration::from_millis(60);
const PAUSE: Duration = Duration::from_millis(20);
/// This one fails with so large a probability, and says why.
const FAILING: usize = 4;
const FAILS: f64 = 0.4;
const REASON: &str = "the connection to the hospital's database was lost";
/// This one is away between these two queries.
const AWAY: usize = 11;
const AWAY_FROM: u64 = 12;
const AWAY_UNTIL: u64 = 34;
const AWAY_REASON: &str = "the night shift is over at eight";

/// A session that runs in a folder of its own, which goes with it.
#[derive(Debug)]
pub struct Demo {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
    /// Removed after all else.
    _folder: TempDir,
}

/// Why there is nothing to show.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum DemoError {
    #[error("no folder for the demo can be made: {0}; set TMPDIR to where there can be one")]
    Folder(io::Error),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the bundled data: {0}")]
    Data(String),
}

impl From<ClinicError> for DemoError {
    fn from(error: ClinicError) -> Self {
        Self::Data(error.to_string())
    }
}

impl Demo {
    /// Begins it.
    pub fn start() -> Result<Self, DemoError> {
        let folder = tempfile::Builder::new().prefix("sgq-demo-").tempdir().map_err(DemoError::Folder)?;
        let path = folder.path().join("demo.sgq");
        let study = Study::new(&path)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        // What goes wrong in it is in the record, where the page shows it.
        let thread = thread::spawn(move || drop(study.run(&stopped)));
        Ok(Self { path, stop, thread: Some(thread), _folder: folder })
    }

    /// Its ledger.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The coordinator and all hospitals, in one.
struct Study {
    ledger: Ledger,
    hospitals: Vec<Clinic>,
    random: Random,
    /// When each question that is out will be answered.
    due: BTreeMap<u64, Instant>,
}

impl Study {
    fn new(path: &Path) -> Result<Self, DemoError> {
        let data = |error: &dyn std::fmt::Display| DemoError::Data(error.to_string());
        let formula = FORMULA.parse().map_err(|error| data(&error))?;
        let mut plan = StudyPlan::new(formula, "binomial".parse().map_err(|error| data(&error))?);
        // Everybody can read these data: nobody is to be protected from a few questions.
        (plan.rules.answers_each, plan.rules.min_rows, plan.rules.parameters_per_row) = (1000, 1, 10.0);
        let rows = rows_by_hospital();
        let open = |(name, rows): (&String, &String)| {
            Clinic::new(plan.clone(), rows.clone().into_bytes(), name, &Options::default())
        };
        let hospitals = rows.iter().map(open).collect::<Result<_, _>>()?;
        let users: Vec<User> = rows.keys().map(User::named).collect();
        let settings = Settings::new(Vec::new(), users.len()).budget(600).open(OPEN).seed(3);
        let terms = Terms::new(plan).precision(Some(PRECISION));
        let ledger = Ledger::create(path, &Plan::of_study(method::frugal(), settings, users, terms))?;
        Ok(Self { ledger, hospitals, random: Random::new(3, "demo"), due: BTreeMap::new() })
    }

    fn run(mut self, stop: &AtomicBool) -> Result<(), LedgerError> {
        let (mut went_away, mut came_back) = (false, false);
        while !stop.load(Ordering::Relaxed) {
            let queries = self.ledger.queries();
            if queries >= AWAY_FROM && !went_away {
                went_away = true;
                self.ledger.away(AWAY, Some(AWAY_REASON))?;
            }
            if went_away && queries >= AWAY_UNTIL && !came_back {
                came_back = true;
                self.ledger.back(AWAY, None)?;
            }
            self.ledger.ask_many(usize::MAX)?;
            let out = self.ledger.pending();
            let now = Instant::now();
            self.due.retain(|ticket, _| out.iter().any(|question| question.ticket == *ticket));
            for (place, question) in out.iter().enumerate() {
                let takes = self.takes(question, place);
                self.due.entry(question.ticket).or_insert(now + takes);
            }
            let next = out.iter().find(|question| self.due.get(&question.ticket).is_some_and(|due| *due <= now));
            match next {
                Some(question) => self.answer(question)?,
                None => thread::sleep(PAUSE),
            }
        }
        self.ledger.close()
    }

    /// How long an answer takes: between half and one and a half times as long as usual.
    fn takes(&mut self, question: &Question, place: usize) -> Duration {
        if question.report.is_some() {
            return QUICK * (place as u32 + 1);
        }
        let usual = if question.user.is_multiple_of(SLOW) { SLOWER * ANSWER } else { ANSWER };
        usual.mul_f64(0.5 + self.random.unit())
    }

    fn answer(&mut self, question: &Question) -> Result<(), LedgerError> {
        let Question { ticket, user, .. } = *question;
        if user == FAILING && question.report.is_none() && self.random.unit() < FAILS {
            return self.ledger.fail(ticket, Failure::new().because(REASON));
        }
        let Some(hospital) = self.hospitals.get_mut(user) else { return Ok(()) };
        let line = hospital.answer(&question.to_json()?).line;
        match Message::from_json(&line).map(|message| message.saying) {
            Ok(Saying::Answer(reply)) => self.ledger.tell(ticket, &reply).map(drop),
            Ok(Saying::Report(report)) => self.ledger.tell_report(ticket, &report, Some(user)).map(drop),
            Ok(Saying::Error(why)) => self.ledger.fail(ticket, Failure::new().because(&why)),
            Err(why) => self.ledger.fail(ticket, Failure::new().because(&why.why)),
        }
    }
}

/// The lines of each hospital, with the header above them.
fn rows_by_hospital() -> BTreeMap<String, String> {
    let (header, rows) = PATIENTS.split_once('\n').unwrap_or_default();
    let mut by_hospital: BTreeMap<String, String> = BTreeMap::new();
    for row in rows.lines() {
        let number = row.split(',').next().unwrap_or_default();
        let text = by_hospital.entry(format!("hospital {number}")).or_insert_with(|| format!("{header}\n"));
        text.push_str(row);
        text.push('\n');
    }
    by_hospital
}
