//! The output of a redaction: masked text, and spans.

use std::ops::Range;
use std::sync::Arc;

use super::engine::{Detection, HIDDEN_PERSONAL, HIDDEN_SECRET};
use super::incremental_scanner::Sink;
use super::{Counts, Form, MASK, Redactor, count, json_text};

/// Masked text, and counts by kind; places too, where they are wanted.
pub(crate) struct Output<'a> {
    redactor: &'a Redactor,
    counts: &'a mut Counts,
    text: &'a mut String,
    spans: Option<&'a mut Vec<Span>>,
    /// Where the mask stands that was written last.
    last: usize,
    /// Where values stand that are numbers of JSON, in order.
    numbers: Vec<usize>,
}

impl<'a> Output<'a> {
    pub(crate) fn new(
        redactor: &'a Redactor,
        counts: &'a mut Counts,
        text: &'a mut String,
    ) -> Self {
        Self { redactor, counts, text, spans: None, last: 0, numbers: Vec::new() }
    }

    /// The same, with the places of the values added to these.
    pub(crate) fn with_spans(self, spans: Option<&'a mut Vec<Span>>) -> Self {
        Self { spans, ..self }
    }

    /// The same for a text of JSON in which values at these places, in order, are numbers.
    pub(crate) fn with_numbers(self, numbers: Vec<usize>) -> Self {
        Self { numbers, ..self }
    }

    /// Masks a text as a whole, since it could not be looked at.
    pub(crate) fn all(&mut self) {
        count(self.counts, "unscanned");
        self.text.push_str(MASK);
    }
}

impl Sink for Output<'_> {
    fn keep(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn mask(&mut self, at: usize, value: &str, rule: usize) {
        let kind = self.redactor.kind(rule);
        count(self.counts, kind);
        self.last = self.text.len();
        let is_field = matches!(rule, HIDDEN_SECRET | HIDDEN_PERSONAL);
        let in_quotes =
            is_field && json_text::is_value(value) || self.numbers.binary_search(&at).is_ok();
        let form = if in_quotes { Form::Json } else { Form::Text };
        let mask = self.redactor.mask(rule, form, value);
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

    fn more(&mut self, bytes: usize) {
        if let Some(mask) = self.text.get(self.last..).filter(|_| bytes > 0) {
            self.redactor.forget(mask);
        }
        if let Some(last) = self.spans.as_mut().and_then(|spans| spans.last_mut()) {
            last.range.end += bytes;
        }
    }
}

/// A value that was masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where it stood in the input, in bytes, on character borders.
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
            rule: redactor.rule(rule),
            kind: Arc::clone(redactor.kind(rule)),
        }
    }
}

/// Where the values of a text stand.
#[derive(Default)]
pub(crate) struct CollectedDetections {
    pub(crate) found: Vec<Detection>,
}

impl Sink for CollectedDetections {
    fn keep(&mut self, _: &str) {}

    fn mask(&mut self, at: usize, value: &str, rule: usize) {
        self.found.push(Detection { range: at..at + value.len(), rule });
    }

    fn more(&mut self, bytes: usize) {
        if let Some(last) = self.found.last_mut() {
            last.range.end += bytes;
        }
    }
}

/// The values alone.
pub(crate) struct Spans<'a> {
    redactor: &'a Redactor,
    pub(crate) found: Vec<Span>,
}

impl<'a> Spans<'a> {
    pub(crate) fn new(redactor: &'a Redactor) -> Self {
        Self { redactor, found: Vec::new() }
    }
}

impl Sink for Spans<'_> {
    fn keep(&mut self, _: &str) {}

    fn mask(&mut self, at: usize, value: &str, rule: usize) {
        self.found.push(Span::new(self.redactor, at, value, rule));
    }

    fn more(&mut self, bytes: usize) {
        if let Some(last) = self.found.last_mut() {
            last.range.end += bytes;
        }
    }
}
