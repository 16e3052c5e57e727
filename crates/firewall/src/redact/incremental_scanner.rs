//! An incremental scanner: takes text in arbitrary pieces and reports what to keep and what to
//! mask.
//!
//! It slides a window with overlap over the text. Whether a position is masked depends on a bounded
//! neighbourhood, so a window that overlaps its neighbours by that much decides its own part
//! exactly as the whole text would. A step owns [`STEP_BYTES`] bytes, or a little more if it finds
//! nothing, and sees [`LOOKBEHIND_BYTES`] before and [`LOOKAHEAD_BYTES`] after them. Where steps
//! begin depends on the text alone, and a whole text goes through the same scanner. So text and
//! stream give the same result, however the stream is cut.

use std::ops::Range;

use super::engine::{ActiveRules, CONTEXT_BYTES, Detection};
use super::json_text::{self, JsonStart};
use super::scan_window::TextStart;
use super::{fixpoint, open_tail, pem, token_run};

/// The bytes that one step decides.
const STEP_BYTES: usize = 14 * 1_024;
/// The bytes that a step sees after its own.
const LOOKAHEAD_BYTES: usize = 2 * CONTEXT_BYTES;
/// The bytes after a position that decide it if no mask is near.
const CLEAR_LOOKAHEAD_BYTES: usize = CONTEXT_BYTES + CONTEXT_BYTES / 2;
/// The bytes that a step sees before its own.
const LOOKBEHIND_BYTES: usize = CONTEXT_BYTES;
/// The most text that is held back, in bytes.
pub(crate) const WINDOW_BYTES: usize = STEP_BYTES + LOOKAHEAD_BYTES;
/// How close to the end of a region a value in encoded text may end that goes on beyond it: the last
/// digits may be no whole group of their encoding.
const CUT_GROUP_BYTES: usize = 16;

/// Receives the output of a scanner.
pub(crate) trait RedactionSink {
    /// Text that may be shown.
    fn keep(&mut self, text: &str);
    /// A value that must be masked, at offset `at` of the input.
    fn mask(&mut self, at: usize, value: &str, rule: usize);
    /// The value masked last continues for this many bytes.
    fn extend_last_mask(&mut self, bytes: usize);
    /// The values that are masked next at these offsets, in order, are bare numbers of a JSON text.
    fn expect_numbers(&mut self, _positions: Vec<usize>) {}
}

/// Writes a part of a text with these values masked; `origin` is the offset of the text in the
/// input.
pub(crate) fn write_masked(
    text: &str,
    part: Range<usize>,
    origin: usize,
    found: &[Detection],
    sink: &mut impl RedactionSink,
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

/// How far a step decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepExtent {
    /// One step of a full window.
    Window,
    /// Up to the open tail of the text.
    OpenTail,
    /// To the end of the text.
    Rest,
}

/// The longest end of a PEM marker that may be cut in two, in bytes.
const MAX_PEM_MARKER: usize = 80;

/// A mask that continues beyond the step.
#[derive(Debug, Clone, Copy)]
enum OpenMask {
    /// To the end of the token run.
    Run,
    /// To the end of a PEM block, of which this many bytes were seen.
    Pem(usize),
}

/// The state between two steps.
#[derive(Debug, Default)]
pub(crate) struct IncrementalScanner {
    /// How much of the input is decided, in bytes.
    decided_to: usize,
    /// The length of the token run that ends there.
    run_len: usize,
    open_mask: Option<OpenMask>,
    /// Masked ranges near there.
    recent_masks: Vec<Range<usize>>,
    /// Whether what is decided begins like JSON.
    json_start: JsonStart,
}

impl IncrementalScanner {
    /// Scans a whole text.
    pub(crate) fn scan_whole(rules: ActiveRules<'_>, text: &str, sink: &mut impl RedactionSink) {
        let mut machine = Self::default();
        let done = machine.push(rules, text, 0, sink);
        machine.finish(rules, text.get(done..).unwrap_or_default(), done, sink);
    }

