//! What an MCP server says of the progress of a call, as rows of a stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use weaver_types::{Progress, RawChunk};

use crate::chunk_task::Chunks;

/// The longest message of progress that is passed into a stream, in bytes.
const MAX_MESSAGE: usize = 4_096;
/// How many of them wait for whoever reads the stream.
pub(crate) const MAX_MESSAGES: usize = 64;
/// The word that says that messages of progress were dropped.
pub(crate) const MESSAGES_LOST: &str = "messages_omitted";

/// Messages of progress on their way into a stream. Sending never blocks: where the queue is full a
/// message is dropped, which `has_lost` reports.
pub(crate) struct ProgressMessages {
    chunks: Chunks,
    lost: Arc<AtomicBool>,
}

impl ProgressMessages {
    pub(crate) fn new(chunks: Chunks) -> Self {
        Self { chunks, lost: Arc::default() }
    }

    /// What a call tells of its progress.
    pub(crate) fn sink(&self) -> impl Fn(Progress) + Send + Sync + 'static {
        let (chunks, lost) = (self.chunks.downgrade(), Arc::clone(&self.lost));
        move |progress| {
            let (Some(message), Some(chunks)) = (progress.message, chunks.upgrade()) else {
                return;
            };
            let too_long = message.len() > MAX_MESSAGE;
            // A row of its own: rows are read on, so that a value may not be spread over messages.
            let row = RawChunk::Json(Value::String(message));
            if too_long || chunks.try_send(row).is_err() {
                lost.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Whether messages were dropped.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}
