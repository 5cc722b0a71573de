//! Who may look, at what, and how.

use std::net::TcpListener;

use sgq::method;
use sgq_serve::{Options, ServeError, Server, Token};

use crate::ledgers::{folder, ledger, plan, serve, serve_with};

#[test]
fn only_reading_is_possible() {
    let folder = folder();
    let path = ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 20), 5);
    let served = serve(&path);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let request = format!("{method} /api/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = served.send(&request);
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.headers.contains("allow: get, head"));
    }
    let with_body = "GET /api/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(served.send(with_body).status, 400);
    let head = served.send("HEAD /api/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.headers.contains("content-type: application/json"));
}

/// A page elsewhere whose name points here says its own name.
#[test]
fn other_hosts_and_sites_are_turned_away() {
    let folder = folder();
    let served = serve(&ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 20), 5));
    for host in ["evil.example", "evil.example:8080", "localhost.evil.example", "192.168.0.7", ""] {
        for path in ["/", "/api/sessions"] {
            let answer = served.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
            assert_eq!(answer.status, 421, "{host}");
        }
    }
    assert_eq!(served.send("GET /api/sessions HTTP/1.0\r\n\r\n").status, 421, "no host at all");
    for host in ["localhost", "127.0.0.1:1", "[::1]:8080", "LocalHost:80"] {
        let answer = served.send(&format!("GET /api/sessions HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
        assert_eq!(answer.status, 200, "{host}");
    }
    assert_eq!(served.get_with("/api/sessions", "Sec-Fetch-Site: cross-site\r\n").status, 403);
    assert_eq!(served.get_with("/api/sessions", "Sec-Fetch-Site: same-origin\r\n").status, 200);
}

#[test]
fn a_token_opens_the_api_and_nothing_else_does() {
    let folder = folder();
    let path = ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 20), 5);
    let token = Token::random().unwrap();
    let secret = token.as_fragment().to_owned();
    let served = serve_with(&path, Some(token));
    assert!(served.url.ends_with(&format!("/#token={secret}")), "behind the #, which no browser sends");
    for path in ["/api/sessions", "/api/s/study.sgq/head", "/api/live", "/api/nothing"] {
        assert_eq!(served.get(path).status, 401, "{path}");
        assert_eq!(served.get_with(path, "Authorization: Bearer 0123456789abcdef\r\n").status, 401);
        assert_eq!(served.get(&format!("{path}?token={secret}")).status, 401, "not in an address");
    }
    let told = served.get_with("/api/sessions", &format!("Authorization: Bearer {secret}\r\n"));
    assert_eq!(told.status, 200);
    // The page itself holds no data.
    let page = served.get("/");
    assert_eq!(page.status, 200);
    assert!(!String::from_utf8(page.body).unwrap().contains("study"));
}

#[test]
fn an_address_that_others_reach_has_a_token() {
    let folder = folder();
    let mut options = Options::new(ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 20), 5));
    (options.host, options.port) = ([0, 0, 0, 0].into(), 0);
    let server = Server::bind(options).unwrap();
    let (_, token) =
        server.url().split_once("/#token=").map(|(url, token)| (url.to_owned(), token.to_owned())).unwrap();
    assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert!(!format!("{server:?}").contains(&token), "not for a log");
}

#[test]
fn every_answer_has_strict_headers() {
    let folder = folder();
    let served = serve(&ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 20), 5));
    for path in [
        "/",
        "/assets/app.js",
        "/assets/page.css",
        "/nothing",
        "/api/sessions",
        "/api/s/study.sgq/head",
        "/api/nothing",
    ] {
        let answer = served.get(path);
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(answer.headers.contains(header), "{path}: {header} is not in {}", answer.headers);
        }
        assert!(!answer.headers.contains("access-control"), "{path}");
    }
}

#[test]
fn every_file_of_the_page_is_served() {
    let folder = folder();
    let served = serve(&ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 20), 5));
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/assets")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let address = if name == "index.html" { "/".to_owned() } else { format!("/assets/{name}") };
        assert_eq!(served.get(&address).status, 200, "{name} is not in src/assets.rs");
    }
}

/// The page is whole: each file that it names is there, and so is each that these import.
#[test]
fn the_page_has_all_its_files() {
    let folder = folder();
    let served = serve(&ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 20), 5));
    let page = String::from_utf8(served.get("/").body).unwrap();
    let named: Vec<&str> = page.split('"').filter(|it| it.starts_with("/assets/")).collect();
    assert!(named.len() > 5, "{page}");
    for name in named {
        let file = served.get(name);
        assert_eq!(file.status, 200, "{name}");
        let kind = if name.ends_with(".css") { "content-type: text/css" } else { "content-type: text/javascript" };
        assert!(file.headers.contains(kind), "{name}");
        let text = String::from_utf8(file.body).unwrap();
        for import in text.lines().filter(|line| line.starts_with("import ")) {
            let other = import.rsplit('"').nth(1).unwrap().trim_start_matches("./");
            assert_eq!(served.get(&format!("/assets/{other}")).status, 200, "{name} imports {other}");
        }
    }
}

#[test]
fn gzip_is_for_whoever_takes_it() {
    let folder = folder();
    let served = serve(&ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 200), 150));
    let plain = served.get("/api/s/study.sgq/curve");
    let packed = served.get_with("/api/s/study.sgq/curve", "Accept-Encoding: gzip, deflate\r\n");
    assert!(!plain.headers.contains("content-encoding") && packed.headers.contains("content-encoding: gzip"));
    assert!(packed.body.len() * 2 < plain.body.len());
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed.body[..]), &mut text).unwrap();
    assert_eq!(text.first(), Some(&b'{'));
}

#[test]
fn a_port_that_is_taken_has_a_neighbour() {
    let folder = folder();
    let path = ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 20), 1);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut options = Options::new(&path);
    options.port = port;
    let error = Server::bind(options).unwrap_err();
    assert!(matches!(error, ServeError::Taken { .. }), "{error}");
    let words = error.to_string();
    let next: u16 = words.split("--port ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(next > port, "{words}");
    let mut options = Options::new(folder.path().join("nothing.sgq"));
    options.port = 0;
    assert!(Server::bind(options).unwrap_err().to_string().contains("nothing.sgq"));
}
