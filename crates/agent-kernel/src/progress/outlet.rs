//! Where the progress of one call goes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weaver_firewall::Firewall;
use weaver_types::{Progress, ProgressSink};

use super::{ProgressSlot, ProgressUpdate, append_bounded};

/// The longest message that is forwarded, in characters.
const MAX_MESSAGE_CHARS: usize = 200;
/// How much of the previous messages is redacted together with a message, in bytes.
const MAX_CONTEXT_BYTES: usize = 1_024;

/// Where the progress of one call goes.
pub(crate) struct ProgressOutlet {
    /// Where the driver puts its reports.
    pub(crate) slot: Arc<ProgressSlot>,
    sink: ProgressSink,
    /// Whether a message was forwarded.
    has_shown_message: AtomicBool,
    /// The end of all messages so far, unredacted.
    previous_messages: Mutex<String>,
}

impl ProgressOutlet {
    pub(crate) fn new(sink: ProgressSink) -> Self {
        Self {
            slot: Arc::default(),
            sink,
            has_shown_message: AtomicBool::new(false),
            previous_messages: Mutex::default(),
        }
    }

    /// True when a message was forwarded, so that text of the tool was shown.
    pub(crate) fn has_shown_message(&self) -> bool {
        self.has_shown_message.load(Ordering::Relaxed)
    }

    /// Forwards progress; the message only when there is a firewall to redact it.
    pub(crate) fn forward(&self, update: ProgressUpdate, firewall: Option<&Firewall>) {
        let ProgressUpdate { report, skipped } = update;
        let message = report.message.zip(firewall).map(|(text, firewall)| {
            let mut previous =
                self.previous_messages.lock().unwrap_or_else(PoisonError::into_inner);
            append_bounded(&mut previous, &skipped, MAX_CONTEXT_BYTES);
            let shown = redacted_message(firewall, &previous, &text);
            append_bounded(&mut previous, &text, MAX_CONTEXT_BYTES);
            shown
        });
        if message.is_some() {
            self.has_shown_message.store(true, Ordering::Relaxed);
        }
        (self.sink)(Progress { message, ..report });
    }
}

/// A message as it is shown. It is redacted before it is cut, since a cut secret would not be
/// recognised. A secret that continues from earlier messages is masked too.
fn redacted_message(firewall: &Firewall, previous: &str, text: &str) -> String {
    let masked = firewall.redact_continued(previous, text);
    weaver_text::escape::line(masked.trim_end_matches('\n'))
        .chars()
        .take(MAX_MESSAGE_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_redacted_before_it_is_cut() {
        let secret = "ghp_x7Kq2mV9tRb4Lw8ZpN3sYd6FhJ1cGu5Ae0Xi";
        for previous in [0, 150, 190, 198] {
            let text = format!("{}{secret} {secret}\n", "x ".repeat(previous / 2));
            let shown = redacted_message(&Firewall::new(), "", &text);
            assert!(!shown.contains("ghp_") && !shown.contains("x7Kq"), "{shown}");
            assert!(shown.chars().count() <= MAX_MESSAGE_CHARS && !shown.contains('\n'));
        }
        let spread =
            redacted_message(&Firewall::new(), "step 1: mail jane.roe@", "corp.example.com done");
        assert_eq!(spread, "[REDACTED] done");
        assert_eq!(redacted_message(&Firewall::new(), "password: ", "hunter2!"), "[REDACTED]");
        let line =
            redacted_message(&Firewall::new(), "one for jane.roe@corp.example.com\n", "two\n");
        assert_eq!(line, "two", "a line is not a piece of the one before it");
        assert_eq!(redacted_message(&Firewall::new(), "step 1 of 3", "step 2 of 3"), "step 2 of 3");
        let next =
            redacted_message(&Firewall::new(), "mail to jane.roe@corp.example.com", "Done, 2 of 3");
        assert_eq!(next, "Done, 2 of 3", "a sentence is not a piece of an address");
        assert_eq!(
            redacted_message(&Firewall::new(), "", "a\u{1b}[2J\tb\u{202e}"),
            "a\\u{1b}[2J\\tb\\u{202e}"
        );
    }
}