    /// Decides as much as possible of a text that continues. `origin` is the offset of the text in
    /// the input. Returns how many bytes of the text are no longer needed.
    pub(crate) fn push(
        &mut self,
        rules: ActiveRules<'_>,
        text: &str,
        origin: usize,
        sink: &mut impl RedactionSink,
    ) -> usize {
        while origin + text.len() >= self.decided_to + WINDOW_BYTES {
            let start = text.floor_char_boundary(self.needed_from().saturating_sub(origin));
            let end = text.floor_char_boundary(self.decided_to + WINDOW_BYTES - origin);
            let Some(region) = text.get(start..end) else { break };
            self.step(rules, region, origin + start, StepExtent::Window, sink);
        }
        text.floor_char_boundary(self.needed_from().saturating_sub(origin))
    }

    /// Also decides what precedes the open tail, so that little is held back. Where a step ends
    /// then depends on how the text is cut into pieces.
    pub(crate) fn push_to_open_tail(
        &mut self,
        rules: ActiveRules<'_>,
        text: &str,
        origin: usize,
        sink: &mut impl RedactionSink,
    ) -> usize {
        let start = self.push(rules, text, origin, sink);
        let region = text.get(start..).unwrap_or_default();
        if origin + text.len() > self.decided_to {
            self.step(rules, region, origin + start, StepExtent::OpenTail, sink);
        }
        text.floor_char_boundary(self.needed_from().saturating_sub(origin))
    }

    /// Restarts at this offset of the input, in the middle of a text.
    pub(crate) fn begin_at(&mut self, decided_to: usize) {
        *self = Self { decided_to, json_start: JsonStart::Known(false), ..Self::default() };
    }

    /// Decides the rest of the text.
    pub(crate) fn finish(
        &mut self,
        rules: ActiveRules<'_>,
        text: &str,
        origin: usize,
        sink: &mut impl RedactionSink,
    ) {
        let start = text.floor_char_boundary(self.needed_from().saturating_sub(origin));
        let region = text.get(start..).unwrap_or_default();
        self.step(rules, region, origin + start, StepExtent::Rest, sink);
    }

    /// The offset from which the input is still needed. Within a long run the distance keeps the
    /// alignment of base64 groups, which have four characters.
    fn needed_from(&self) -> usize {
        let behind = if self.run_len > LOOKBEHIND_BYTES {
            LOOKBEHIND_BYTES + self.run_len % 4
        } else {
            LOOKBEHIND_BYTES
        };
        self.decided_to.saturating_sub(behind)
    }

    fn step(
        &mut self,
        rules: ActiveRules<'_>,
        region: &str,
        origin: usize,
        extent: StepExtent,
        sink: &mut impl RedactionSink,
    ) {
        let from = self.decided_to - origin;
        let mut owned = self.owned_end(extent, region, from);
        let mut at = from;
        if let Some(open) = self.open_mask.take() {
            at = self.continue_open_mask(open, region, from..owned, extent);
            sink.extend_last_mask(at - from);
            self.recent_masks.push(self.decided_to..origin + at);
        }
        if at < owned {
            let mut found = self.detect(rules, region, origin);
            match extent {
                StepExtent::Window
                    if found.iter().all(|f| f.range.end + CLEAR_LOOKAHEAD_BYTES < owned) =>
                {
                    let clear = region
                        .floor_char_boundary(region.len().saturating_sub(CLEAR_LOOKAHEAD_BYTES));
                    owned = clear.max(owned);
                }
                StepExtent::OpenTail => {
                    owned = open_tail::open_tail_start(rules, region, &found).max(at)
                }
                StepExtent::Window | StepExtent::Rest => {}
            }
            found.retain(|f| f.range.end > at && f.range.start < owned);
            for value in &mut found {
                value.range.start = value.range.start.max(at);
            }
            if self.json_start.after(region.get(from..).unwrap_or_default()).is_json() {
                let mut numbers = json_text::number_positions(region, at, &mut found);
                numbers.iter_mut().for_each(|number| *number += origin);
                sink.expect_numbers(numbers);
            }
            for value in &mut found {
                value.range.end = self.mask_end(rules, value, region, owned, extent);
                self.recent_masks.push(origin + value.range.start..origin + value.range.end);
            }
            write_masked(region, at..owned, origin, &found, sink);
            at = found.last().map_or(owned, |f| f.range.end.max(owned));
        }
        self.advance(region.get(from..at).unwrap_or_default());
    }

