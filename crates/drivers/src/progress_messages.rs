//! Turns the progress messages of an MCP call into rows of a stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use weaver_types::{Progress, RawChunk};

use crate::chunk_task::Chunks;

/// The longest progress message that is forwarded.
const MAX_MESSAGE_BYTES: usize = 4_096;
/// How many messages may wait for the stream's reader.
pub(crate) const MESSAGE_QUEUE_CAPACITY: usize = 64;
/// The finding that progress messages were dropped.
pub(crate) const MESSAGES_OMITTED: &str = "messages_omitted";

/// Forwards progress messages to a stream. Sending never blocks: if the queue is full, a message is
/// dropped, which `has_dropped` reports.
pub(crate) struct ProgressMessages {
    chunks: Chunks,
    dropped: Arc<AtomicBool>,
}

impl ProgressMessages {
    pub(crate) fn new(chunks: Chunks) -> Self {
        Self { chunks, dropped: Arc::default() }
    }

    /// A sink for the call's progress.
    pub(crate) fn sink(&self) -> impl Fn(Progress) + Send + Sync + 'static {
        let (chunks, dropped) = (self.chunks.downgrade(), Arc::clone(&self.dropped));
        move |progress| {
            let (Some(message), Some(chunks)) = (progress.message, chunks.upgrade()) else {
                return;
            };
            let too_long = message.len() > MAX_MESSAGE_BYTES;
            // Each message is a row of its own. Redaction scans across rows, so that a secret cannot be
            // hidden by splitting it over messages.
            let row = RawChunk::Json(Value::String(message));
            if too_long || chunks.try_send(row).is_err() {
                dropped.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Whether messages were dropped.
    pub(crate) fn has_dropped(&self) -> bool {
        self.dropped.load(Ordering::Relaxed)
    }
}
