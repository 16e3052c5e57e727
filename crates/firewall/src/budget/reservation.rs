//! What is set aside for one call, and frames that keep to it.

use std::num::Saturating;

use serde_json::Value;
use weaver_types::{Frame, ResponseMode};

use super::meter::BudgetGrant;
use super::session::{Session, saturated};
use crate::frame::auto::unrepeated;
use crate::spec::FrameSpec;

/// Characters of JSON for each token when a frame has to become smaller: fewer than there usually
/// are, so that the second try fits.
const CHARS_PER_TOKEN: u32 = 3;

/// Tokens around the content of the least frame in mode `auto`.
const LEAST_TOKENS: u32 = 64;
/// What a picture or a sound counts as.
const MEDIA_TOKENS: usize = 1_500;

/// Tokens that are set aside for one call. Dropped, it gives everything back; settled, it charges
/// what was counted.
#[derive(Debug)]
pub struct Reservation {
    session: Session,
    granted: BudgetGrant,
    /// What is held now: what was granted, and what it grew by.
    held: u32,
    /// Counted and not charged yet.
    counted: Saturating<u32>,
    /// Charged already.
    charged: u64,
    /// It never takes more than was granted.
    fixed: bool,
}

impl Reservation {
    pub(super) fn new(session: Session, granted: BudgetGrant) -> Self {
        Self {
            session,
            granted,
            held: granted.tokens,
            counted: Saturating(0),
            charged: 0,
            fixed: false,
        }
    }

    pub(super) fn fixed(mut self) -> Self {
        self.fixed = true;
        self
    }

    /// Tokens that are set aside.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.held
    }

    /// The mode in which a call that asks for `asked` is answered, by what was left of the
    /// session before this reservation.
    #[must_use]
    pub fn mode(&self, asked: ResponseMode) -> ResponseMode {
        self.session.mode_at(asked, self.granted.before)
    }

    /// Tokens counted so far.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.charged.saturating_add(self.counted.0.into())
    }

    /// Counts a frame if what is set aside has room for its JSON and for `beside` more tokens. A
    /// frame that needs more is taken when the session has as much left, unless no more than was
    /// granted may be taken.
    pub fn takes(&mut self, frame: &Frame, beside: u32) -> bool {
        let Some(tokens) = self.count(frame) else { return false };
        let needed = (self.counted + Saturating(tokens) + Saturating(beside)).0;
        let more = needed.saturating_sub(self.held);
        if more > 0 {
            if self.fixed || !self.session.meter().grow(more) {
                return false;
            }
            self.held = self.held.saturating_add(more);
        }
        self.counted += tokens;
        true
    }

    /// Counts a frame whatever is left: the smallest that there is.
    pub fn force(&mut self, frame: &Frame) {
        let json = emitted(frame).unwrap_or_default();
        // What cannot be counted takes all that there is.
        self.counted += self.tokens_of(&json).unwrap_or(self.session.total());
    }

    /// The first frame if there is room for it; otherwise the first that fits of what `again`
    /// makes of tighter specs: fewer characters, then a summary, then the handle alone. The handle
    /// alone is the least there is, and given out at any rate.
    pub fn fit(
        &mut self,
        first: Frame,
        spec: &FrameSpec<'_>,
        mut again: impl FnMut(&FrameSpec<'_>) -> Option<Frame>,
    ) -> Frame {
        if self.takes(&first, 0) {
            return first;
        }
        let left = self.held.saturating_sub(self.counted.0);
        if spec.mode == ResponseMode::Auto && left > LEAST_TOKENS {
            let mut tighter = spec.clone();
            tighter.budget.max_tokens = spec.budget.max_tokens.min(left - LEAST_TOKENS);
            if let Some(frame) = again(&tighter)
                && self.takes(&frame, 0)
            {
                return frame;
            }
        }
        let max_chars = spec.budget.max_chars.min(left.saturating_mul(CHARS_PER_TOKEN));
        for mode in [ResponseMode::Table, ResponseMode::Summary, ResponseMode::HandleOnly] {
            let mut tighter = FrameSpec { mode: spec.mode.max(mode), ..spec.clone() };
            tighter.budget.max_chars = max_chars;
            let Some(frame) = again(&tighter) else { break };
            if self.takes(&frame, 0) {
                return frame;
            }
            if mode == ResponseMode::HandleOnly {
                self.force(&frame);
                return frame;
            }
        }
        // Nothing smaller can be made of it: an empty frame of the same kind.
        let mut frame = first;
        frame.facts.clear();
        frame.table.clear();
        frame.content.clear();
        frame.structured = None;
        frame.raw = None;
        self.force(&frame);
        frame
    }

    /// The tokens of a frame's JSON; `None` when there are more than the session has in all, or
    /// when they cannot be counted.
    fn count(&self, frame: &Frame) -> Option<u32> {
        let json = emitted(frame)?;
        let total = usize::try_from(self.session.total()).unwrap_or(usize::MAX);
        if !self.session.counter().within(&json, total) {
            return None;
        }
        self.tokens_of(&json)
    }

    fn tokens_of(&self, json: &str) -> Option<u32> {
        self.session.counter().count(json).tokens().map(|tokens| saturated(tokens as u64))
    }

    /// Charges what was counted so far; the rest stays set aside.
    pub fn spend(&mut self) {
        let counted = self.counted.0;
        self.session.meter().settle(counted.min(self.held), counted);
        self.held = self.held.saturating_sub(counted);
        self.charged = self.charged.saturating_add(counted.into());
        self.counted.0 = 0;
    }

    /// Charges what was counted and gives the rest back.
    pub fn settle(mut self) {
        self.session.meter().settle(self.held, self.counted.0);
        self.held = 0;
    }
}

/// What is given out of a frame, as it is counted: its JSON; in mode `auto` its content and notes,
/// where each picture or sound counts as a fixed number of tokens whatever its size.
fn emitted(frame: &Frame) -> Option<String> {
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
    // What a text says already counts once.
    out.extend(unrepeated(frame).map(Value::to_string));
    Some(out)
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.session.meter().settle(self.held, 0);
    }
}
