//! What disks and people do to files: each is an error that says how to recover, or nothing is lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sgq::method;
use sgq_ledger::{Ledger, LedgerError, Reader, recover};
use tempfile::TempDir;

use crate::clinics::{answer, bits, events, file, plan, quick_folder, run, step};

const ANSWERS: u64 = 90;

/// A ledger that ended as it should, with a question that is still out.
fn ended(folder: &TempDir) -> PathBuf {
    let path = file(folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 2, 200)).unwrap();
    (0..ANSWERS).for_each(|_| assert!(step(&mut ledger)));
    ledger.close().unwrap();
    assert!(!beside(&path, "-wal").exists());
    path
}

/// The files of a ledger whose program was killed: most of it is in the log.
fn killed(folder: &TempDir) -> PathBuf {
    let path = file(folder, "running.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 2, 200)).unwrap();
    (0..ANSWERS).for_each(|_| assert!(step(&mut ledger)));
    let copy = file(folder, "study.sgq");
    for end in ["", "-wal", "-lock"] {
        fs::copy(beside(&path, end), beside(&copy, end)).unwrap();
    }
    copy
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn remove(path: &Path) {
    ["", "-wal", "-shm", "-lock"].iter().for_each(|end| drop(fs::remove_file(beside(path, end))));
}

/// The answers of a ledger: ticket, point, gradient.
fn answers(path: &Path) -> Vec<(u64, Vec<u64>, Vec<u64>)> {
    let reader = Reader::open(path).unwrap();
    let mut answers = Vec::new();
    reader
        .history(|event| {
            if let Some((point, reply)) = reader.answer(&event)? {
                answers.push((event.ticket.unwrap(), bits(&point), bits(&reply.gradient)));
            }
            Ok(())
        })
        .unwrap();
    answers
}

/// What is saved of a damaged ledger is what was written, and goes on; returns how many answers are.
fn saved(damaged: &Path, all: &[(u64, Vec<u64>, Vec<u64>)]) -> usize {
    let new = beside(damaged, "-saved");
    remove(&new);
    let before = fs::read(damaged).unwrap();
    let saved = recover(damaged, &new).unwrap();
    assert_eq!(fs::read(damaged).unwrap(), before, "the damaged file has changed");
    let found = answers(&new);
    assert!(found.iter().all(|answer| all.contains(answer)));
    assert_eq!(saved.answers as usize, found.len());
    let mut ledger = Ledger::open(&new).unwrap();
    assert_eq!(ledger.queries() as usize, found.len());
    let next = ledger.ask().unwrap().unwrap();
    assert!(next.ticket > all.last().unwrap().0, "a ticket is used again");
    ledger.tell(next.ticket, &answer(&next)).unwrap();
    ledger.close().unwrap();
    found.len()
}

fn says_how_to_recover(error: &LedgerError) {
    let words = error.to_string();
    assert!(words.contains("sgq session recover") || words.contains("later version"), "{words}");
}

/// Whatever byte of whatever page is wrong, the ledger opens as it was or says what to do, and at most the one row that the byte
/// belongs to is lost.
#[test]
fn a_flipped_byte_in_each_page() {
    let folder = quick_folder();
    let path = ended(&folder);
    let (whole, all) = (fs::read(&path).unwrap(), answers(&path));
    assert_eq!(all.len(), ANSWERS as usize);
    let ledger = Ledger::open(&path).unwrap();
    let state = ledger.session().snapshot().unwrap();
    drop(ledger);
    let (mut refused, mut found, mut harmless) = (0, 0, 0);
    let damaged = file(&folder, "damaged.sgq");
    for page in 0..whole.len() / 4096 {
        // The header of a page, its list of rows, and two places among the rows.
        for place in [0, 3 + page % 5, 9, 1500 + 37 * page % 1000, 2600 + 53 * page % 1496] {
            let mut bytes = whole.clone();
            bytes[4096 * page + place] ^= 0x55;
            remove(&damaged);
            fs::write(&damaged, &bytes).unwrap();
            match Ledger::open(&damaged) {
                Ok(ledger) => {
                    assert_eq!(ledger.session().snapshot().unwrap(), state, "page {page}, place {place}");
                    drop(ledger);
                }
                Err(error) => {
                    says_how_to_recover(&error);
                    refused += 1;
                }
            }
            fs::write(&damaged, &bytes).unwrap();
            match Reader::open(&damaged).and_then(|reader| reader.verify()) {
                Ok(verdict) if verdict.is_sound() => {
                    assert_eq!(answers(&damaged), all, "page {page}, place {place}");
                    harmless += 1;
                }
                Ok(_) => found += 1,
                Err(error) => says_how_to_recover(&error),
            }
            fs::write(&damaged, &bytes).unwrap();
            let saved = saved(&damaged, &all);
            assert!(saved + 1 >= all.len(), "page {page}, place {place}: only {saved} answers are saved");
        }
    }
    assert!(refused > 0 && found > refused / 2 && harmless > 0, "{refused} {found} {harmless}");
}

/// SQLite takes a log with a wrong byte for one that ends there. The ledger does not.
#[test]
fn a_flipped_byte_in_the_log() {
    let folder = quick_folder();
    let path = killed(&folder);
    let [main, log, mark] = ["", "-wal", "-lock"].map(|end| fs::read(beside(&path, end)).unwrap());
    let damaged = file(&folder, "damaged.sgq");
    let place = |log: &[u8], with_mark: bool| {
        remove(&damaged);
        fs::write(&damaged, &main).unwrap();
        fs::write(beside(&damaged, "-wal"), log).unwrap();
        if with_mark {
            fs::write(beside(&damaged, "-lock"), &mark).unwrap();
        }
    };
    place(&log, true);
    let all = answers(&damaged);
    assert_eq!(all.len(), ANSWERS as usize);
    assert_eq!(Ledger::open(&damaged).unwrap().queries(), ANSWERS);
    let frames = (log.len() - 32) / (24 + 4096);
    assert!(frames > 20);
    for frame in (0..frames).step_by(7) {
        let mut bytes = log.clone();
        bytes[32 + (24 + 4096) * frame + 24 + 2000] ^= 0x55;
        place(&bytes, true);
        let error = Ledger::open(&damaged).unwrap_err();
        assert!(matches!(error, LedgerError::LostEvents { .. }), "frame {frame}: {error}");
        says_how_to_recover(&error);
        let reader = Reader::open(&damaged).unwrap();
        assert!(!reader.verify().unwrap().is_sound() && reader.status().unwrap().lost.is_some());
        drop(reader);
        assert_eq!(fs::read(beside(&damaged, "-wal")).unwrap(), bytes, "the damaged log has changed");
        // Later frames have later versions of the same pages.
        assert!(saved(&damaged, &all) + 1 >= all.len(), "frame {frame}");
    }
    // Cut short, and lost.
    place(&log[..log.len() / 2], true);
    let error = Ledger::open(&damaged).unwrap_err();
    assert!(matches!(error, LedgerError::LostEvents { .. }), "{error}");
    let half = saved(&damaged, &all);
    assert!(half > all.len() / 4 && half < all.len(), "{half}");
    place(&[], false);
    let error = Ledger::open(&damaged).unwrap_err();
    assert!(matches!(error, LedgerError::LostLog { .. }), "{error}");
    says_how_to_recover(&error);
}

/// Pages are large where points are long. Two bytes of the file say how large. With one of these wrong, all is saved; with any other
/// byte, all but the row that it belongs to.
#[test]
fn a_flipped_byte_among_long_points() {
    // And the bits that make another possible size of the one that is written; of the last, two bytes would have to be wrong.
    for (dim, page_size, other_size) in
        [(3, 4096, 0x30), (25_000, 8192, 0x60), (100_000, 32_768, 0xc0), (200_000, 65_536, 0x10)]
    {
        let folder = quick_folder();
        let (path, copy) = (file(&folder, "study.sgq"), file(&folder, "copy.sgq"));
        let mut plan = plan(method::shuffled_sgd(), 2, 200);
        plan.settings.start = vec![1.0; dim];
        let mut ledger = Ledger::create(&path, &plan).unwrap();
        (0..3).for_each(|_| assert!(step(&mut ledger)));
        for end in ["", "-wal", "-lock"] {
            fs::copy(beside(&path, end), beside(&copy, end)).unwrap();
        }
        ledger.close().unwrap();
        let [whole, of_copy, log, mark] =
            [path.clone(), copy.clone(), beside(&copy, "-wal"), beside(&copy, "-lock")].map(|it| fs::read(it).unwrap());
        assert_eq!(whole[16..18], ((page_size % 65_535) as u16).to_be_bytes());
        let all = answers(&path);
        assert_eq!(all.len(), 3);

        let damaged = file(&folder, "damaged.sgq");
        let flip = |bytes: &[u8], end: &str, place: usize, bits: u8| {
            remove(&damaged);
            fs::write(&damaged, if end.is_empty() { bytes } else { &of_copy }).unwrap();
            fs::write(beside(&damaged, "-lock"), &mark).unwrap();
            let mut bytes = bytes.to_vec();
            bytes[place] ^= bits;
            fs::write(beside(&damaged, end), bytes).unwrap();
        };
        for (place, bits) in [(16, other_size), (16, 0x55), (17, 0x01)] {
            flip(&whole, "", place, bits);
            says_how_to_recover(&Ledger::open(&damaged).unwrap_err());
            says_how_to_recover(&Reader::open(&damaged).and_then(|reader| reader.verify()).unwrap_err());
            flip(&whole, "", place, bits);
            assert_eq!(saved(&damaged, &all), all.len(), "{page_size}: {bits:#x} flipped at {place}");
        }
        for page in (0..10).chain([whole.len() / page_size / 2]) {
            let place = page_size * page + [0, 3, 9, page_size / 2, page_size - 50][page % 5];
            flip(&whole, "", place, 0x55);
            let saved = saved(&damaged, &all);
            assert!(saved + 1 >= all.len(), "{page_size}, place {place}: only {saved} answers are saved");
        }
        let frames = (log.len() - 32) / (24 + page_size);
        for frame in [1, frames / 3, frames / 2, frames - 2] {
            flip(&log, "-wal", 32 + (24 + page_size) * frame + 24 + page_size / 2, 0x55);
            let error = Ledger::open(&damaged).unwrap_err();
            assert!(matches!(error, LedgerError::LostEvents { .. }), "{page_size}, frame {frame}: {error}");
            let saved = saved(&damaged, &all);
            assert!(saved + 1 >= all.len(), "{page_size}, frame {frame}: only {saved} answers are saved");
        }
    }
}

/// A copy of the file alone, made while its program runs.
#[test]
fn a_lost_log() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 2, 200)).unwrap();
    (0..10).for_each(|_| assert!(step(&mut ledger)));
    ledger.close().unwrap();
    let all = answers(&path);
    let mut ledger = Ledger::open(&path).unwrap();
    (0..10).for_each(|_| assert!(step(&mut ledger)));
    let copy = file(&folder, "copy.sgq");
    fs::copy(&path, &copy).unwrap();
    let error = Ledger::open(&copy).unwrap_err();
    assert!(matches!(error, LedgerError::LostLog { .. }), "{error}");
    says_how_to_recover(&error);
    assert_eq!(saved(&copy, &all), 10);
    // With its log it is whole.
    fs::copy(beside(&path, "-wal"), beside(&copy, "-wal")).unwrap();
    assert_eq!(Ledger::open(&copy).unwrap().queries(), 20);
}

