//! Records events of the gateway itself.

use serde_json::{Map, Value};
use weaver_agent_kernel::Kernel;
use weaver_types::EventKind;

/// Builds the fields of an event.
pub(crate) fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Records an event. A failure is only logged, because the work must go on.
pub(crate) async fn record(kernel: &Kernel, kind: EventKind, fields: Map<String, Value>) {
    if let Err(error) = kernel.record_host_event(kind, fields).await {
        tracing::error!(%error, "an event could not be recorded");
    }
}
