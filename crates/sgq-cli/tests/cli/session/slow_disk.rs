//! A disk that takes its time, as one beyond a network does, and refuses now and then: the calls that make a file durable are slowed
//! down, or fail, in front of the system's own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{count, events, is_sound, json, new, place, point};
use crate::{succeeds, text};

/// Each call takes so many milliseconds; the one of this number, and all after it, fail.
const SLOW: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int slow(const char *name, int file) {
    static int calls = 0;
    const char *delay = getenv("DISK_DELAY_MS"), *fail = getenv("DISK_FAILS_AT");
    if (delay) usleep(1000 * atoi(delay));
    if (fail && ++calls >= atoi(fail)) { errno = EIO; return -1; }
    return ((int (*)(int)) dlsym(RTLD_NEXT, name))(file);
}

int fsync(int file) { return slow("fsync", file); }
int fdatasync(int file) { return slow("fdatasync", file); }
"#;

/// Builds it with the C compiler that SQLite needs anyway.
fn slow_disk(place: &Path) -> PathBuf {
    let (source, library) = (place.join("slow.c"), place.join("slow.so"));
    fs::write(&source, SLOW).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").output();
    let built = built.unwrap();
    assert!(built.status.success(), "{}", text(&built.stderr));
    library
}

/// A run on such a disk.
fn on(disk: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sgq"));
    command.args(["session", "run", "study.sgq", "--command", "python3 -S clinic.py good", "--quiet"]);
    command.current_dir(disk.parent().unwrap()).env("LD_PRELOAD", disk).envs(settings.iter().copied());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn queries(place: &Path) -> u64 {
    json(place, &["session", "status", "study.sgq", "--json"])["queries"].as_u64().unwrap()
}

fn wait_for_queries(place: &Path, child: &mut Child, at_least: u64) {
    let begun = Instant::now();
    while queries(place) < at_least {
        assert!(child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(60), "it does not go on");
        sleep(Duration::from_millis(20));
    }
}

const SETTINGS: [&str; 6] = ["--budget", "16", "--tol", "off", "--open", "2"];

/// Others can read meanwhile, a second writer is refused with the name of the first, and a death in the middle of a slow write loses
/// nothing.
#[test]
fn a_slow_disk_delays_and_loses_nothing() {
    let place = place();
    let place = place.path();
    new(place, "whole.sgq", &SETTINGS);
    succeeds(place, &["session", "run", "whole.sgq", "--command", "python3 -S clinic.py good", "--quiet"]);
    new(place, "study.sgq", &SETTINGS);
    let disk = slow_disk(place);
    for kill in 1..=3 {
        // While the first one is at work, another one waits for three seconds in vain.
        let delay = if kill == 1 { "600" } else { "100" };
        let mut child = on(&disk, &[("DISK_DELAY_MS", delay)]).spawn().unwrap();
        wait_for_queries(place, &mut child, 4 * kill);
        if kill == 1 {
            let told = crate::refuses(place, &["session", "away", "study.sgq", "north"]);
            assert!(told.contains(&format!("is in use by process {}", child.id())), "{told}");
        }
        sleep(Duration::from_millis(60 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(queries(place) >= 4 * kill);
    }
    let output = on(&disk, &[("DISK_DELAY_MS", "20")]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(point(place, "study.sgq"), point(place, "whole.sgq"));
    assert_eq!(events(place, "study.sgq"), events(place, "whole.sgq"));
    assert!(is_sound(place, "study.sgq"));
}

/// A disk that refuses from some call on: an error that says so, and nothing that was on it is lost.
#[test]
fn a_disk_that_refuses_is_named() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &SETTINGS);
    let disk = slow_disk(place);
    let mut before = 0;
    for at in [1, 2, 5, 9, 14] {
        let output: Output = on(&disk, &[("DISK_FAILS_AT", &at.to_string())]).output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("the disk refused") && told.contains("nothing that was answered before is lost"),
            "{told}"
        );
        assert!(queries(place) >= before && is_sound(place, "study.sgq"), "{at}");
        before = queries(place);
    }
    assert!(before > 3, "{before}");
    assert!(on(&disk, &[]).status().unwrap().success());
    assert_eq!((queries(place), count(place, "study.sgq", "failed")), (16, 0));
}
