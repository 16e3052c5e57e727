//! The result pipeline: from a raw result to what is stored of it and what a model sees.
//!
//! ```text
//! result = validate ─ store behind a handle ─ redact, mark, bound (firewall) ─ label ─ provenance
//! view   = open the stored result ─ redact, mark, bound ─ label ─ record
//! ```

mod call_end;
mod frame;
pub(crate) mod result_label;
mod result_provenance;
mod run_firewall;
mod store;
mod validate_result;
mod view;

use std::sync::Arc;

use weaver_firewall::handle::HandleStore;
use weaver_types::ledger::BlobStore;

pub(crate) use call_end::{CallEnd, CallFailure, tool_result_of, unrecorded_end};
pub(crate) use view::{AuthorizedExpansion, view_label};

use crate::context::KernelContext;
use crate::recorder::RunRecorder;

/// Stores results and makes frames of them. Nothing raw leaves it.
pub(crate) struct ResultPipeline {
    context: Arc<KernelContext>,
    recorder: Arc<RunRecorder>,
    handles: HandleStore,
    blobs: Arc<dyn BlobStore>,
}

impl ResultPipeline {
    pub(crate) fn new(
        recorder: &Arc<RunRecorder>,
        handles: HandleStore,
        blobs: Arc<dyn BlobStore>,
    ) -> Self {
        let context = Arc::clone(&recorder.context);
        Self { context, recorder: Arc::clone(recorder), handles, blobs }
    }
}
