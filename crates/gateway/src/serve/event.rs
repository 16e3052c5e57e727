//! Events that the gateway itself records: their fields, and recording one.

use serde_json::{Map, Value};
use weaver_agent_kernel::Kernel;
use weaver_types::EventKind;

/// The fields of an event.
pub(crate) fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Records an event. One that cannot be recorded stops nothing: the program's own log says so.
pub(crate) async fn note(kernel: &Kernel, kind: EventKind, fields: Map<String, Value>) {
    if let Err(error) = kernel.note(kind, fields).await {
        tracing::error!(%error, "an event could not be recorded");
    }
}