/// An old copy in the place of the file is not taken for it.
#[test]
fn an_old_copy() {
    let folder = quick_folder();
    let path = ended(&folder);
    let old = fs::read(&path).unwrap();
    let mut ledger = Ledger::open(&path).unwrap();
    run(&mut ledger);
    ledger.close().unwrap();
    fs::write(&path, old).unwrap();
    let error = Ledger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::LostEvents { has, had, .. } if has < had), "{error}");
    let new = file(&folder, "new.sgq");
    recover(&path, &new).unwrap();
    // What was saved may take its place.
    fs::rename(&new, &path).unwrap();
    assert_eq!(Ledger::open(&path).unwrap().queries(), ANSWERS);
}

/// Cut anywhere: what was written before is saved.
#[test]
fn a_truncated_file() {
    let folder = quick_folder();
    let path = ended(&folder);
    let (whole, all) = (fs::read(&path).unwrap(), answers(&path));
    let damaged = file(&folder, "damaged.sgq");
    let mut before = all.len();
    for pages in (1..whole.len() / 4096).rev() {
        remove(&damaged);
        fs::write(&damaged, &whole[..4096 * pages - 100]).unwrap();
        let opened = Ledger::open(&damaged);
        match &opened {
            Err(error) => says_how_to_recover(error),
            Ok(_) => assert!(!Reader::open(&damaged).unwrap().verify().unwrap().is_sound()),
        }
        drop(opened);
        remove(&damaged);
        fs::write(&damaged, &whole[..4096 * pages - 100]).unwrap();
        match recover(&damaged, &beside(&damaged, "-saved")) {
            Ok(saved) => {
                assert!(saved.answers as usize <= before);
                before = saved.answers as usize;
                remove(&beside(&damaged, "-saved"));
            }
            // The first pages have what the others are of no use without.
            Err(error) => {
                assert!(matches!(error, LedgerError::LostFacts { .. }) && pages < 8, "{pages}: {error}");
                assert!(!beside(&damaged, "-saved").exists());
            }
        }
    }
    assert!(before < all.len());
}

