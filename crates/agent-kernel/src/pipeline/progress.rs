//! Progress of a call under way, as its caller gets it.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weaver_firewall::Firewall;
use weaver_types::{Progress, ProgressSink, ResponseMode};

use super::authorized_invocation::AuthorizedInvocation;
use crate::kernel::Kernel;
use crate::progress::{ProgressRate, ProgressSlot, ProgressUpdate, keep_end};

/// The longest message that is passed on, in characters.
const MAX_MESSAGE: usize = 200;
/// How much of what was said before is read with a message, in bytes.
const MAX_BEFORE: usize = 1_024;

/// Where the progress of one call goes.
pub(crate) struct ProgressOutlet {
    /// Where the driver leaves it.
    pub(crate) slot: Arc<ProgressSlot>,
    sink: ProgressSink,
    /// A message was passed on.
    reported: AtomicBool,
    /// The end of all messages so far, as the driver gave them.
    before: Mutex<String>,
}

impl ProgressOutlet {
    pub(crate) fn new(sink: ProgressSink) -> Self {
        Self {
            slot: Arc::default(),
            sink,
            reported: AtomicBool::new(false),
            before: Mutex::default(),
        }
    }

    /// True when a message was passed on: words of the tool were shown.
    pub(crate) fn has_reported(&self) -> bool {
        self.reported.load(Ordering::Relaxed)
    }

    /// Reports progress; its message only where there is a firewall to redact it.
    fn pass_on(&self, taken: ProgressUpdate, firewall: Option<&Firewall>) {
        let ProgressUpdate { report, skipped } = taken;
        let message = report.message.zip(firewall).map(|(said, firewall)| {
            let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
            keep_end(&mut before, &skipped, MAX_BEFORE);
            let shown = message(firewall, &before, &said);
            keep_end(&mut before, &said, MAX_BEFORE);
            shown
        });
        if message.is_some() {
            self.reported.store(true, Ordering::Relaxed);
        }
        (self.sink)(Progress { message, ..report });
    }
}

impl Kernel {
    /// The output of `work`, which executes the call. What its driver reports meanwhile goes to
    /// whoever asked for progress, the last of it before this is done.
    ///
    /// The model sees no raw output (I-01): a message passes the redactor that makes the run's
    /// frames, with the same masks, personal data masked whatever the contract says, as in errors. It
    /// is one line without hidden characters, and short. Where the call may show no texts
    /// (`summary`, `handle_only`), it is left out. The run has taken on the label of such words with
    /// the intent, before any of them is shown.
    pub(crate) async fn with_progress<F: Future>(
        &self,
        ready: &AuthorizedInvocation<'_>,
        work: F,
    ) -> F::Output {
        let Some(outlet) = &ready.progress else { return work.await };
        // In a box: few calls have it, and all would be moved with its room.
        Box::pin(self.passing_on(ready, outlet, work)).await
    }

    async fn passing_on<F: Future>(
        &self,
        ready: &AuthorizedInvocation<'_>,
        outlet: &ProgressOutlet,
        work: F,
    ) -> F::Output {
        let firewall = self.firewall_for(ready, None);
        let shows_texts = ready.effective_mode() <= ResponseMode::Table;
        let redactor = shows_texts.then_some(firewall.as_ref());
        let show = |taken| outlet.pass_on(taken, redactor);
        ProgressRate::default().showing(work, &outlet.slot, show, self.timer.as_ref()).await
    }
}

/// A message as it is shown. It is redacted first: a secret that is cut in two is not recognised.
/// What it goes on with from the messages before it is masked too.
fn message(firewall: &Firewall, before: &str, said: &str) -> String {
    let masked = firewall.redact_continued(before, said);
    weaver_text::escape::line(masked.trim_end_matches('\n')).chars().take(MAX_MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_redacted_before_it_is_cut() {
        let secret = "ghp_x7Kq2mV9tRb4Lw8ZpN3sYd6FhJ1cGu5Ae0Xi";
        for before in [0, 150, 190, 198] {
            let said = format!("{}{secret} {secret}\n", "x ".repeat(before / 2));
            let shown = message(&Firewall::new(), "", &said);
            assert!(!shown.contains("ghp_") && !shown.contains("x7Kq"), "{shown}");
            assert!(shown.chars().count() <= MAX_MESSAGE && !shown.contains('\n'));
        }
        let spread = message(&Firewall::new(), "step 1: mail jane.roe@", "corp.example.com done");
        assert_eq!(spread, "[REDACTED] done");
        assert_eq!(message(&Firewall::new(), "password: ", "hunter2!"), "[REDACTED]");
        let line = message(&Firewall::new(), "one for jane.roe@corp.example.com\n", "two\n");
        assert_eq!(line, "two", "a line is no piece of the one before it");
        assert_eq!(message(&Firewall::new(), "step 1 of 3", "step 2 of 3"), "step 2 of 3");
        assert_eq!(
            message(&Firewall::new(), "", "a\u{1b}[2J\tb\u{202e}"),
            "a\\u{1b}[2J\\tb\\u{202e}"
        );
    }
}
