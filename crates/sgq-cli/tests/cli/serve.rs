//! `sgq serve`: a page over a ledger, while it lasts.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use super::*;

/// A ledger of three users, of whom nobody was asked yet.
fn study(folder: &Path) {
    fs::write(folder.join("clinics.csv"), "user\nnorth\nsouth\nwest\n").unwrap();
    succeeds(folder, &["session", "new", "study.sgq", "--users", "clinics.csv", "--dim", "2", "--budget", "30"]);
}

/// A server, and the address that it prints.
fn serve(folder: &Path, arguments: &[&str]) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sgq"));
    let mut child = command
        .arg("serve")
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().to_owned())
}

/// Ctrl-C, and what the program said until it ended.
fn interrupt(mut child: Child) -> String {
    let begun = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(status.code(), Some(0));
    let mut said = String::new();
    child.stderr.unwrap().read_to_string(&mut said).unwrap();
    child.stdout.unwrap().read_to_string(&mut said).unwrap();
    said
}

fn get(url: &str, path: &str, header: &str) -> String {
    let address = url.trim_start_matches("http://").split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[cfg(unix)]
#[test]
fn a_ledger_is_served_until_ctrl_c() {
    let folder = tempdir().unwrap();
    study(folder.path());
    let (child, url) = serve(folder.path(), &["study.sgq", "--port", "0"]);
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with('/'), "{url}");
    let head = get(&url, "/api/s/study.sgq/head", "");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("\"method\":\"frugal\""), "{head}");
    // Somebody else writes meanwhile, and a page that listens does not keep the server.
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut listening = TcpStream::connect(address).unwrap();
    listening.write_all(format!("GET /api/live HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    succeeds(folder.path(), &["session", "ask", "study.sgq"]);
    assert_eq!(interrupt(child), "");
}

#[cfg(unix)]
#[test]
fn a_token_is_printed_once_and_kept_in_its_file() {
    let folder = tempdir().unwrap();
    study(folder.path());
    let arguments = [".", "--port", "0", "--token-file", "token"];
    let (child, url) = serve(folder.path(), &arguments);
    let token = fs::read_to_string(folder.path().join("token")).unwrap();
    assert!(url.ends_with(&format!("/#token={}", token.trim())), "{url}");
    assert!(get(&url, "/api/sessions", "").starts_with("HTTP/1.1 401"));
    let told = get(&url, "/api/sessions", &format!("Authorization: Bearer {}\r\n", token.trim()));
    assert!(told.starts_with("HTTP/1.1 200") && told.contains("study.sgq"), "{told}");
    assert_eq!(interrupt(child), "");
    let (child, again) = serve(folder.path(), &arguments);
    assert_eq!(again.split('#').next_back(), url.split('#').next_back());
    interrupt(child);
}

#[cfg(unix)]
#[test]
fn the_demo_needs_nothing_and_leaves_nothing() {
    let (folder, temporary) = (tempdir().unwrap(), tempdir().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_sgq"));
    command.args(["serve", "--demo", "--port", "0"]).env("TMPDIR", temporary.path()).current_dir(folder.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    assert!(get(url.trim(), "/api/sessions", "").contains("demo.sgq"));
    assert_eq!(interrupt(child), "");
    assert_eq!((fs::read_dir(&folder).unwrap().count(), fs::read_dir(&temporary).unwrap().count()), (0, 0));
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = tempdir().unwrap();
    study(folder.path());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = refuses(folder.path(), &["serve", "study.sgq", "--port", &port]);
    assert!(error.contains(&format!("port {port} of 127.0.0.1 is taken: --port ")), "{error}");
    assert!(refuses(folder.path(), &["serve", "nothing.sgq"]).contains("nothing.sgq"));
    fs::write(folder.path().join("weak"), "password").unwrap();
    assert!(refuses(folder.path(), &["serve", "study.sgq", "--token-file", "weak"]).contains("at least 16"));
    assert!(refuses(folder.path(), &["serve"]).contains("STUDY.sgq"));
    assert!(refuses(folder.path(), &["serve", "study.sgq", "--demo"]).contains("--demo"));
}
