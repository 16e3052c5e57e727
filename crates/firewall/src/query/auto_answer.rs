//! Answers a query in mode `auto`: the requested part in its own format.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use weaver_types::Frame;

use super::column::{ColumnCache, VALUE_FIELD};
use super::select::{QueryOutcome, Selector};
use super::{HandleQuery, drill_down};
use crate::content::{Content, Rows, Shape};
use crate::error::HandleError;
use crate::frame::auto::{
    self, CutUnit, Excerpt, ExcerptRequest, FrameNotes, Masker, RenderBudget,
};
use crate::frame::empty_frame;
use crate::query::result_source::ResultSource;
use crate::redact::Redactor;
use crate::spec::{EffectiveLimits, FrameSpec};

/// A query with everything that its answer depends on.
pub(super) struct AutoQuery<'a> {
    pub(super) redactor: &'a Redactor,
    pub(super) query: &'a HandleQuery,
    pub(super) spec: &'a FrameSpec<'a>,
    pub(super) limits: EffectiveLimits,
    /// True if a view returned lines or characters of a text.
    pub(super) is_text: bool,
    /// The column order in the text of the result.
    pub(super) order: Vec<String>,
}

impl AutoQuery<'_> {
    /// The answer from the content of a view or of the whole result.
    pub(super) fn answer(
        &self,
        source: &ResultSource<'_>,
        content: &Content<'_>,
        columns: &ColumnCache,
    ) -> Result<Frame, HandleError> {
        let mut limits = self.limits.clone();
        let mut masker = Masker::new(self.redactor, &self.limits);
        let excerpt = if self.query.is_selective() {
            let all = drill_down::query_rows(content, self.redactor, &limits)?;
            // Rows built from redacted text contain our own masks, which must stay as they are.
            let second_pass = self.redactor.for_redacted_text();
            let redactor = if all.is_redacted() { &second_pass } else { self.redactor };
            let selector = Selector::new(redactor, &limits, all.rows(), columns)?;
            let selected = selector.select(self.query)?;
            let (rows, matching, redactor) = match &selected {
                QueryOutcome::Rows(numbers) => {
                    let matching = (!self.query.filter.is_empty()).then_some(numbers.len());
                    (all.rows().select(numbers), matching, redactor)
                }
                QueryOutcome::Computed(rows) => {
                    limits.allowed = None;
                    (rows.as_slice().into(), None, &second_pass)
                }
            };
            self.check_fields(rows, &limits, redactor)?;
            let limits = self.with_requested_fields(limits);
            match self.query.limit {
                Some(0) => self.empty_excerpt(rows.len(), "rows"),
                _ => self.rows_excerpt(rows, matching, &limits, redactor, &mut masker),
            }
        } else if self.query.limit == Some(0) {
            // Rendered anyway, so that a query that is not allowed is refused.
            let limits = self.with_requested_fields(limits);
            self.excerpt_at_offset(content, &limits, &mut Masker::new(self.redactor, &limits))?;
            let what = if matches!(content.shape(), Shape::Text(_)) { "lines" } else { "rows" };
            self.empty_excerpt(drill_down::part_count(&content.shape()), what)
        } else {
            let limits = self.with_requested_fields(limits);
            self.excerpt_at_offset(content, &limits, &mut masker)?
        };
        let mut frame = empty_frame(source.raw, self.spec, self.limits.mode);
        frame.content = vec![json!({ "type": "text", "text": excerpt.text })];
        let notes = FrameNotes { notes: excerpt.note.into_iter().collect(), next: excerpt.next };
        Ok(auto::finish_frame(frame, source.raw, notes, masker))
    }

    /// An empty answer for a `limit` of 0; the note counts the parts.
    fn empty_excerpt(&self, parts: usize, what: &str) -> Excerpt {
        let left = parts.saturating_sub(self.offset());
        let note = format!("Shown: none of {left} {what}; `limit` is 0.");
        Excerpt { text: String::new(), note: Some(note), next: None }
    }

    fn with_requested_fields(&self, mut limits: EffectiveLimits) -> EffectiveLimits {
        if !self.query.fields.is_empty() {
            limits.allowed = Some(self.query.fields.iter().cloned().collect());
        }
        limits
    }

    /// Refuses a field that no row has; the error names the fields that exist.
    fn check_fields(
        &self,
        rows: Rows<'_>,
        limits: &EffectiveLimits,
        redactor: &Redactor,
    ) -> Result<(), HandleError> {
        let columns = ColumnCache::default();
        let selector = Selector::new(redactor, limits, rows, &columns)?;
        self.query.fields.iter().try_for_each(|field| selector.check_field_exists("fields", field))
    }

    fn offset(&self) -> usize {
        usize::try_from(self.query.offset).unwrap_or(usize::MAX)
    }

    fn limit(&self) -> usize {
        let limit = self.query.limit;
        limit.map_or(self.limits.rows, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// A page of rows, and how many match in total.
    fn rows_excerpt(
        &self,
        rows: Rows<'_>,
        matching: Option<usize>,
        limits: &EffectiveLimits,
        redactor: &Redactor,
        masker: &mut Masker<'_>,
    ) -> Excerpt {
        // Only the rows are rendered, so the content may be empty.
        let content = Content::Json(Cow::Owned(Value::Null));
        let request = self.excerpt_request(&content, limits);
        let mut excerpt = auto::excerpt_table(redactor, limits, rows, &request, masker);
        if let Some(matching) = matching {
            let match_note = format!("Matching rows: {matching}.");
            excerpt.text = match excerpt.text.is_empty() {
                true => match_note,
                false => format!("{}\n{match_note}", excerpt.text),
            };
        }
        excerpt
    }

    fn excerpt_request<'c>(
        &'c self,
        content: &'c Content<'c>,
        limits: &EffectiveLimits,
    ) -> ExcerptRequest<'c> {
        let budget = RenderBudget { tokens: limits.tokens, chars: limits.chars };
        let (offset, limit) = (self.offset(), self.limit());
        let (columns, column_order) = (&self.query.fields, &self.order);
        ExcerptRequest {
            content,
            offset,
            limit,
            budget,
            columns,
            column_order,
            is_first_page: false,
        }
    }

    /// Content in its own format, from the offset on.
    fn excerpt_at_offset(
        &self,
        content: &Content<'_>,
        limits: &EffectiveLimits,
        masker: &mut Masker<'_>,
    ) -> Result<Excerpt, HandleError> {
        if let Some(view) = self.query.view.as_ref().filter(|_| self.is_text)
            && let Some(lines) = numbered_lines(content)
        {
            return Ok(self.text_view_excerpt(&lines, view.name.as_str(), limits, masker));
        }
        match content.shape() {
            Shape::Text(text) => {
                if !limits.may_show_field(VALUE_FIELD) {
                    let detail =
                        "a text has no fields, and only named fields may be shown here".to_owned();
                    return Err(HandleError::Constraint { detail });
                }
                let masked = masker.text(text);
                let all: Vec<&str> = masked.lines().collect();
                self.check_offset(all.len(), "lines")?;
                let rest = all.iter().skip(self.offset()).take(self.limit());
                let rest = rest.copied().collect::<Vec<_>>().join("\n");
                Ok(paged_text(&rest, limits, |shown| json!({ "offset": self.offset() + shown })))
            }
            Shape::Rows { rows, .. } if self.query.view.is_none() || self.offset() > 0 => {
                self.check_offset(rows.len(), "rows")?;
                self.check_fields(rows, &self.limits, self.redactor)?;
                Ok(self.rows_excerpt(rows, None, limits, self.redactor, masker))
            }
            Shape::List(items) if self.query.view.is_none() || self.offset() > 0 => {
                self.check_offset(items.len(), "rows")?;
                Ok(self.rows_excerpt(items.into(), None, limits, self.redactor, masker))
            }
            Shape::Object(_) | Shape::Scalar(_) if self.offset() > 0 => {
                self.check_offset(1, "rows").map(|()| paged_text("", limits, |_| Value::Null))
            }
            _ => {
                let request = self.excerpt_request(content, limits);
                Ok(auto::excerpt_of(self.redactor, limits, &request, masker))
            }
        }
    }

    /// Refuses an offset past the last part, so that different queries never show the same part.
    fn check_offset(&self, total: usize, what: &str) -> Result<(), HandleError> {
        if self.offset() >= total && self.offset() > 0 {
            let detail = format!("`offset` is past the end: there are {total} {what}");
            return Err(HandleError::Query { detail });
        }
        Ok(())
    }

    /// The lines or characters that a view of a text returned; they are already masked.
    fn text_view_excerpt(
        &self,
        lines: &[(u64, &str)],
        view: &str,
        limits: &EffectiveLimits,
        masker: &mut Masker<'_>,
    ) -> Excerpt {
        let lines: Vec<&(u64, &str)> =
            lines.iter().skip(self.offset()).take(self.limit()).collect();
        let first = lines.first().map_or(0, |(number, _)| *number);
        let numbered = view == "search";
        let text: Vec<String> = lines
            .iter()
            .map(|(number, line)| {
                let line = masker.text(line);
                if numbered { format!("{number}: {line}") } else { line }
            })
            .collect();
        let unit = if view == "chars" { CutUnit::Characters } else { CutUnit::Lines };
        if text.is_empty() {
            let note = format!("The view `{view}` finds nothing there.");
            return Excerpt { text: String::new(), note: Some(note), next: None };
        }
        let text = text.join("\n");
        let budget = RenderBudget { tokens: limits.tokens, chars: limits.chars };
        let (shown, count) = auto::text_window(&text, budget, limits, unit);
        let Some(count) = count else { return Excerpt { text: shown, note: None, next: None } };
        let from = usize::try_from(first).unwrap_or(usize::MAX).saturating_add(count);
        let next = match (view, count) {
            // Not even one line fits: page through its characters.
            (_, 0) => return paged_text(&text, limits, |_| json!({ "offset": self.offset() + 1 })),
            ("lines" | "chars", _) => json!({ "args": { "start": from } }),
            _ => json!({ "offset": self.offset() + count }),
        };
        let what = if unit == CutUnit::Lines { "lines" } else { "characters" };
        let note = format!("Shown: {count} {what} from {first} on; more follow.");
        Excerpt {
            text: shown.trim_end_matches('\n').to_owned(),
            note: Some(note),
            next: Some(next),
        }
    }
}

