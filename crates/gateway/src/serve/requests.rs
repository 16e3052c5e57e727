//! The requests under way: each answered exactly once, unless the client cancels it; bounded in
//! number and in bytes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use weaver_types::ProgressSink;

use super::call::Manner;
use super::call_progress;
use super::dispatch::Session;
use super::gateway::Gateway;
use super::lines::MAX_LINE;
use super::message::{self, Incoming, Request, RpcError, code};
use super::wanted::{self, Wanted, Wanting};

/// How many requests are worked on at once.
const MAX_IN_FLIGHT: u32 = 256;
/// How many kibibytes of lines are worked on at once.
const MAX_KIB: u32 = 64 * 1024;

/// The requests of one client.
pub(crate) struct Requests {
    gateway: Arc<Gateway>,
    session: Arc<Session>,
    outbox: mpsc::Sender<Vec<u8>>,
    open: Arc<Open>,
    places: Arc<Semaphore>,
    room: Arc<Semaphore>,
}

/// The ids that are worked on and not cancelled. An id that was cancelled may be used again while
/// its first request is still under way, so each request has a number of its own.
#[derive(Default)]
struct Open(Mutex<Numbers>);

#[derive(Default)]
struct Numbers {
    last: u64,
    by_id: BTreeMap<String, (u64, Wanting)>,
}

impl Open {
    /// The number of a fresh request; `None` when its id is taken.
    fn begin(&self, id: &str) -> Option<(u64, Wanted)> {
        let mut open = self.0.lock().ok()?;
        if open.by_id.contains_key(id) {
            return None;
        }
        open.last += 1;
        let number = open.last;
        let (wanting, wanted) = wanted::pair();
        open.by_id.insert(id.to_owned(), (number, wanting));
        Some((number, wanted))
    }

    /// True while the request is still to be answered.
    fn is_open(&self, id: &str, number: u64) -> bool {
        let open = self.0.lock();
        open.is_ok_and(|open| open.by_id.get(id).is_some_and(|(current, _)| *current == number))
    }

    /// True when the request is still to be answered.
    fn end(&self, id: &str, number: u64) -> bool {
        let Ok(mut open) = self.0.lock() else { return false };
        let wanted = open.by_id.get(id).is_some_and(|(current, _)| *current == number);
        if wanted {
            open.by_id.remove(id);
        }
        wanted
    }

    fn cancel(&self, id: &str) {
        if let Ok(mut open) = self.0.lock() {
            open.by_id.remove(id);
        }
    }

    /// Nobody waits for people any more; every request is still answered.
    fn hurry(&self) {
        if let Ok(open) = self.0.lock() {
            open.by_id.values().for_each(|(_, wanting)| wanting.hurry());
        }
    }
}

impl Requests {
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        session: Arc<Session>,
        outbox: mpsc::Sender<Vec<u8>>,
    ) -> Self {
        let semaphore = |permits: u32| Arc::new(Semaphore::new(permits as usize));
        let (places, room) = (semaphore(MAX_IN_FLIGHT), semaphore(MAX_KIB));
        Self { gateway, session, outbox, open: Arc::default(), places, room }
    }

    /// Takes a line.
    pub(crate) async fn take(&self, line: &[u8]) {
        match message::read(line) {
            Incoming::Response => {}
            Incoming::Malformed { id, error } => self.send(message::answer(&id, Err(error))).await,
            Incoming::Notification { method, params } => {
                self.notice(&method, params.get("requestId"));
            }
            Incoming::Request(request) => self.begin(request, line.len()).await,
        }
    }

    /// Takes a line that was too long to be read.
    pub(crate) async fn too_long(&self) {
        let problem = format!("a line is longer than {MAX_LINE} bytes; it was not read");
        let error = RpcError::new(code::INVALID_REQUEST, problem);
        self.send(message::answer(&Value::Null, Err(error))).await;
    }

    /// Ends every wait for a person: the client has nothing more to say.
    pub(crate) fn hurry(&self) {
        self.open.hurry();
    }

    /// Waits until nothing is under way.
    pub(crate) async fn all_done(&self) {
        let _ = self.places.acquire_many(MAX_IN_FLIGHT).await;
    }

    /// A cancelled call goes on, and its end is recorded; only its answer is not sent.
    fn notice(&self, method: &str, id: Option<&Value>) {
        match (method, id) {
            ("notifications/cancelled", Some(id)) => self.open.cancel(&id.to_string()),
            ("notifications/initialized", _) => self.session.initialized(),
            _ => {}
        }
    }

    async fn begin(&self, request: Request, bytes: usize) {
        let refuse = |problem: &str| {
            message::answer(&request.id, Err(RpcError::new(code::INVALID_REQUEST, problem)))
        };
        let Some(permits) = self.room_for(bytes) else {
            return self.send(refuse("too many requests at once; wait for answers")).await;
        };
        let name = request.id.to_string();
        let Some((number, wanted)) = self.open.begin(&name) else {
            return self.send(refuse("a request with this id is being worked on")).await;
        };
        let work = Work {
            gateway: Arc::clone(&self.gateway),
            session: Arc::clone(&self.session),
            outbox: self.outbox.clone(),
            open: Arc::clone(&self.open),
            name,
            number,
            wanted,
            _permits: permits,
        };
        // A handshake is answered before the next line is read.
        if matches!(request.method.as_str(), "initialize" | "server/discover" | "ping") {
            work.run(request).await;
        } else {
            tokio::spawn(work.run(request));
        }
    }

    fn room_for(&self, bytes: usize) -> Option<[OwnedSemaphorePermit; 2]> {
        let kib = u32::try_from(bytes / 1024).ok()?.saturating_add(1);
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let room = Arc::clone(&self.room).try_acquire_many_owned(kib).ok()?;
        Some([place, room])
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
    open: Arc<Open>,
    name: String,
    number: u64,
    wanted: Wanted,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Work {
    async fn run(self, request: Request) {
        let id = request.id.clone();
        let (gateway, session) = (Arc::clone(&self.gateway), Arc::clone(&self.session));
        let progress = call_progress::token(&request.params).map(|token| self.tell(token));
        let manner = Manner { flaw: None, wanted: self.wanted.clone(), progress };
        // In a task of its own, so that a fault in it is answered too.
        let answering =
            tokio::spawn(async move { session.answer(&gateway, request, manner).await });
        let outcome = answering.await.unwrap_or_else(|_| {
            tracing::error!("a request ended without an answer");
            Err(RpcError::new(code::INTERNAL, "the request failed inside"))
        });
        if self.open.end(&self.name, self.number) {
            let _ = self.outbox.send(message::answer(&id, outcome)).await;
        }
    }

    /// Tells the client under its token how far the request is, until it is answered or cancelled.
    /// One that reads too slowly misses some of it, and no call waits for it.
    fn tell(&self, token: &Value) -> ProgressSink {
        let (open, outbox) = (Arc::clone(&self.open), self.outbox.clone());
        let (name, number, token) = (self.name.clone(), self.number, token.clone());
        Arc::new(move |progress| {
            if open.is_open(&name, number) {
                let _ = outbox.try_send(call_progress::line(&token, progress));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_request_never_ends_the_next_of_the_same_id() {
        let open = Open::default();
        let (first, _) = open.begin("7").unwrap();
        assert!(open.begin("7").is_none(), "it is under way");
        open.cancel("7");
        let (second, _) = open.begin("7").unwrap();
        assert!(!open.end("7", first), "cancelled");
        assert!(open.end("7", second));
        assert!(!open.end("7", second), "answered already");
    }
}
