//! The tokens under which a server reports progress.
//!
//! A token outlives the request that carried it: it remains valid for the task that the server turns the request into,
//! and for the same request retried with answers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use weaver_types::{Progress, ProgressSink};

/// The progress added by a message without a number: almost none, but progress must increase.
const MESSAGE_ONLY_STEP: f64 = 1e-6;

/// The tokens of one connection that are in use.
#[derive(Default)]
pub(crate) struct ProgressTokens(Mutex<BTreeMap<u64, TokenEntry>>);

/// The receiver of a token's reports, and the highest progress reported.
struct TokenEntry {
    sink: ProgressSink,
    max_progress: f64,
}

/// A progress token, registered until it is dropped.
pub(crate) struct ProgressToken<'a> {
    tokens: &'a ProgressTokens,
    number: u64,
}

impl ProgressTokens {
    /// Registers `number` as a token whose reports go to `sink`.
    pub(crate) fn register(&self, number: u64, sink: ProgressSink) -> ProgressToken<'_> {
        self.lock().insert(number, TokenEntry { sink, max_progress: 0.0 });
        ProgressToken { tokens: self, number }
    }

    /// Delivers a progress notification to the sink of its token. False if the token is unknown.
    pub(crate) fn deliver(&self, params: &Value) -> bool {
        let Some(number) = params.get("progressToken").and_then(parse_token) else {
            return false;
        };
        let Some(progress) = parse_progress(params) else { return false };
        self.deliver_to(number, |_| progress)
    }

    fn deliver_to(&self, number: u64, progress: impl FnOnce(f64) -> Progress) -> bool {
        let mut open = self.lock();
        let Some(entry) = open.get_mut(&number) else { return false };
        let progress = progress(entry.max_progress);
        entry.max_progress = entry.max_progress.max(progress.progress);
        let sink = ProgressSink::clone(&entry.sink);
        drop(open);
        sink(progress);
        true
    }

    /// The data stays consistent in every step, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, TokenEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgressToken<'_> {
    /// The token itself.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Reports a message without a number, as a minimal step beyond the progress so far.
    pub(crate) fn deliver(&self, message: &str) {
        self.tokens.deliver_to(self.number, |max_progress| Progress {
            progress: (max_progress + MESSAGE_ONLY_STEP).max(max_progress.next_up()),
            total: None,
            message: Some(message.to_owned()),
        });
    }
}

impl Drop for ProgressToken<'_> {
    fn drop(&mut self) {
        self.tokens.lock().remove(&self.number);
    }
}

fn parse_token(token: &Value) -> Option<u64> {
    token.as_u64().or_else(|| token.as_str()?.parse().ok())
}

/// The content of a progress notification; `None` if `progress` is not a number.
fn parse_progress(params: &Value) -> Option<Progress> {
    Some(Progress {
        progress: params.get("progress")?.as_f64()?,
        total: params.get("total").and_then(Value::as_f64),
        message: params.get("message").and_then(Value::as_str).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_is_good_until_it_is_dropped_and_messages_go_on_from_what_was_counted() {
        let (tokens, told) = (ProgressTokens::default(), Arc::<Mutex<Vec<f64>>>::default());
        let seen = Arc::clone(&told);
        let sink: ProgressSink =
            Arc::new(move |progress| seen.lock().unwrap().push(progress.progress));
        let token = tokens.register(7, sink);
        let say = |token: Value, progress: f64| {
            tokens.deliver(&json!({ "progressToken": token, "progress": progress }))
        };
        token.deliver("begun");
        assert!(say(json!(7), 3.0) && say(json!("7"), 4.0));
        token.deliver("half way");
        assert!(!say(json!(8), 1.0) && !say(json!("x"), 1.0) && !tokens.deliver(&json!({})));
        drop(token);
        assert!(!say(json!(7), 9.0));
        let told = told.lock().unwrap();
        assert_eq!(told[1..3], [3.0, 4.0]);
        assert!(told.len() == 4 && told.is_sorted_by(|one, next| one < next), "{told:?}");
    }
}
