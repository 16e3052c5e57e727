//! Tokens reserved for one call, and the frames that must fit into them.

use std::num::Saturating;

use serde_json::Value;
use weaver_types::{Frame, ResponseMode};

use super::meter::BudgetGrant;
use super::session::{Session, saturating_u32};
use crate::frame::auto::unrepeated_structured;
use crate::spec::FrameSpec;

/// Characters of JSON assumed per token when a frame has to shrink. It is lower than usual, so that
/// the second attempt fits.
const CHARS_PER_TOKEN: u32 = 3;

/// Tokens around the content of the smallest frame in mode `auto`.
const FRAME_OVERHEAD_TOKENS: u32 = 64;
/// Tokens charged for an image or an audio clip.
const MEDIA_TOKENS: usize = 1_500;

/// Tokens reserved for one call. Dropping it releases all of them; settling it charges what was
/// counted.
#[derive(Debug)]
pub struct Reservation {
    session: Session,
    grant: BudgetGrant,
    /// Tokens reserved now: the grant and what was added since.
    held_tokens: u32,
    /// Counted but not yet charged.
    counted_tokens: Saturating<u32>,
    /// Already charged.
    charged_tokens: u64,
    /// The reservation may not grow beyond its grant.
    is_fixed: bool,
}

impl Reservation {
    pub(super) fn new(session: Session, grant: BudgetGrant) -> Self {
        Self {
            session,
            grant,
            held_tokens: grant.tokens,
            counted_tokens: Saturating(0),
            charged_tokens: 0,
            is_fixed: false,
        }
    }

    pub(super) fn without_growth(mut self) -> Self {
        self.is_fixed = true;
        self
    }

    /// Tokens reserved now.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.held_tokens
    }

    /// The mode for a call that requested `requested`, given what was left of the session before
    /// this reservation.
    #[must_use]
    pub fn mode(&self, requested: ResponseMode) -> ResponseMode {
        self.session.mode_at(requested, self.grant.remaining_before)
    }

    /// Tokens counted so far.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.charged_tokens.saturating_add(self.counted_tokens.0.into())
    }

    /// Counts a frame if its JSON and `extra_tokens` more fit into the reservation. If they do not,
    /// the reservation grows, provided that the session has the tokens left and growing is allowed.
    /// False if the frame does not fit.
    pub fn try_count(&mut self, frame: &Frame, extra_tokens: u32) -> bool {
        let Some(tokens) = self.count_within_total(frame) else { return false };
        let needed = (self.counted_tokens + Saturating(tokens) + Saturating(extra_tokens)).0;
        let more = needed.saturating_sub(self.held_tokens);
        if more > 0 {
            if self.is_fixed || !self.session.meter().try_grow(more) {
                return false;
            }
            self.held_tokens = self.held_tokens.saturating_add(more);
        }
        self.counted_tokens += tokens;
        true
    }

    /// Counts a frame even if it exceeds what is left; only for the smallest possible frame.
    pub fn count_unconditionally(&mut self, frame: &Frame) {
        let json = counted_text(frame).unwrap_or_default();
        // A frame that cannot be counted is charged as the whole session.
        self.counted_tokens += self.tokens_of(&json).unwrap_or(self.session.total());
    }

    /// The first frame if it fits. Otherwise the first that fits among those that `rebuild` makes
    /// from tighter specs: fewer characters, then a summary, then the handle alone. The handle
    /// alone is the minimum and is always returned.
    pub fn fit(
        &mut self,
        first: Frame,
        spec: &FrameSpec<'_>,
        mut rebuild: impl FnMut(&FrameSpec<'_>) -> Option<Frame>,
    ) -> Frame {
        if self.try_count(&first, 0) {
            return first;
        }
        let left = self.held_tokens.saturating_sub(self.counted_tokens.0);
        if spec.mode == ResponseMode::Auto && left > FRAME_OVERHEAD_TOKENS {
            let mut tighter = spec.clone();
            tighter.budget.max_tokens = spec.budget.max_tokens.min(left - FRAME_OVERHEAD_TOKENS);
            if let Some(frame) = rebuild(&tighter)
                && self.try_count(&frame, 0)
            {
                return frame;
            }
        }
        let max_chars = spec.budget.max_chars.min(left.saturating_mul(CHARS_PER_TOKEN));
        for mode in [ResponseMode::Table, ResponseMode::Summary, ResponseMode::HandleOnly] {
            let mut tighter = FrameSpec { mode: spec.mode.max(mode), ..spec.clone() };
            tighter.budget.max_chars = max_chars;
            let Some(frame) = rebuild(&tighter) else { break };
            if self.try_count(&frame, 0) {
                return frame;
            }
            if mode == ResponseMode::HandleOnly {
                self.count_unconditionally(&frame);
                return frame;
            }
        }
        // Nothing smaller can be built: return an empty frame of the same kind.
        let mut frame = first;
        frame.facts.clear();
        frame.table.clear();
        frame.content.clear();
        frame.structured = None;
        frame.raw = None;
        self.count_unconditionally(&frame);
        frame
    }

    /// The tokens of a frame's JSON; `None` if they exceed the session's total or cannot be
    /// counted.
    fn count_within_total(&self, frame: &Frame) -> Option<u32> {
        let json = counted_text(frame)?;
        let total = usize::try_from(self.session.total()).unwrap_or(usize::MAX);
        if !self.session.counter().within(&json, total) {
            return None;
        }
        self.tokens_of(&json)
    }

    fn tokens_of(&self, json: &str) -> Option<u32> {
        self.session.counter().count(json).tokens().map(|tokens| saturating_u32(tokens as u64))
    }

    /// Charges what was counted so far; the remainder stays reserved.
    pub fn charge_counted(&mut self) {
        let counted = self.counted_tokens.0;
        self.session.meter().settle(counted.min(self.held_tokens), counted);
        self.held_tokens = self.held_tokens.saturating_sub(counted);
        self.charged_tokens = self.charged_tokens.saturating_add(counted.into());
        self.counted_tokens.0 = 0;
    }

    /// Charges what was counted and releases the remainder.
    pub fn settle(mut self) {
        self.session.meter().settle(self.held_tokens, self.counted_tokens.0);
        self.held_tokens = 0;
    }
}

/// The part of a frame that is charged: its JSON, or in mode `auto` its content and notes. An image
/// or audio clip counts as a fixed number of tokens, whatever its size.
fn counted_text(frame: &Frame) -> Option<String> {
    if frame.mode != ResponseMode::Auto {
        return serde_json::to_string(frame).ok();
    }
    let mut out = frame.notes.join("\n");
    for block in &frame.content {
        let is_media = block.get("data").or_else(|| block.get("resource")?.get("blob")).is_some();
        match block.get("text").and_then(Value::as_str) {
            Some(text) => out.push_str(text),
            None if is_media => out.extend(std::iter::repeat_n(" media", MEDIA_TOKENS)),
            None => out.push_str(&block.to_string()),
        }
    }
    // A structured value that repeats the text is not counted twice.
    out.extend(unrepeated_structured(frame).map(Value::to_string));
    Some(out)
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.session.meter().settle(self.held_tokens, 0);
    }
}
