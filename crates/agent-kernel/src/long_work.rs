//! Work that computes for long and waits for nothing, such as masking a large result.

use std::sync::Arc;

use serde_json::Value;
use weaver_types::RawContent;

/// Calls the work that it is given, once, in a way that keeps none of the host's other tasks
/// waiting: with tokio, within `block_in_place`. It may call it on another thread.
pub type LongWork = Arc<dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync>;

/// From how many bytes of a result on it takes long. Less is masked within a millisecond or two.
const LONG_BYTES: usize = 128 * 1024;
/// What a number, a sign or a brace of JSON counts, in bytes.
const NODE_BYTES: usize = 8;

/// Whether the work on a result of this size takes long.
pub(crate) fn is_long(bytes: u64) -> bool {
    usize::try_from(bytes).map_or(true, |bytes| bytes >= LONG_BYTES)
}

/// Whether the work on this content takes long.
pub(crate) fn is_long_content(content: &RawContent) -> bool {
    match content {
        RawContent::Json(value) => bytes_left_after(value, LONG_BYTES).is_none(),
        RawContent::Rows(rows) => rows.text().len() >= LONG_BYTES,
        RawContent::Text(text) => text.len() >= LONG_BYTES,
        RawContent::Binary { bytes, .. } => bytes.len() >= LONG_BYTES,
    }
}

/// What is left of so many bytes after a value; `None` if it needs more.
fn bytes_left_after(value: &Value, bytes: usize) -> Option<usize> {
    let left = match value {
        Value::String(text) => bytes.checked_sub(text.len())?,
        Value::Array(items) => {
            items.iter().try_fold(bytes, |left, item| bytes_left_after(item, left))?
        }
        Value::Object(fields) => fields.iter().try_fold(bytes, |left, (name, value)| {
            bytes_left_after(value, left.checked_sub(name.len())?)
        })?,
        Value::Null | Value::Bool(_) | Value::Number(_) => bytes,
    };
    left.checked_sub(NODE_BYTES)
}

/// Runs work, by the host if it takes long; `None` only if the host did not call it.
pub(crate) fn run<T: Send>(
    host: Option<&LongWork>,
    is_long: bool,
    work: impl FnOnce() -> T + Send,
) -> Option<T> {
    let Some(host) = host.filter(|_| is_long) else { return Some(work()) };
    let (mut work, mut done) = (Some(work), None);
    host(&mut || {
        if let Some(work) = work.take() {
            done = Some(work());
        }
    });
    done
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_host_runs_what_is_long_and_nothing_else() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let host: LongWork = Arc::new(move |work| {
            counted.fetch_add(1, Ordering::SeqCst);
            work();
            work();
        });
        assert_eq!(run(Some(&host), false, || 1), Some(1));
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        assert_eq!(run(Some(&host), true, || 2), Some(2));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert_eq!(run(None, true, || 3), Some(3));
        let idle: LongWork = Arc::new(|_| ());
        assert_eq!(run(Some(&idle), true, || 4), None);
    }

    #[test]
    fn large_content_takes_long_in_whatever_form() {
        let rows = |count: usize| vec![serde_json::json!({ "id": 1, "name": "x" }); count].into();
        assert!(!is_long_content(&RawContent::Json(rows(100))));
        assert!(is_long_content(&RawContent::Json(rows(10_000))));
        assert!(!is_long_content(&RawContent::Text("x".repeat(LONG_BYTES - 1))));
        assert!(is_long_content(&RawContent::Text("x".repeat(LONG_BYTES))));
    }
}
