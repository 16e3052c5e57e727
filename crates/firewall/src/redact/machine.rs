//! The transducer: text in, in any pieces; what to keep and what to mask out.
//!
//! A sliding window with overlap: whether a place is masked depends on a bounded neighbourhood, so
//! a window that overlaps its neighbours by that much decides its own part as the whole text would.
//! A step owns [`STEP`] bytes, or a little more where it finds nothing, and sees [`BEHIND`] bytes
//! before and [`AHEAD`] bytes after them. Where steps begin depends on the text alone, and a whole text is
//! fed to the same machine at once: so text and stream agree, however the text is cut.

use std::ops::Range;

use super::engine::{ActiveRules, Detection, NEAR, union};
use super::{fixpoint, pem, run};

/// The bytes that one step decides about.
const STEP: usize = 14 * 1_024;
/// The bytes that it sees after them.
const AHEAD: usize = 2 * NEAR;
/// The bytes after a place that decide about it where no mask is near.
const CLEAR: usize = NEAR + NEAR / 2;
/// The bytes that it sees before them.
const BEHIND: usize = NEAR;
/// How much text is held back at most.
pub(crate) const WINDOW: usize = STEP + AHEAD;
/// A token run is shown up to so many bytes; what goes beyond is masked.
const LONGEST_RUN: usize = 16 * 1_024;

/// Where a machine writes.
pub(crate) trait Sink {
    /// Text that may be seen.
    fn keep(&mut self, text: &str);
    /// A value that may not. It stands at `at` in the input.
    fn mask(&mut self, at: usize, value: &str, rule: usize);
    /// The value masked last goes on for so many bytes.
    fn more(&mut self, bytes: usize);
}

/// Writes a part of a text with these values masked; `origin` is the text's place in the input.
pub(crate) fn write(
    text: &str,
    part: Range<usize>,
    origin: usize,
    found: &[Detection],
    sink: &mut impl Sink,
) {
    let mut at = part.start;
    for value in found {
        sink.keep(text.get(at..value.range.start).unwrap_or_default());
        let masked = text.get(value.range.clone()).unwrap_or_default();
        sink.mask(origin + value.range.start, masked, value.rule);
        at = value.range.end;
    }
    sink.keep(text.get(at..part.end).unwrap_or_default());
}

/// A mask that goes on beyond the step.
#[derive(Debug, Clone, Copy)]
enum OpenMask {
    /// To the end of the token run.
    Run,
    /// To the end of a PEM block, of which so many bytes were seen.
    Pem(usize),
}

/// The state between two steps.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    /// How much of the input is decided, in bytes.
    at: usize,
    /// The length of the token run that ends there.
    run: usize,
    open: Option<OpenMask>,
    /// Masks near there.
    masked: Vec<Range<usize>>,
}

impl Machine {
    /// Decides about a whole text.
    pub(crate) fn whole(rules: ActiveRules<'_>, text: &str, sink: &mut impl Sink) {
        let mut machine = Self::default();
        let done = machine.push(rules, text, 0, sink);
        machine.finish(rules, text.get(done..).unwrap_or_default(), done, sink);
    }

    /// Decides as much as can be decided about a text that goes on. `origin` is the place of the
    /// text's first byte in the input. Gives how many bytes of the text are not needed any more.
    pub(crate) fn push(
        &mut self,
        rules: ActiveRules<'_>,
        text: &str,
        origin: usize,
        sink: &mut impl Sink,
    ) -> usize {
        while origin + text.len() >= self.at + WINDOW {
            let start = text.floor_char_boundary(self.needed().saturating_sub(origin));
            let end = text.floor_char_boundary(self.at + WINDOW - origin);
            let Some(region) = text.get(start..end) else { break };
            self.step(rules, region, origin + start, false, sink);
        }
        text.floor_char_boundary(self.needed().saturating_sub(origin))
    }