/// The beginning of a text that fits, and the query for the rest.
fn paged_text(text: &str, limits: &EffectiveLimits, next: impl FnOnce(usize) -> Value) -> Excerpt {
    let budget = RenderBudget { tokens: limits.tokens, chars: limits.chars };
    let (shown, count) = auto::text_window(text, budget, limits, CutUnit::Lines);
    match count {
        None => Excerpt { text: shown, note: None, next: None },
        Some(0) => {
            let (shown, _) = auto::text_window(text, budget, limits, CutUnit::Characters);
            let note = "The line is too long; page it with the view `chars`.".to_owned();
            let start = shown.chars().count();
            let next = json!({ "view": "chars", "args": { "start": start } });
            Excerpt { text: shown, note: Some(note), next: Some(next) }
        }
        Some(count) => {
            let note = format!("Shown: {count} lines; more follow.");
            let shown = shown.trim_end_matches('\n').to_owned();
            Excerpt { text: shown, note: Some(note), next: Some(next(count)) }
        }
    }
}

/// The numbered lines that a view of a text returned, if the content has that form.
fn numbered_lines<'c>(content: &'c Content<'_>) -> Option<Vec<(u64, &'c str)>> {
    let Content::Json(value) = content else { return None };
    value.as_array()?.iter().map(numbered_line).collect()
}

/// A row that consists of a line or character number and a text.
fn numbered_line(row: &Value) -> Option<(u64, &str)> {
    let row: &Map<String, Value> = row.as_object().filter(|row| row.len() == 2)?;
    let number = row.get("line").or_else(|| row.get("character"))?.as_u64()?;
    Some((number, row.get(VALUE_FIELD)?.as_str()?))
}