/// What is no ledger is left alone.
#[test]
fn other_files() {
    let folder = quick_folder();
    for (name, bytes) in [("empty", &b""[..]), ("text", &[b'a'; 9000]), ("short", b"SQLite format 3\0")] {
        let path = file(&folder, name);
        fs::write(&path, bytes).unwrap();
        let error = Ledger::open(&path).unwrap_err();
        let is_known = matches!(error, LedgerError::NotALedger { .. } | LedgerError::Damaged { .. });
        assert!(is_known, "{name}: {error}");
        // The file and the remedy have its name.
        let remedy = format!("sgq session recover {} NEW.sgq", path.display());
        assert!(error.to_recover() == Some(&*path) && error.to_string().contains(&remedy), "{name}: {error}");
        let error = Reader::open(&path).unwrap_err();
        assert!(error.to_recover() == Some(&*path), "{name}: {error}");
        assert!(Ledger::create(&path, &plan(method::frugal(), 1, 5)).is_err());
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert!(recover(&path, &file(&folder, "new")).is_err());
    }
    let error = Ledger::open(file(&folder, "nothing")).unwrap_err();
    assert!(error.to_string().contains("nothing") && !beside(&file(&folder, "nothing"), "-lock").exists());
}

/// Where nothing can be written, the record can be read, and a session says why it cannot go on.
#[test]
#[cfg(unix)]
fn a_read_only_disk() {
    let source = quick_folder();
    let path = ended(&source);
    let Some(disk) = SmallDisk::mount("8m") else {
        return eprintln!("skipped: no file system can be mounted here");
    };
    let copy = disk.path().join("study.sgq");
    fs::copy(&path, &copy).unwrap();
    disk.remount("ro");
    let error = Ledger::open(&copy).unwrap_err();
    assert!(matches!(error, LedgerError::ReadOnly { .. }), "{error}");
    assert!(error.to_string().contains("writable"));
    let reader = Reader::open(&copy).unwrap();
    assert_eq!(reader.status().unwrap().queries, ANSWERS);
    assert!(reader.verify().unwrap().is_sound());
    drop(reader);
    recover(&copy, &file(&source, "saved.sgq")).unwrap();
    disk.remount("rw");
    assert_eq!(Ledger::open(&copy).unwrap().queries(), ANSWERS);
}