    /// Decides about the rest.
    pub(crate) fn finish(
        &mut self,
        rules: ActiveRules<'_>,
        text: &str,
        origin: usize,
        sink: &mut impl Sink,
    ) {
        let start = text.floor_char_boundary(self.needed().saturating_sub(origin));
        let region = text.get(start..).unwrap_or_default();
        self.step(rules, region, origin + start, true, sink);
    }

    /// From where on the input is still needed. Within a long run the cut keeps the places of
    /// base64 groups.
    fn needed(&self) -> usize {
        let behind = if self.run > BEHIND { BEHIND + (self.run - BEHIND) % 4 } else { BEHIND };
        self.at.saturating_sub(behind)
    }

    fn step(
        &mut self,
        rules: ActiveRules<'_>,
        region: &str,
        origin: usize,
        last: bool,
        sink: &mut impl Sink,
    ) {
        let from = self.at - origin;
        let mut owned = if last { region.len() } else { region.floor_char_boundary(from + STEP) };
        let mut at = from;
        if let Some(open) = self.open.take() {
            at = self.swallow(open, region, from..owned, last);
            sink.more(at - from);
            self.masked.push(self.at..origin + at);
        }
        if at < owned {
            let mut found = self.found(rules, region, origin, at);
            if !last && found.iter().all(|f| f.range.end + CLEAR < owned) {
                owned = region.floor_char_boundary(region.len().saturating_sub(CLEAR)).max(owned);
            }
            found.retain(|f| f.range.end > at && f.range.start < owned);
            for value in &mut found {
                value.range.start = value.range.start.max(at);
                value.range.end = self.close(rules, value, region, owned, last);
                self.masked.push(origin + value.range.start..origin + value.range.end);
            }
            write(region, at..owned, origin, &found, sink);
            at = found.last().map_or(owned, |f| f.range.end.max(owned));
        }
        self.advance(region.get(from..at).unwrap_or_default());
    }

    /// Where an open mask leads to.
    fn swallow(&mut self, open: OpenMask, region: &str, part: Range<usize>, last: bool) -> usize {
        let (end, still) = match open {
            OpenMask::Run => (run::end(region, part.start), OpenMask::Run),
            OpenMask::Pem(seen) => {
                let (end, closed) = pem::rest(region, part.start, seen);
                if closed {
                    return end;
                }
                (end, OpenMask::Pem(seen + part.len()))
            }
        };
        if end >= part.end && !last {
            self.open = Some(still);
        }
        end.min(part.end)
    }

    /// Values of the region, the excess of a long run among them.
    fn found(
        &self,
        rules: ActiveRules<'_>,
        region: &str,
        origin: usize,
        at: usize,
    ) -> Vec<Detection> {
        let masked: Vec<Range<usize>> = self
            .masked
            .iter()
            .map(|m| m.start.saturating_sub(origin)..m.end.saturating_sub(origin))
            .filter(|m| !m.is_empty())
            .collect();
        let mut found = fixpoint::find_values(rules, region, &masked);
        let run = if at + origin == self.at { self.run } else { 0 };
        let end = run::end(region, at);
        if run + (end - at) > LONGEST_RUN {
            let start = at + LONGEST_RUN.saturating_sub(run);
            found.push(Detection { range: start..end, rule: rules.engine.long_run() });
            found = union(found);
        }
        found
    }

    /// Where the mask of a value ends; what reaches the end of the region may go on.
    fn close(
        &mut self,
        rules: ActiveRules<'_>,
        found: &Detection,
        region: &str,
        owned: usize,
        last: bool,
    ) -> usize {
        if last || found.range.end < region.len() {
            return found.range.end;
        }
        let start = found.range.start.min(owned);
        self.open = Some(if rules.engine.is_pem(found.rule) {
            OpenMask::Pem(owned - start)
        } else {
            OpenMask::Run
        });
        owned
    }

    /// Moves on over decided text.
    fn advance(&mut self, decided: &str) {
        let tail = run::tail(decided);
        self.run = if tail == decided.len() { self.run + tail } else { tail };
        self.at += decided.len();
        let needed = self.needed();
        self.masked.retain(|m| m.end > needed);
    }
}