    /// How far a step may decide before anything was found.
    fn owned_end(&self, extent: StepExtent, region: &str, from: usize) -> usize {
        match (extent, self.open_mask) {
            (StepExtent::Window, _) => region.floor_char_boundary(from + STEP_BYTES),
            // The end of the block may be cut in two here.
            (StepExtent::OpenTail, Some(OpenMask::Pem(_))) => {
                region.floor_char_boundary(region.len().saturating_sub(MAX_PEM_MARKER)).max(from)
            }
            (StepExtent::OpenTail | StepExtent::Rest, _) => region.len(),
        }
    }

    /// Continues an open mask; returns where it ends.
    fn continue_open_mask(
        &mut self,
        open: OpenMask,
        region: &str,
        part: Range<usize>,
        extent: StepExtent,
    ) -> usize {
        let (end, still) = match open {
            OpenMask::Run => (token_run::run_end(region, part.start), OpenMask::Run),
            OpenMask::Pem(seen) => {
                let (end, closed) = pem::block_rest_end(region, part.start, seen);
                if closed {
                    return end;
                }
                (end, OpenMask::Pem(seen + part.len()))
            }
        };
        if end >= part.end && extent != StepExtent::Rest {
            self.open_mask = Some(still);
        }
        end.min(part.end)
    }

    /// Detects the values of the region.
    fn detect(&self, rules: ActiveRules<'_>, region: &str, origin: usize) -> Vec<Detection> {
        let masked: Vec<Range<usize>> = self
            .recent_masks
            .iter()
            .map(|m| m.start.saturating_sub(origin)..m.end.saturating_sub(origin))
            .filter(|m| !m.is_empty())
            .collect();
        let begins_in_run = self.run_len > self.decided_to - origin;
        let start = if begins_in_run { TextStart::InRun } else { TextStart::Anywhere };
        fixpoint::find_values_from(rules, region, start, &masked)
    }

    /// Where the mask of a value ends. A value that reaches the end of the region may continue.
    fn mask_end(
        &mut self,
        rules: ActiveRules<'_>,
        found: &Detection,
        region: &str,
        owned: usize,
        extent: StepExtent,
    ) -> usize {
        if extent == StepExtent::Rest || !goes_on(found, region) {
            return found.range.end;
        }
        let start = found.range.start.min(owned);
        self.open_mask = Some(if rules.engine.is_pem_rule(found.rule) {
            OpenMask::Pem(owned - start)
        } else {
            OpenMask::Run
        });
        owned
    }

    /// Advances over decided text.
    fn advance(&mut self, decided: &str) {
        self.json_start = self.json_start.after(decided);
        let tail = token_run::trailing_run_len(decided);
        self.run_len = if tail == decided.len() { self.run_len + tail } else { tail };
        self.decided_to += decided.len();
        let needed = self.needed_from();
        self.recent_masks.retain(|m| m.end > needed);
    }
}

/// True if a value may continue beyond the region. A rule that extends its value to the end of a
/// token run sees that end; behind an encoding the last digits may be missing.
fn goes_on(found: &Detection, region: &str) -> bool {
    let Some(rest) = region.get(found.range.end..) else { return true };
    rest.is_empty()
        || found.range.len() > CONTEXT_BYTES
            && rest.len() < CUT_GROUP_BYTES
            && token_run::trailing_run_len(rest) == rest.len()
}

#[cfg(test)]
mod tests;
