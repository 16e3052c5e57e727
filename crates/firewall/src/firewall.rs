//! The firewall itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use weaver_types::{Frame, RawResult};

use crate::error::HandleError;
use crate::frame::{build, fit};
use crate::query::{HandleQuery, drill};
use crate::redact::Redactor;
use crate::spec::FrameSpec;

/// Text with everything masked that a rule knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text, with [`MASK`](crate::MASK) in place of each value.
    pub text: String,
    /// How many values of each kind were masked.
    pub counts: BTreeMap<&'static str, u64>,
}

/// Turns raw results into frames. Cheap to clone; made once, since it compiles its rules.
#[derive(Debug, Clone)]
pub struct Firewall {
    redactor: Arc<Redactor>,
}

impl Default for Firewall {
    fn default() -> Self {
        Self::new()
    }
}

impl Firewall {
    /// A firewall with the built-in rules.
    #[must_use]
    pub fn new() -> Self {
        Self { redactor: Arc::new(Redactor::builtin()) }
    }

    /// What may be seen of a result. Never fails: what cannot be shown is left out, and a warning
    /// counts it.
    ///
    /// The JSON of the frame has at most `max_chars` characters, or [`Firewall::min_chars`] where
    /// that is more. The one exception is raw mode, which shows the whole value unredacted, with
    /// the warning `raw_unredacted`; the caller guarantees the authority for it.
    #[must_use]
    pub fn frame(&self, raw: &RawResult, spec: &FrameSpec<'_>) -> Frame {
        build(&self.redactor, raw, spec)
    }

    /// What may be seen of a part of a stored result: a table, or a summary where strict mode or
    /// the constraints ask for it. Same redaction, same budget, same label as a first frame.
    ///
    /// Rows of an array are its items; of a text, its lines; an object is one row.
    ///
    /// # Errors
    /// [`HandleError::Constraint`], when the query names a field that may not be seen, or more
    /// rows or fields than the budget has.
    pub fn expand(
        &self,
        raw: &RawResult,
        query: &HandleQuery,
        spec: &FrameSpec<'_>,
    ) -> Result<Frame, HandleError> {
        drill(&self.redactor, raw, query, spec)
    }

    /// The floor of `max_chars`: the size of the smallest frame for this spec, which has ids,
    /// handle, label, time and one warning, and no content.
    #[must_use]
    pub fn min_chars(&self, spec: &FrameSpec<'_>) -> usize {
        fit::floor(spec)
    }

    /// Masks what a rule knows in a text. Linear time; doing it twice changes nothing more.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> Redacted {
        let mut counts = BTreeMap::new();
        let text = self.redactor.text(text, &mut counts).into_owned();
        Redacted { text, counts }
    }

    /// Masks what a rule knows in a value: keys, strings, numbers, and every value under a
    /// sensitive field name. What nests deeper than 128 levels is left out, with a marker.
    #[must_use]
    pub fn redact_value(&self, value: &Value) -> (Value, BTreeMap<&'static str, u64>) {
        let mut counts = BTreeMap::new();
        let value = self.redactor.value(value, &mut counts);
        (value, counts)
    }
}
