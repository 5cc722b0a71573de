//! The server: connections, who may look, and when it ends.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use hyper::{
    Method, Request, StatusCode,
    body::{Body as _, Incoming},
    header::{ALLOW, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::sync::{Semaphore, watch};

use crate::{
    guard::{NoToken, Token, is_for_loopback, is_from_elsewhere},
    reply::{self, Content, Reply},
    routes,
    watch::Watch,
};

/// Whoever has not sent a whole request by then is let go.
const SLOWEST_REQUEST: Duration = Duration::from_secs(30);
/// A page has a handful of connections; more than so many are somebody's mistake.
const MOST_CONNECTIONS: usize = 200;
/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 16 << 10;
/// Files are read by so many threads at most.
const READERS: usize = 4;
/// So many ports are tried for the next one that is free.
const PORTS_TRIED: u16 = 200;

/// What to serve, and where.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// A ledger, or a folder of ledgers.
    pub path: PathBuf,
    /// The address: this machine's own by default.
    pub host: IpAddr,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The token that opens the API, where there is to be one; an address that other machines reach has one in any case.
    pub token: Option<Token>,
}

impl Options {
    /// On this machine's own address, at the usual port.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().into(), host: [127, 0, 0, 1].into(), port: 8080, token: None }
    }
}

/// Why nothing is served.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum ServeError {
    #[error("{path}: {error}; give a ledger (STUDY.sgq) or a folder of them")]
    Path { path: String, error: io::Error },
    #[error("port {port} of {host} is taken{next}", next = .next.map(|port| format!(": --port {port} is free")).unwrap_or_default())]
    Taken { host: IpAddr, port: u16, next: Option<u16> },
    #[error(
        "cannot listen at {address}: {error}; --host names an address of this machine, and ports below 1024 are the system's"
    )]
    Listen { address: SocketAddr, error: io::Error },
    #[error(transparent)]
    Token(#[from] NoToken),
    #[error("the server cannot run: {0}")]
    Run(io::Error),
}

/// A server that listens.
///
/// ```no_run
/// use sgq_serve::{Options, Server};
///
/// let server = Server::bind(Options::new("study.sgq"))?;
/// println!("{}", server.url());
/// server.run()?;
/// # Ok::<(), sgq_serve::ServeError>(())
/// ```
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    served: Served,
    stop: Stop,
}

/// What requests are answered from.
#[derive(Clone)]
struct Served {
    watch: Arc<Watch>,
    token: Option<Arc<Token>>,
    is_loopback: bool,
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("is_loopback", &self.is_loopback).finish_non_exhaustive()
    }
}

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// Ends it at once, whoever is still connected.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Listens, and begins to watch the ledgers.
    pub fn bind(options: Options) -> Result<Self, ServeError> {
        let Options { path, host, port, token } = options;
        let watch = Watch::new(&path).map_err(|error| ServeError::Path { path: path.display().to_string(), error })?;
        let is_loopback = host.is_loopback();
        let token = match token {
            None if !is_loopback => Some(Token::random()?),
            token => token,
        };
        let address = SocketAddr::new(host, port);
        let listener = TcpListener::bind(address).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => ServeError::Taken { host, port, next: free_port(host, port) },
            _ => ServeError::Listen { address, error },
        })?;
        let address = listener.local_addr().map_err(ServeError::Run)?;
        let served = Served { watch, token: token.map(Arc::new), is_loopback };
        Ok(Self { listener, address, served, stop: Stop(Arc::new(watch::Sender::new(false))) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to open. A token is behind the `#`, which a browser keeps to itself.
    pub fn url(&self) -> String {
        let token = self.served.token.as_ref().map(|token| format!("#token={}", token.as_fragment()));
        format!("http://{}/{}", self.address, token.unwrap_or_default())
    }

    /// What ends it.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves until it is stopped.
    pub fn run(self) -> Result<(), ServeError> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(READERS).build().map_err(ServeError::Run)?;
        let result = runtime.block_on(self.serve());
        // Whoever is reading a file is not waited for.
        runtime.shutdown_background();
        result
    }

    async fn serve(self) -> Result<(), ServeError> {
        let Self { listener, served, stop, .. } = self;
        listener.set_nonblocking(true).map_err(ServeError::Run)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(ServeError::Run)?;
        let mut stopped = stop.0.subscribe();
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let accepted = {
                let mut stopped = pin!(stopped.wait_for(|stopped| *stopped));
                let mut accepted = pin!(listener.accept());
                std::future::poll_fn(|context| {
                    use std::task::Poll;
                    if stopped.as_mut().poll(context).is_ready() {
                        return Poll::Ready(None);
                    }
                    accepted.as_mut().poll(context).map(Some)
                })
                .await
            };
            let stream = match accepted {
                None => return Ok(()),
                Some(Ok((stream, _))) => stream,
                // Too many files are open, say: whoever is connected stays so.
                Some(Err(_)) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
            let served = served.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let served = served.clone();
                    async move { Ok::<_, Infallible>(served.answer(request).await) }
                });
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(SLOWEST_REQUEST).max_buf_size(LONGEST_HEAD);
                // Whoever hangs up has its reasons.
                let _ = http.serve_connection(TokioIo::new(stream), service).await;
                drop(place);
            });
        }
    }
}

impl Served {
    async fn answer(&self, request: Request<Incoming>) -> Reply {
        let is_head = request.method() == Method::HEAD;
        let mut reply = match self.refuse(&request) {
            Some(refusal) => refusal,
            None => routes::answer(&self.watch, &request).await,
        };
        if is_head {
            *reply.body_mut() = Content::Whole(None);
        }
        reply
    }

    /// Why a request has no answer, if so.
    fn refuse(&self, request: &Request<Incoming>) -> Option<Reply> {
        let (headers, method) = (request.headers(), request.method());
        if method != Method::GET && method != Method::HEAD {
            let mut refusal =
                reply::error(StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here: only GET and HEAD");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(refusal);
        }
        if !request.body().is_end_stream() {
            return Some(reply::error(StatusCode::BAD_REQUEST, "a request has no body here"));
        }
        if self.is_loopback && !is_for_loopback(headers) {
            let words = "this server is for this machine alone: open http://127.0.0.1 or http://localhost at its port";
            return Some(reply::error(StatusCode::MISDIRECTED_REQUEST, words));
        }
        if !request.uri().path().starts_with("/api/") {
            return None;
        }
        if is_from_elsewhere(headers) {
            return Some(reply::error(StatusCode::FORBIDDEN, "a page of another site may not read this"));
        }
        match &self.token {
            Some(token) if !token.is_in(headers) => {
                let words = "the token is missing or wrong: open the address that sgq serve has printed, with all that is behind its #";
                Some(reply::error(StatusCode::UNAUTHORIZED, words))
            }
            _ => None,
        }
    }
}

/// The next port that is free now.
fn free_port(host: IpAddr, taken: u16) -> Option<u16> {
    (1..=PORTS_TRIED).filter_map(|more| taken.checked_add(more)).find(|port| TcpListener::bind((host, *port)).is_ok())
}
