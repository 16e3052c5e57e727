//! Lines in, lines out: nothing but the protocol on stdout, every buffer bounded.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdin};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::dispatch::Session;
use super::error::ServeError;
use super::gateway::Gateway;
use super::message::{self, Incoming, Request, RpcError, code};

/// The longest line that is read, in bytes.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// How many requests are worked on at once.
const MAX_IN_FLIGHT: usize = 256;
/// How many answers wait for a slow reader.
const MAX_OUTBOX: usize = 256;
/// How long calls under way may take after stdin has ended.
const GRACE: Duration = Duration::from_secs(10);

/// Serves one client until stdin ends.
pub(crate) async fn serve(gateway: &Arc<Gateway>) -> Result<(), ServeError> {
    let (outbox, inbox) = mpsc::channel::<Vec<u8>>(MAX_OUTBOX);
    let writer = tokio::spawn(write_all(inbox));
    let session = Arc::new(Session::default());
    let notices =
        tokio::spawn(tell_changes(Arc::clone(gateway), Arc::clone(&session), outbox.clone()));
    let places = Arc::new(Semaphore::new(MAX_IN_FLIGHT));
    let client =
        Client { gateway: Arc::clone(gateway), session, outbox, open: Arc::default(), places };
    let mut reader = BufReader::with_capacity(64 * 1024, tokio::io::stdin());
    let ended = loop {
        match read_line(&mut reader).await {
            Ok(Some(Line::Whole(line))) => client.take(&line).await,
            Ok(Some(Line::TooLong)) => client.too_long().await,
            Ok(None) => break Ok(()),
            Err(error) => break Err(ServeError::Pipe { problem: error.to_string() }),
        }
    };
    // Every call under way ends, and its end is recorded, before the pipes close.
    let everyone = client.places.acquire_many(u32::try_from(MAX_IN_FLIGHT).unwrap_or(u32::MAX));
    let _ = tokio::time::timeout(GRACE, everyone).await;
    notices.abort();
    drop(client);
    let _ = tokio::time::timeout(GRACE, writer).await;
    ended
}

enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// The next line that is not blank. One that is too long is passed over to its end.
async fn read_line(reader: &mut BufReader<Stdin>) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let buffer = reader.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(if line.is_empty() { None } else { Some(Line::Whole(line)) });
        }
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let taken = newline.map_or(buffer.len(), |at| at + 1);
        if !too_long {
            line.extend(buffer.iter().take(newline.unwrap_or(taken)));
        }
        reader.consume(taken);
        if line.len() > MAX_LINE {
            too_long = true;
            line = Vec::new();
        }
        if newline.is_some() {
            if too_long {
                return Ok(Some(Line::TooLong));
            }
            if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                return Ok(Some(Line::Whole(line)));
            }
            line.clear();
        }
    }
}

async fn write_all(mut inbox: mpsc::Receiver<Vec<u8>>) {
    let mut stdout = tokio::io::stdout();
    while let Some(line) = inbox.recv().await {
        let mut ok = stdout.write_all(&line).await.is_ok();
        while let Ok(line) = inbox.try_recv() {
            ok = ok && stdout.write_all(&line).await.is_ok();
        }
        if !ok || stdout.flush().await.is_err() {
            // The client is gone; what it asked for is recorded all the same.
            inbox.close();
        }
    }
}

async fn tell_changes(gateway: Arc<Gateway>, session: Arc<Session>, outbox: mpsc::Sender<Vec<u8>>) {
    let Some(mut changes) = gateway.changes() else { return };
    while changes.recv().await.is_some() {
        if session.wants_changes(&gateway)
            && outbox.send(message::notification("notifications/tools/list_changed")).await.is_err()
        {
            return;
        }
    }
}

struct Client {
    gateway: Arc<Gateway>,
    session: Arc<Session>,
    outbox: mpsc::Sender<Vec<u8>>,
    /// The ids of requests that are worked on and not cancelled.
    open: Arc<Mutex<BTreeSet<String>>>,
    places: Arc<Semaphore>,
}

impl Client {
    async fn take(&self, line: &[u8]) {
        match message::read(line) {
            Incoming::Response => {}
            Incoming::Malformed { id, error } => self.send(message::answer(&id, Err(error))).await,
            Incoming::Notification { method, params } => {
                self.notice(&method, params.get("requestId"))
            }
            Incoming::Request(request) => self.begin(request).await,
        }
    }

    async fn too_long(&self) {
        let problem = format!("a line is longer than {MAX_LINE} bytes; it was not read");
        self.send(message::answer(
            &Value::Null,
            Err(RpcError::new(code::INVALID_REQUEST, problem)),
        ))
        .await;
    }

    /// A cancelled call goes on, and its end is recorded; only its answer is not sent.
    fn notice(&self, method: &str, id: Option<&Value>) {
        match (method, id) {
            ("notifications/cancelled", Some(id)) => {
                if let Ok(mut open) = self.open.lock() {
                    open.remove(&id.to_string());
                }
            }
            ("notifications/initialized", _) => self.session.initialized(),
            _ => {}
        }
    }

    async fn begin(&self, request: Request) {
        let name = request.id.to_string();
        let refuse = |problem: &str| {
            message::answer(&request.id, Err(RpcError::new(code::INVALID_REQUEST, problem)))
        };
        let fresh = self.open.lock().is_ok_and(|mut open| open.insert(name.clone()));
        if !fresh {
            return self.send(refuse("a request with this id is being worked on")).await;
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            if let Ok(mut open) = self.open.lock() {
                open.remove(&name);
            }
            return self.send(refuse("too many requests at once; wait for answers")).await;
        };
        // A handshake is answered before the next line is read.
        if matches!(request.method.as_str(), "initialize" | "server/discover" | "ping") {
            work(self.work(name, place), request).await;
        } else {
            tokio::spawn(work(self.work(name, place), request));
        }
    }

    fn work(&self, name: String, place: OwnedSemaphorePermit) -> Work {
        Work {
            gateway: Arc::clone(&self.gateway),
            session: Arc::clone(&self.session),
            outbox: self.outbox.clone(),
            open: Arc::clone(&self.open),
            name,
            _place: place,
        }
    }

    async fn send(&self, line: Vec<u8>) {
        let _ = self.outbox.send(line).await;
    }
}

/// One request under way.
struct Work {
    gateway: Arc<Gateway>,
    session: Arc<Session>,
    outbox: mpsc::Sender<Vec<u8>>,
    open: Arc<Mutex<BTreeSet<String>>>,
    name: String,
    _place: OwnedSemaphorePermit,
}

async fn work(work: Work, request: Request) {
    let id = request.id.clone();
    let outcome = work.session.answer(&work.gateway, request).await;
    let wanted = work.open.lock().is_ok_and(|mut open| open.remove(&work.name));
    if wanted {
        let _ = work.outbox.send(message::answer(&id, outcome)).await;
    }
}
