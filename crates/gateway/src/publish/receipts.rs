//! Receipts of calls, made as soon as a client asks for one with its call.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use weaver_trace_store::SqliteLedger;
use weaver_trace_store::checkpoint::{CheckpointError, Note, Receipt, events_of_call_since};
use weaver_types::CallId;
use weaver_types::ledger::Ledger as _;

/// How many receipts are waited for at once.
pub(super) const MAX_WAITING: usize = 64;
/// The most events that are looked through for those of one call.
const MAX_EVENTS: u64 = 100_000;

/// A receipt that is asked for.
pub(super) struct ReceiptRequest {
    pub(super) call: CallId,
    /// How many events the log had before the call.
    pub(super) since: u64,
    pub(super) tell: oneshot::Sender<Receipt>,
}

/// Has the keeper of the log make receipts.
#[derive(Clone)]
pub(crate) struct ReceiptClient {
    ledger: Arc<SqliteLedger>,
    requests: mpsc::Sender<ReceiptRequest>,
}

/// The log before a call.
pub(crate) struct LogPosition(u64);

impl ReceiptClient {
    pub(super) fn new(ledger: &Arc<SqliteLedger>, requests: mpsc::Sender<ReceiptRequest>) -> Self {
        Self { ledger: Arc::clone(ledger), requests }
    }

    /// Notes how far the log is before a call begins.
    pub(crate) fn before_call(&self) -> Option<LogPosition> {
        self.ledger.head().ok().map(|head| LogPosition(head.size))
    }

    /// The receipt of a call that has ended: its events, under a checkpoint that is signed for it.
    /// `None` where the log cannot be signed now.
    pub(crate) async fn issue(&self, call: CallId, before: LogPosition) -> Option<Value> {
        let (tell, told) = oneshot::channel();
        let request = ReceiptRequest { call, since: before.0, tell };
        self.requests.send(request).await.ok()?;
        let receipt = told.await.ok()?;
        serde_json::from_slice(&receipt.to_bytes().ok()?).ok()
    }
}

/// The receipt of a call under a checkpoint of the log. Payloads are not in it.
pub(super) fn receipt_of(
    log: &SqliteLedger,
    note: &Note,
    size: u64,
    request: &ReceiptRequest,
) -> Result<Receipt, CheckpointError> {
    let since = request.since.max(size.saturating_sub(MAX_EVENTS));
    let places = events_of_call_since(log, &request.call, since..size)?;
    Receipt::make(log, note, &request.call, &places, false)
}
