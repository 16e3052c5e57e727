//! Redaction of a text that comes in pieces.

use std::sync::Arc;

use super::incremental_scanner::IncrementalScanner;
use super::output::{Output, Span};
use super::{Counts, Redactor};

/// Masks a text that comes in pieces. What comes out, put together, is what
/// [`Firewall::redact_text`](crate::Firewall::redact_text) makes of the whole text, however it was
/// cut.
///
/// Up to 16 KiB are held back, since a value is known only when its surroundings are; memory does
/// not grow with the text.
///
/// ```
/// let firewall = weaver_firewall::Firewall::new();
/// let mut stream = firewall.stream();
/// let mut out = stream.push("mail jane.roe@co");
/// out += &stream.push("rp.example.com now");
/// out += &stream.finish();
/// assert_eq!(out, "mail [REDACTED] now");
/// ```
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    machine: IncrementalScanner,
    /// Input that is still needed, and the place of its first byte.
    held: String,
    origin: usize,
    counts: Counts,
    /// Where the values stood, if somebody wants to know.
    spans: Option<Vec<Span>>,
}

/// How much of a text that goes on is held back.
#[derive(Debug, Clone, Copy)]
enum Holdback {
    Window,
    OpenTail,
}

impl StreamRedactor {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            machine: IncrementalScanner::default(),
            held: String::new(),
            origin: 0,
            counts: Counts::new(),
            spans: None,
        }
    }

    /// The same, which remembers where each value stood: memory grows with the number of values.
    #[must_use]
    pub fn with_spans(self) -> Self {
        Self { spans: Some(Vec::new()), ..self }
    }

    /// Takes a piece, gives what is decided by now; it may be nothing.
    pub fn push(&mut self, piece: &str) -> String {
        self.push_with(piece, Holdback::Window)
    }

    /// The same, and gives all but the open tail of the text: for whoever watches it come.
    pub(crate) fn push_to_open_tail(&mut self, piece: &str) -> String {
        self.push_with(piece, Holdback::OpenTail)
    }

    fn push_with(&mut self, piece: &str, hold: Holdback) -> String {
        let mut decided = String::new();
        let mut rest = piece;
        // Large pieces are taken in parts, so that never more than two windows are held.
        while !rest.is_empty() {
            let (part, after) =
                rest.split_at(rest.floor_char_boundary(super::incremental_scanner::WINDOW));
            self.held.push_str(part);
            rest = after;
            let mut out = Output::new(&self.redactor, &mut self.counts, &mut decided)
                .with_spans(self.spans.as_mut());
            let Some(rules) = self.redactor.active() else {
                self.held.clear();
                out.all();
                continue;
            };
            let (machine, held) = (&mut self.machine, &self.held);
            let done = match hold {
                Holdback::Window => machine.push(rules, held, self.origin, &mut out),
                Holdback::OpenTail => machine.push_to_open_tail(rules, held, self.origin, &mut out),
            };
            self.held.drain(..done);
            self.origin += done;
        }
        decided
    }

    /// Gives the rest; the stream is over.
    pub fn finish(&mut self) -> String {
        let mut decided = String::new();
        let mut out = Output::new(&self.redactor, &mut self.counts, &mut decided)
            .with_spans(self.spans.as_mut());
        if let Some(rules) = self.redactor.active() {
            self.machine.finish(rules, &self.held, self.origin, &mut out);
        }
        let fresh = Self::new(Arc::clone(&self.redactor));
        let (counts, spans) = (std::mem::take(&mut self.counts), self.spans.take());
        *self = Self { counts, spans, ..fresh };
        decided
    }

    /// Where the values stood that were masked so far, in bytes of the whole input; nothing unless
    /// [`StreamRedactor::with_spans`] was asked for. The last one may still grow.
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
        let run = "x".repeat(40_000);
        let text = format!("\u{e9} mail jane.roe@corp.example.com {run} password=hunter2!");
        let spans = firewall.spans(&text);
        assert!(spans.len() >= 3 && spans.iter().any(|span| span.range.len() > 20_000));
        for size in [1_000, 20_000, 100_000] {
            let mut stream = firewall.stream().with_spans();
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
                stream.push(piece);
                rest = after;
            }
            stream.finish();
            assert_eq!(stream.spans(), spans, "{size}");
        }
        let mut plain = firewall.stream();
        plain.push(&text);
        assert!(plain.spans().is_empty(), "nobody asked");
    }
}
