//! Receipts of calls, issued when a client asks for one together with its call.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use weaver_trace_store::SqliteLedger;
use weaver_trace_store::checkpoint::{
    CallReceipt, CheckpointError, SignedNote, events_of_call_since,
};
use weaver_types::CallId;
use weaver_types::ledger::Ledger as _;

/// How many receipt requests may be pending.
pub(super) const MAX_PENDING_RECEIPTS: usize = 64;
/// At most this many events are searched for those of one call.
const MAX_EVENTS: u64 = 100_000;

/// A request for the receipt of one call.
pub(super) struct ReceiptRequest {
    pub(super) call: CallId,
    /// The size of the log before the call.
    pub(super) since: u64,
    pub(super) reply_sender: oneshot::Sender<CallReceipt>,
}

/// Requests receipts from the publisher.
#[derive(Clone)]
pub(crate) struct ReceiptClient {
    ledger: Arc<SqliteLedger>,
    requests: mpsc::Sender<ReceiptRequest>,
}

/// The size of the log before a call.
pub(crate) struct LogPosition(u64);

impl ReceiptClient {
    pub(super) fn new(ledger: &Arc<SqliteLedger>, requests: mpsc::Sender<ReceiptRequest>) -> Self {
        Self { ledger: Arc::clone(ledger), requests }
    }

    /// The position of the log now, to be taken before a call begins.
    pub(crate) fn before_call(&self) -> Option<LogPosition> {
        self.ledger.head().ok().map(|head| LogPosition(head.size))
    }

    /// The receipt of a call that has ended: its events, under a checkpoint signed for it. `None`
    /// if the log cannot be signed now.
    pub(crate) async fn issue(&self, call: CallId, before: LogPosition) -> Option<Value> {
        let (reply_sender, reply) = oneshot::channel();
        let request = ReceiptRequest { call, since: before.0, reply_sender };
        self.requests.send(request).await.ok()?;
        let receipt = reply.await.ok()?;
        serde_json::from_slice(&receipt.to_bytes().ok()?).ok()
    }
}

/// The receipt of a call under a checkpoint of the log, without payloads.
pub(super) fn receipt_of(
    log: &SqliteLedger,
    note: &SignedNote,
    size: u64,
    request: &ReceiptRequest,
) -> Result<CallReceipt, CheckpointError> {
    let since = request.since.max(size.saturating_sub(MAX_EVENTS));
    let event_indices = events_of_call_since(log, &request.call, since..size)?;
    CallReceipt::make(log, note, &request.call, &event_indices, false)
}
