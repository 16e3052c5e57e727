//! The transducer: text in, in any pieces; what to keep and what to mask out.
//!
//! A sliding window with overlap: whether a place is masked depends on a bounded neighbourhood, so
//! a window that overlaps its neighbours by that much decides its own part as the whole text would.
//! A step owns [`STEP`] bytes, or a little more where it finds nothing, and sees [`BEHIND`] bytes
//! before and [`AHEAD`] bytes after them. Where steps begin depends on the text alone, and a whole text is
//! fed to the same machine at once: so text and stream agree, however the text is cut.

use std::ops::Range;

use super::engine::{ActiveRules, Detection, NEAR, union};
use super::{fixpoint, open_tail, pem, run};

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
/// A token run is shown up to this number of bytes; the rest is masked.
const LONGEST_RUN: usize = 16 * 1_024;

/// Where a machine writes.
pub(crate) trait Sink {
    /// Text that may be seen.
    fn keep(&mut self, text: &str);
    /// A value that may not. It stands at `at` in the input.
    fn mask(&mut self, at: usize, value: &str, rule: usize);
    /// The value masked last goes on for this number of bytes.
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

/// How far a step decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// One step of a whole window.
    Window,
    /// As far as the open tail of the text.
    OpenTail,
    /// To the end of the text.
    Rest,
}

/// The longest end of a marker of a PEM block that may be cut, in bytes.
const MARKER: usize = 80;

/// A mask that goes on beyond the step.
#[derive(Debug, Clone, Copy)]
enum OpenMask {
    /// To the end of the token run.
    Run,
    /// To the end of a PEM block, of which this number of bytes was seen.
    Pem(usize),
}

/// The state between two steps.
#[derive(Debug, Default)]
pub(crate) struct IncrementalScanner {
    /// How much of the input is decided, in bytes.
    at: usize,
    /// The length of the token run that ends there.
    run: usize,
    open: Option<OpenMask>,
    /// Masks near there.
    masked: Vec<Range<usize>>,
}

impl IncrementalScanner {
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
            self.step(rules, region, origin + start, Extent::Window, sink);
        }
        text.floor_char_boundary(self.needed().saturating_sub(origin))
    }

    /// The same, and decides about what stands before the open tail of the text, so that little is
    /// held back. Where a step ends then depends on how the text comes in pieces.
    pub(crate) fn push_to_open_tail(
        &mut self,
        rules: ActiveRules<'_>,
        text: &str,
        origin: usize,
        sink: &mut impl Sink,
    ) -> usize {
        let start = self.push(rules, text, origin, sink);
        let region = text.get(start..).unwrap_or_default();
        if origin + text.len() > self.at {
            self.step(rules, region, origin + start, Extent::OpenTail, sink);
        }
        text.floor_char_boundary(self.needed().saturating_sub(origin))
    }

    /// Begins a text at this place of the input.
    pub(crate) fn begin_at(&mut self, at: usize) {
        *self = Self { at, ..Self::default() };
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
        self.step(rules, region, origin + start, Extent::Rest, sink);
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
        extent: Extent,
        sink: &mut impl Sink,
    ) {
        let from = self.at - origin;
        let mut owned = self.owned(extent, region, from);
        let mut at = from;
        if let Some(open) = self.open.take() {
            at = self.swallow(open, region, from..owned, extent);
            sink.more(at - from);
            self.masked.push(self.at..origin + at);
        }
        if at < owned {
            let mut found = self.found(rules, region, origin, at);
            match extent {
                Extent::Window if found.iter().all(|f| f.range.end + CLEAR < owned) => {
                    let clear = region.floor_char_boundary(region.len().saturating_sub(CLEAR));
                    owned = clear.max(owned);
                }
                Extent::OpenTail => owned = open_tail::start(rules, region, &found).max(at),
                Extent::Window | Extent::Rest => {}
            }
            found.retain(|f| f.range.end > at && f.range.start < owned);
            for value in &mut found {
                value.range.start = value.range.start.max(at);
                value.range.end = self.close(rules, value, region, owned, extent);
                self.masked.push(origin + value.range.start..origin + value.range.end);
            }
            write(region, at..owned, origin, &found, sink);
            at = found.last().map_or(owned, |f| f.range.end.max(owned));
        }
        self.advance(region.get(from..at).unwrap_or_default());
    }

    /// How far a step may decide before anything was found.
    fn owned(&self, extent: Extent, region: &str, from: usize) -> usize {
        match (extent, self.open) {
            (Extent::Window, _) => region.floor_char_boundary(from + STEP),
            // The end of the block may be cut in two here.
            (Extent::OpenTail, Some(OpenMask::Pem(_))) => {
                region.floor_char_boundary(region.len().saturating_sub(MARKER)).max(from)
            }
            (Extent::OpenTail | Extent::Rest, _) => region.len(),
        }
    }

    /// Where an open mask leads to.
    fn swallow(
        &mut self,
        open: OpenMask,
        region: &str,
        part: Range<usize>,
        extent: Extent,
    ) -> usize {
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
        if end >= part.end && extent != Extent::Rest {
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
        extent: Extent,
    ) -> usize {
        if extent == Extent::Rest || found.range.end < region.len() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(at: usize, run: usize) -> IncrementalScanner {
        IncrementalScanner { at, run, ..IncrementalScanner::default() }
    }

    #[test]
    fn within_a_long_run_the_cut_keeps_the_places_of_base64() {
        for (run, more) in [(0, 0), (BEHIND, 0), (BEHIND + 1, 1), (BEHIND + 3, 3), (BEHIND + 4, 0)]
        {
            assert_eq!(machine(10_000, run).needed(), 10_000 - BEHIND - more, "{run}");
        }
        assert_eq!(machine(BEHIND, 0).needed(), 0);
        assert_eq!(machine(BEHIND - 1, 0).needed(), 0);
        assert_eq!(machine(BEHIND + 1, 0).needed(), 1);
    }

    #[test]
    fn a_run_goes_on_over_what_is_decided() {
        let mut machine = machine(100, 7);
        machine.advance("abc");
        assert_eq!((machine.at, machine.run), (103, 10));
        machine.advance("d ef");
        assert_eq!((machine.at, machine.run), (107, 2));
        machine.advance("");
        assert_eq!((machine.at, machine.run), (107, 2));
        machine.advance(" ");
        assert_eq!((machine.at, machine.run), (108, 0));
    }

    #[test]
    fn masks_are_remembered_as_long_as_they_are_near() {
        let mut machine = machine(1, 0);
        machine.masked = vec![0..2, 0..3];
        machine.advance(&" ".repeat(BEHIND + 1));
        let first = 0..3;
        assert_eq!((machine.needed(), machine.masked), (2, vec![first]));
    }

    #[derive(Default)]
    struct Written(String);

    impl Sink for Written {
        fn keep(&mut self, text: &str) {
            self.0.push_str(text);
        }

        fn mask(&mut self, at: usize, value: &str, _: usize) {
            self.0.push_str(&format!("<{at}:{value}>"));
        }

        fn more(&mut self, bytes: usize) {
            self.0.push_str(&format!("<+{bytes}>"));
        }
    }

    #[test]
    fn a_part_is_written_with_its_values_in_their_places() {
        let found = [Detection { range: 3..5, rule: 0 }, Detection { range: 6..7, rule: 0 }];
        let mut out = Written::default();
        write("0123456789", 2..9, 100, &found, &mut out);
        assert_eq!(out.0, "2<103:34>5<106:6>78");
    }
}
