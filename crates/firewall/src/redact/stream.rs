//! Redaction of a text that comes in pieces.

use std::sync::Arc;

use super::machine::Machine;
use super::output::Output;
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
    machine: Machine,
    /// Input that is still needed, and the place of its first byte.
    held: String,
    origin: usize,
    counts: Counts,
}

impl StreamRedactor {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            machine: Machine::default(),
            held: String::new(),
            origin: 0,
            counts: Counts::new(),
        }
    }

    /// Takes a piece, gives what is decided by now; it may be nothing.
    pub fn push(&mut self, piece: &str) -> String {
        let mut decided = String::new();
        let mut rest = piece;
        // Large pieces are taken in parts, so that never more than two windows are held.
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.floor_char_boundary(super::machine::WINDOW));
            self.held.push_str(part);
            rest = after;
            let mut out = Output::new(&self.redactor, &mut self.counts, &mut decided);
            let Some(engine) = self.redactor.engine() else {
                self.held.clear();
                out.all();
                continue;
            };
            let done = self.machine.push(engine, &self.held, self.origin, &mut out);
            self.held.drain(..done);
            self.origin += done;
        }
        decided
    }

    /// Gives the rest; the stream is over.
    pub fn finish(&mut self) -> String {
        let mut decided = String::new();
        let mut out = Output::new(&self.redactor, &mut self.counts, &mut decided);
        if let Some(engine) = self.redactor.engine() {
            self.machine.finish(engine, &self.held, self.origin, &mut out);
        }
        *self =
            Self { counts: std::mem::take(&mut self.counts), ..Self::new(self.redactor.clone()) };
        decided
    }

    /// How many values of each kind were masked so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}