/// A disk that is full: an error that says so, nothing is lost, and with more room it goes on to the same end.
#[test]
#[cfg(unix)]
fn a_full_disk() {
    let folder = quick_folder();
    let plan = plan(method::frugal(), 3, 400);
    let mut whole = Ledger::create(file(&folder, "whole.sgq"), &plan).unwrap();
    run(&mut whole);
    let Some(disk) = SmallDisk::mount("480k") else {
        return eprintln!("skipped: no file system can be mounted here");
    };
    let path = disk.path().join("study.sgq");
    let mut ledger = Ledger::create(&path, &plan).unwrap();
    let (told, error) = run_until_an_error(&mut ledger);
    assert!(told > 10, "{told}");
    let words = error.to_string();
    assert!(words.contains("the disk is full") && words.contains("make room"), "{words}");
    assert!(matches!(ledger.ask(), Err(LedgerError::Stale)));
    drop(ledger);
    // There is none yet, and nothing changes by trying.
    for _ in 0..2 {
        let status = Reader::open(&path).unwrap().status().unwrap();
        assert_eq!(status.queries, told);
        if let Err(error) = Ledger::open(&path) {
            assert!(error.to_string().contains("make room"), "{error}");
        }
    }
    disk.remount("size=64m");
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.queries(), told);
    run(&mut ledger);
    assert_eq!(bits(ledger.session().point()), bits(whole.session().point()));
    drop((ledger, whole));
    let without_waits =
        |path: &Path| -> Vec<_> { events(path).into_iter().filter(|event| event.0 != "waited").collect() };
    assert_eq!(without_waits(&path), without_waits(&file(&folder, "whole.sgq")));
    // A new ledger is there as a whole, or not at all.
    let full = SmallDisk::mount("16k").unwrap();
    let path = full.path().join("study.sgq");
    let error = Ledger::create(&path, &plan).unwrap_err();
    assert!(error.to_string().contains("make room"), "{error}");
    assert!(!path.exists());
}

