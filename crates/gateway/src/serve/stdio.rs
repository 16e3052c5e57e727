//! One client on stdin and stdout; stdout carries protocol messages only.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::sync::mpsc;

use super::dispatch::Session;
use super::error::ServeError;
use super::gateway::Gateway;
use super::lines::{self, Line};
use super::message;
use super::notices;
use super::requests::Requests;
use super::subscriptions;

/// How many answers are queued for a slow reader.
const MAX_OUTBOX: usize = 64;
/// How long calls under way may take after stdin has ended. Clients commonly kill a server that is
/// still there after two seconds, and what came of its calls would not be recorded.
const GRACE: Duration = Duration::from_millis(800);
/// How long a request may go on waiting for a server that starts.
const STARTING: Duration = Duration::from_millis(700);
/// How long their ends may take to be recorded, and answers to be written.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// Serves one client until stdin ends.
pub(crate) async fn serve(gateway: &Arc<Gateway>) -> Result<(), ServeError> {
    let (outbox, inbox) = mpsc::channel::<Vec<u8>>(MAX_OUTBOX);
    let writer = tokio::spawn(lines::write(inbox));
    let session = Arc::new(Session::default());
    session.link.connect(outbox.clone());
    let _connected = gateway.upstreams.callers.connect(&session.link);
    let relayed = tokio::spawn(notices::relay(Arc::clone(gateway), Arc::clone(&session.link)));
    let link = Arc::clone(&session.link);
    let notices =
        tokio::spawn(tell_changes(Arc::clone(gateway), Arc::clone(&session), outbox.clone()));
    let requests = Requests::new(Arc::clone(gateway), session, outbox);
    let mut reader = BufReader::with_capacity(64 * 1024, tokio::io::stdin());
    let ended = loop {
        match lines::read(&mut reader).await {
            Ok(Some(Line::Whole(line))) => requests.take(&line).await,
            Ok(Some(Line::TooLong)) => requests.too_long().await,
            Ok(None) => break Ok(()),
            Err(error) => break Err(ServeError::Pipe { problem: error.to_string() }),
        }
    };
    requests.stop_waiting();
    // Every call under way ends, and its end is recorded, before the pipes close. What has not
    // ended by itself loses its server.
    let _ = tokio::time::timeout(STARTING, requests.all_done()).await;
    gateway.upstreams.stop_waiting();
    let _ = tokio::time::timeout(GRACE, requests.all_done()).await;
    gateway.upstreams.close().await;
    let _ = tokio::time::timeout(LAST_WRITES, requests.all_done()).await;
    notices.abort();
    relayed.abort();
    for address in link.unwatch_all() {
        subscriptions::unwatch(gateway, &address).await;
    }
    drop(requests);
    let _ = tokio::time::timeout(LAST_WRITES, writer).await;
    ended
}

async fn tell_changes(gateway: Arc<Gateway>, session: Arc<Session>, outbox: mpsc::Sender<Vec<u8>>) {
    let Some(mut changes) = gateway.changes() else { return };
    while changes.recv().await.is_some() {
        notices::tell_tools_changed(&session.link);
        if session.wants_changes(&gateway)
            && outbox.send(message::notification("notifications/tools/list_changed")).await.is_err()
        {
            return;
        }
    }
}
