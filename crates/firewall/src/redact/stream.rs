//! Redacts a text that arrives in pieces.

use std::sync::Arc;

use super::incremental_scanner::IncrementalScanner;
use super::masking_sinks::{MaskedOutput, Span};
use super::{Counts, Redactor};

/// Redacts a text that arrives in pieces. The concatenated output equals what
/// [`Firewall::redact_text`](crate::Firewall::redact_text) makes of the whole text, however it was
/// cut.
///
/// Up to 16 KiB are held back, because a value can be recognised only with its context. Memory does
/// not grow with the text.
///
/// ```
/// let firewall = weaver_firewall::Firewall::new();
/// let mut stream = firewall.stream_redactor();
/// let mut out = stream.push("mail jane.roe@co");
/// out += &stream.push("rp.example.com now");
/// out += &stream.finish();
/// assert_eq!(out, "mail [REDACTED] now");
/// ```
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    scanner: IncrementalScanner,
    /// Input that is still needed.
    pending_text: String,
    pending_start: usize,
    counts: Counts,
    /// The spans of the values, if requested.
    spans: Option<Vec<Span>>,
}

/// How much of a text that continues is held back.
#[derive(Debug, Clone, Copy)]
enum Holdback {
    Window,
    OpenTail,
}

impl StreamRedactor {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            scanner: IncrementalScanner::default(),
            pending_text: String::new(),
            pending_start: 0,
            counts: Counts::new(),
            spans: None,
        }
    }

    /// Also records the span of each value; memory then grows with the number of values.
    #[must_use]
    pub fn with_spans(self) -> Self {
        Self { spans: Some(Vec::new()), ..self }
    }

    /// Takes a piece and returns what is decided now, possibly nothing.
    pub fn push(&mut self, piece: &str) -> String {
        self.push_holding_back(piece, Holdback::Window)
    }

    /// Like [`Self::push`], but holds back only the open tail of the text, for readers who watch it
    /// arrive.
    pub(crate) fn push_to_open_tail(&mut self, piece: &str) -> String {
        self.push_holding_back(piece, Holdback::OpenTail)
    }

    fn push_holding_back(&mut self, piece: &str, hold: Holdback) -> String {
        let mut decided = String::new();
        let mut rest = piece;
        // Large pieces are processed in parts, so that never more than two windows are held.
        while !rest.is_empty() {
            let (part, after) =
                rest.split_at(rest.floor_char_boundary(super::incremental_scanner::WINDOW_BYTES));
            self.pending_text.push_str(part);
            rest = after;
            let mut out = MaskedOutput::new(&self.redactor, &mut self.counts, &mut decided)
                .with_spans(self.spans.as_mut());
            let Some(rules) = self.redactor.active_rules() else {
                self.pending_text.clear();
                out.mask_all();
                continue;
            };
            let (machine, held) = (&mut self.scanner, &self.pending_text);
            let done = match hold {
                Holdback::Window => machine.push(rules, held, self.pending_start, &mut out),
                Holdback::OpenTail => {
                    machine.push_to_open_tail(rules, held, self.pending_start, &mut out)
                }
            };
            self.pending_text.drain(..done);
            self.pending_start += done;
        }
        decided
    }

    /// Returns the rest; the stream is finished.
    pub fn finish(&mut self) -> String {
        let mut decided = String::new();
        let mut out = MaskedOutput::new(&self.redactor, &mut self.counts, &mut decided)
            .with_spans(self.spans.as_mut());
        if let Some(rules) = self.redactor.active_rules() {
            self.scanner.finish(rules, &self.pending_text, self.pending_start, &mut out);
        }
        let restarted = Self::new(Arc::clone(&self.redactor));
        let (counts, spans) = (std::mem::take(&mut self.counts), self.spans.take());
        *self = Self { counts, spans, ..restarted };
        decided
    }

    /// The spans masked so far, in bytes of the whole input; empty unless
    /// [`StreamRedactor::with_spans`] was used. The last span may still grow.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        self.spans.as_deref().unwrap_or_default()
    }

    /// How many values of each kind were masked so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use crate::Firewall;

    #[test]
    fn a_stream_remembers_the_places_that_the_whole_text_has() {
        let firewall = Firewall::new();
        let run = "q8Vn2LmZ7rKd".repeat(4_000);
        let text = format!(
            "\u{e9} mail jane.roe@corp.example.com\nAuthorization: Bearer {run} password=hunter2!"
        );
        let spans = firewall.value_spans(&text);
        assert!(spans.len() >= 3 && spans.iter().any(|span| span.range.len() > 20_000));
        for size in [1_000, 20_000, 100_000] {
            let mut stream = firewall.stream_redactor().with_spans();
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
                stream.push(piece);
                rest = after;
            }
            stream.finish();
            assert_eq!(stream.spans(), spans, "{size}");
        }
        let mut plain = firewall.stream_redactor();
        plain.push(&text);
        assert!(plain.spans().is_empty(), "nobody asked");
    }
}
