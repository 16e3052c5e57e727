//! Sinks of a scanner: masked text, spans, and detections.

use std::ops::Range;
use std::sync::Arc;

use super::engine::{Detection, PERSONAL_FIELD_RULE, SECRET_FIELD_RULE};
use super::incremental_scanner::RedactionSink;
use super::{Counts, MASK, Redactor, ValueForm, count_kind, json_text};

/// Writes masked text and counts by kind; also spans, if requested.
pub(crate) struct MaskedOutput<'a> {
    redactor: &'a Redactor,
    counts: &'a mut Counts,
    text: &'a mut String,
    spans: Option<&'a mut Vec<Span>>,
    /// Where the mask written last begins.
    last_mask_start: usize,
    /// Offsets of values that are bare numbers of a JSON text, in order.
    number_positions: Vec<usize>,
}

impl<'a> MaskedOutput<'a> {
    pub(crate) fn new(
        redactor: &'a Redactor,
        counts: &'a mut Counts,
        text: &'a mut String,
    ) -> Self {
        Self {
            redactor,
            counts,
            text,
            spans: None,
            last_mask_start: 0,
            number_positions: Vec::new(),
        }
    }

    /// Also appends the spans of the values.
    pub(crate) fn with_spans(self, spans: Option<&'a mut Vec<Span>>) -> Self {
        Self { spans, ..self }
    }

    /// Masks a text as a whole, because it could not be scanned.
    pub(crate) fn mask_all(&mut self) {
        count_kind(self.counts, "unscanned");
        self.text.push_str(MASK);
    }
}

impl RedactionSink for MaskedOutput<'_> {
    fn keep(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn mask(&mut self, at: usize, value: &str, rule: usize) {
        let kind = self.redactor.kind_of_rule(rule);
        count_kind(self.counts, kind);
        self.last_mask_start = self.text.len();
        let is_field = matches!(rule, SECRET_FIELD_RULE | PERSONAL_FIELD_RULE);
        let in_quotes = is_field && json_text::is_json_value(value)
            || self.number_positions.binary_search(&at).is_ok();
        let form = if in_quotes { ValueForm::Json } else { ValueForm::Text };
        let mask = self.redactor.mask_for(rule, form, value);
        let mask = mask.as_deref().unwrap_or(MASK);
        if in_quotes {
            self.text.extend(["\"", mask, "\""]);
        } else {
            self.text.push_str(mask);
        }
        if let Some(spans) = &mut self.spans {
            spans.push(Span::new(self.redactor, at, value, rule));
        }
    }

    fn extend_last_mask(&mut self, bytes: usize) {
        if let Some(mask) = self.text.get(self.last_mask_start..).filter(|_| bytes > 0) {
            self.redactor.forget_value(mask);
        }
        if let Some(last) = self.spans.as_mut().and_then(|spans| spans.last_mut()) {
            last.range.end += bytes;
        }
    }

    fn expect_numbers(&mut self, positions: Vec<usize>) {
        self.number_positions = positions;
    }
}

/// A value that was masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its byte range in the input, on character boundaries.
    pub range: Range<usize>,
    /// The rule that found it.
    pub rule: Arc<str>,
    /// The kind of value.
    pub kind: Arc<str>,
}

impl Span {
    fn new(redactor: &Redactor, at: usize, value: &str, rule: usize) -> Self {
        Self {
            range: at..at + value.len(),
            rule: redactor.rule_id(rule),
            kind: Arc::clone(redactor.kind_of_rule(rule)),
        }
    }
}

/// Collects where the values of a text are.
#[derive(Default)]
pub(crate) struct DetectionCollector {
    pub(crate) found: Vec<Detection>,
}

impl RedactionSink for DetectionCollector {
    fn keep(&mut self, _: &str) {}

    fn mask(&mut self, at: usize, value: &str, rule: usize) {
        self.found.push(Detection { range: at..at + value.len(), rule });
    }

    fn extend_last_mask(&mut self, bytes: usize) {
        if let Some(last) = self.found.last_mut() {
            last.range.end += bytes;
        }
    }
}

/// Collects the values with rule ids and kinds.
pub(crate) struct SpanCollector<'a> {
    redactor: &'a Redactor,
    pub(crate) found: Vec<Span>,
}

impl<'a> SpanCollector<'a> {
    pub(crate) fn new(redactor: &'a Redactor) -> Self {
        Self { redactor, found: Vec::new() }
    }
}

impl RedactionSink for SpanCollector<'_> {
    fn keep(&mut self, _: &str) {}

    fn mask(&mut self, at: usize, value: &str, rule: usize) {
        self.found.push(Span::new(self.redactor, at, value, rule));
    }

    fn extend_last_mask(&mut self, bytes: usize) {
        if let Some(last) = self.found.last_mut() {
            last.range.end += bytes;
        }
    }
}
