//! Who may look: a token for whoever comes from another machine, and a name of this one for whoever comes from here.

use std::{fs, io, io::Write as _, net::IpAddr, path::Path};

use hyper::{HeaderMap, header};
use thiserror::Error;

/// A secret that opens the API: 128 bits from the operating system's randomness.
#[derive(Clone)]
pub struct Token(String);

/// A token of one's own has at least so many characters.
const SHORTEST: usize = 16;

/// Why there is no token.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum NoToken {
    #[error("the system has no randomness to make a token of: {0}")]
    Randomness(getrandom::Error),
    #[error("{path}: {error}")]
    File { path: String, error: io::Error },
    #[error(
        "{path} holds no token: write one line of at least {SHORTEST} letters, digits, - or _, or name a file that is not there, which \
         is made"
    )]
    Weak { path: String },
}

impl Token {
    /// A new one.
    pub fn random() -> Result<Self, NoToken> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(NoToken::Randomness)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The one in a file; where there is no such file, it is made with a new one, for its owner's eyes only.
    pub fn in_file(path: &Path) -> Result<Self, NoToken> {
        let name = || path.display().to_string();
        let failed = |error| NoToken::File { path: name(), error };
        match fs::read_to_string(path) {
            Ok(text) => {
                let text = text.trim();
                let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
                let is_token = text.len() >= SHORTEST && text.bytes().all(is_fit);
                is_token.then(|| Self(text.to_owned())).ok_or_else(|| NoToken::Weak { path: name() })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = Self::random()?;
                let mut options = fs::OpenOptions::new();
                options.write(true).create_new(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                let written = options.open(path).and_then(|mut file| writeln!(file, "{}", token.0));
                written.map(|()| token).map_err(failed)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// For the part of an address that no browser sends.
    pub fn as_fragment(&self) -> &str {
        &self.0
    }

    /// Whether a request has it. How long the comparison takes says nothing of how much is right.
    pub fn is_in(&self, headers: &HeaderMap) -> bool {
        let told = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
        let told = told.and_then(|it| it.strip_prefix("Bearer ")).unwrap_or_default().trim().as_bytes();
        let differences = told.iter().zip(self.0.as_bytes()).fold(0, |all, (one, other)| all | (one ^ other));
        told.len() == self.0.len() && differences == 0
    }
}

impl std::fmt::Debug for Token {
    /// Not for a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Whether a request on this machine is for this machine: a page elsewhere whose name was made to point here (DNS rebinding) says its
/// own name.
pub fn is_for_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|it| it.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a page of another site makes the request.
pub fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn only_names_of_this_machine_are_for_it() {
        for host in ["localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1:8080", "127.3.2.1", "[::1]:8080", "[::1]"]
        {
            assert!(is_for_loopback(&headers("host", host)), "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example:8080", "10.0.0.1", "127.0.0.1.evil.example", "[fe80::1]"]
        {
            assert!(!is_for_loopback(&headers("host", host)), "{host}");
        }
        assert!(!is_for_loopback(&HeaderMap::new()));
    }

    #[test]
    fn a_token_is_all_of_it_and_is_not_printed() {
        let token = Token::random().unwrap();
        assert!(token.is_in(&headers("authorization", &format!("Bearer {}", token.as_fragment()))));
        for wrong in ["", "Bearer ", token.as_fragment(), &format!("Bearer {}0", token.as_fragment()), "Bearer 0"] {
            assert!(!token.is_in(&headers("authorization", wrong)), "{wrong}");
        }
        assert!(!token.is_in(&HeaderMap::new()));
        assert_ne!(token.as_fragment(), Token::random().unwrap().as_fragment());
        assert!(!format!("{token:?}").contains(token.as_fragment()));
    }

    #[test]
    fn a_file_keeps_a_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let token = Token::in_file(&path).unwrap();
        assert_eq!(Token::in_file(&path).unwrap().as_fragment(), token.as_fragment());
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(matches!(Token::in_file(&path), Err(NoToken::Weak { .. })));
    }
}
