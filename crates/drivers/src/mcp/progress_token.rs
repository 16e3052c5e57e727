//! The tokens under which a server tells how far it is.
//!
//! A token outlives the request that named it: it is good for as long as the task that the server goes
//! on with, and for the same request made again with answers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use weaver_types::{Progress, ProgressSink};

/// How much progress a message is that counts nothing: next to none.
const STEP: f64 = 1e-6;

/// The tokens of one connection that are in use.
#[derive(Default)]
pub(crate) struct ProgressTokens(Mutex<BTreeMap<u64, TokenEntry>>);

/// What was told under a token, and to whom.
struct TokenEntry {
    sink: ProgressSink,
    furthest: f64,
}

/// A token in use, until it is dropped.
pub(crate) struct ProgressToken<'a> {
    tokens: &'a ProgressTokens,
    number: u64,
}

impl ProgressTokens {
    /// Has what is told under this number handed to `sink`.
    pub(crate) fn open(&self, number: u64, sink: ProgressSink) -> ProgressToken<'_> {
        self.lock().insert(number, TokenEntry { sink, furthest: 0.0 });
        ProgressToken { tokens: self, number }
    }

    /// Hands progress to the call that its token names. False when there is none.
    pub(crate) fn tell(&self, params: &Value) -> bool {
        let Some(number) = params.get("progressToken").and_then(number) else { return false };
        let Some(progress) = read(params) else { return false };
        self.tell_as(number, |_| progress)
    }

    fn tell_as(&self, number: u64, progress: impl FnOnce(f64) -> Progress) -> bool {
        let mut open = self.lock();
        let Some(entry) = open.get_mut(&number) else { return false };
        let progress = progress(entry.furthest);
        entry.furthest = entry.furthest.max(progress.progress);
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

    /// Tells what is known otherwise, as a step further than what was told before.
    pub(crate) fn tell(&self, message: &str) {
        self.tokens.tell_as(self.number, |furthest| Progress {
            progress: (furthest + STEP).max(furthest.next_up()),
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

fn number(token: &Value) -> Option<u64> {
    token.as_u64().or_else(|| token.as_str()?.parse().ok())
}

/// The content of a notification; `None` when `progress` is no number.
fn read(params: &Value) -> Option<Progress> {
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
        let token = tokens.open(7, sink);
        let say = |token: Value, progress: f64| {
            tokens.tell(&json!({ "progressToken": token, "progress": progress }))
        };
        token.tell("begun");
        assert!(say(json!(7), 3.0) && say(json!("7"), 4.0));
        token.tell("half way");
        assert!(!say(json!(8), 1.0) && !say(json!("x"), 1.0) && !tokens.tell(&json!({})));
        drop(token);
        assert!(!say(json!(7), 9.0));
        let told = told.lock().unwrap();
        assert_eq!(told[1..3], [3.0, 4.0]);
        assert!(told.len() == 4 && told.is_sorted_by(|one, next| one < next), "{told:?}");
    }
}