fn run_until_an_error(ledger: &mut Ledger) -> (u64, LedgerError) {
    for told in 0.. {
        let asked = ledger.ask_many(usize::MAX);
        let next = ledger.pending().into_iter().next();
        let told_one = asked.and_then(|_| {
            let question = next.expect("there is no end yet");
            ledger.tell(question.ticket, &answer(&question))
        });
        if let Err(error) = told_one {
            return (told, error);
        }
    }
    unreachable!("a run without end")
}

const LIMITED: &str = "SGQ_LEDGER_OF_LIMITED_CHILD";

/// Not a test: the process of the test below.
#[test]
#[ignore = "it is run by the test that limits it"]
fn limited_child() {
    if let Some(path) = std::env::var_os(LIMITED) {
        let path = Path::new(&path);
        let (told, error) = run_until_an_error(&mut Ledger::create(path, &plan(method::frugal(), 3, 400)).unwrap());
        fs::write(path.with_extension("told"), format!("{told} {error}")).unwrap();
    }
}

/// A quota: files may not be larger.
#[test]
#[cfg(unix)]
fn a_quota() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let limited = "trap '' XFSZ; ulimit -f 700; exec \"$@\"";
    let status = std::process::Command::new("sh")
        .args(["-c", limited, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "faults::limited_child", "--ignored", "--quiet"])
        .env(LIMITED, &path)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let words = fs::read_to_string(path.with_extension("told")).unwrap();
    let (told, error) = words.split_once(' ').unwrap();
    let told: u64 = told.parse().unwrap();
    assert!(told > 5 && error.contains("nothing that was answered before is lost"), "{words}");
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.queries(), told);
    run(&mut ledger);
    assert_eq!(ledger.queries(), 400);
}

/// A small file system of its own, where that is allowed.
#[cfg(unix)]
struct SmallDisk(TempDir);

#[cfg(unix)]
impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }

    fn remount(&self, how: &str) {
        let how = format!("remount,{how}");
        assert!(std::process::Command::new("mount").args(["-o", &how]).arg(self.path()).status().unwrap().success());
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(unix)]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.path()).status();
    }
}
