//! The answer to a question in mode `auto`: the part that was asked for in its own form.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use weaver_types::Frame;

use super::column::{Columns, VALUE};
use super::select::{QueryOutcome, Selector};
use super::{HandleQuery, drill};
use crate::content::{Content, Rows, Shape};
use crate::error::HandleError;
use crate::frame::auto::{self, CutUnit, Excerpt, FrameNotes, Masker, Part, RenderBudget};
use crate::frame::empty;
use crate::query::drill::Source;
use crate::redact::Redactor;
use crate::spec::{FrameSpec, Limits};

/// A question, and what it is answered from.
pub(super) struct Question<'a> {
    pub(super) redactor: &'a Redactor,
    pub(super) query: &'a HandleQuery,
    pub(super) spec: &'a FrameSpec<'a>,
    pub(super) limits: Limits,
    /// Whether it is about lines of a text, or characters, that a view gives.
    pub(super) is_text: bool,
    /// The order of columns in the text of the result.
    pub(super) order: Vec<String>,
}

impl Question<'_> {
    /// The answer from content, of a view or whole.
    pub(super) fn answer(
        &self,
        source: &Source<'_>,
        content: &Content<'_>,
        columns: &Columns,
    ) -> Result<Frame, HandleError> {
        let mut limits = self.limits.clone();
        let mut masker = Masker::new(self.redactor, &self.limits);
        let excerpt = if self.query.is_selective() {
            let all = drill::rows(content, self.redactor, &limits)?;
            // Masks in rows that are made of what was redacted are ours.
            let again = self.redactor.again();
            let redactor = if all.is_redacted() { &again } else { self.redactor };
            let selector = Selector::new(redactor, &limits, all.rows(), columns)?;
            let selected = selector.select(self.query)?;
            let (rows, matching, redactor) = match &selected {
                QueryOutcome::Rows(numbers) => {
                    let matching = (!self.query.filter.is_empty()).then_some(numbers.len());
                    (all.rows().numbered(numbers), matching, redactor)
                }
                QueryOutcome::Computed(rows) => {
                    limits.allowed = None;
                    (rows.as_slice().into(), None, &again)
                }
            };
            self.known_fields(rows, &limits, redactor)?;
            let limits = self.only_fields(limits);
            match self.query.limit {
                Some(0) => self.nothing(rows.len(), "rows"),
                _ => self.table(rows, matching, &limits, redactor, &mut masker),
            }
        } else if self.query.limit == Some(0) {
            // Looked at all the same, so that what may not be asked is refused.
            let limits = self.only_fields(limits);
            self.excerpt_at_offset(content, &limits, &mut Masker::new(self.redactor, &limits))?;
            let what = if matches!(content.shape(), Shape::Text(_)) { "lines" } else { "rows" };
            self.nothing(drill::parts_of(&content.shape()), what)
        } else {
            let limits = self.only_fields(limits);
            self.excerpt_at_offset(content, &limits, &mut masker)?
        };
        let mut frame = empty(source.raw, self.spec, self.limits.mode);
        frame.content = vec![json!({ "type": "text", "text": excerpt.text })];
        let notes = FrameNotes { notes: excerpt.note.into_iter().collect(), next: excerpt.next };
        Ok(auto::finish(frame, source.raw, notes, masker))
    }

    /// An answer without parts, for a `limit` of 0. The note counts the parts.
    fn nothing(&self, parts: usize, what: &str) -> Excerpt {
        let left = parts.saturating_sub(self.offset());
        let note = format!("Shown: none of {left} {what}; `limit` is 0.");
        Excerpt { text: String::new(), note: Some(note), next: None }
    }

    fn only_fields(&self, mut limits: Limits) -> Limits {
        if !self.query.fields.is_empty() {
            limits.allowed = Some(self.query.fields.iter().cloned().collect());
        }
        limits
    }

    /// A field that no row has is an error that names those there are.
    fn known_fields(
        &self,
        rows: Rows<'_>,
        limits: &Limits,
        redactor: &Redactor,
    ) -> Result<(), HandleError> {
        let columns = Columns::default();
        let selector = Selector::new(redactor, limits, rows, &columns)?;
        self.query.fields.iter().try_for_each(|field| selector.knows("fields", field))
    }

    fn offset(&self) -> usize {
        usize::try_from(self.query.offset).unwrap_or(usize::MAX)
    }

    fn limit(&self) -> usize {
        let limit = self.query.limit;
        limit.map_or(self.limits.rows, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// A page of rows, and how many match in all.
    fn table(
        &self,
        rows: Rows<'_>,
        matching: Option<usize>,
        limits: &Limits,
        redactor: &Redactor,
        masker: &mut Masker<'_>,
    ) -> Excerpt {
        // A table is made of the rows alone; they are not copied into content.
        let content = Content::Json(Cow::Owned(Value::Null));
        let part = self.part(&content, limits);
        let mut excerpt = auto::excerpt_table(redactor, limits, rows, &part, masker);
        if let Some(matching) = matching {
            let said = format!("Matching rows: {matching}.");
            excerpt.text = match excerpt.text.is_empty() {
                true => said,
                false => format!("{}\n{said}", excerpt.text),
            };
        }
        excerpt
    }

    fn part<'c>(&'c self, content: &'c Content<'c>, limits: &Limits) -> Part<'c> {
        let space = RenderBudget { tokens: limits.tokens, chars: limits.chars };
        let (offset, limit) = (self.offset(), self.limit());
        let (columns, order) = (&self.query.fields, &self.order);
        Part { content, offset, limit, space, columns, order, first: false }
    }

    /// Content as it stands, from the offset on.
    fn excerpt_at_offset(
        &self,
        content: &Content<'_>,
        limits: &Limits,
        masker: &mut Masker<'_>,
    ) -> Result<Excerpt, HandleError> {
        if let Some(view) = self.query.view.as_ref().filter(|_| self.is_text)
            && let Some(lines) = lines_of(content)
        {
            return Ok(self.lines(&lines, view.name.as_str(), limits, masker));
        }
        match content.shape() {
            Shape::Text(text) => {
                if !limits.admits(VALUE) {
                    let detail = "a text has no fields, and only some may be seen here".to_owned();
                    return Err(HandleError::Constraint { detail });
                }
                let masked = masker.text(text);
                let all: Vec<&str> = masked.lines().collect();
                self.past_the_end(all.len(), "lines")?;
                let rest = all.iter().skip(self.offset()).take(self.limit());
                let rest = rest.copied().collect::<Vec<_>>().join("\n");
                Ok(windowed(&rest, limits, |shown| json!({ "offset": self.offset() + shown })))
            }
            Shape::Rows { rows, .. } if self.query.view.is_none() || self.offset() > 0 => {
                self.past_the_end(rows.len(), "rows")?;
                self.known_fields(rows, &self.limits, self.redactor)?;
                Ok(self.table(rows, None, limits, self.redactor, masker))
            }
            Shape::List(items) if self.query.view.is_none() || self.offset() > 0 => {
                self.past_the_end(items.len(), "rows")?;
                Ok(self.table(items.into(), None, limits, self.redactor, masker))
            }
            Shape::Object(_) | Shape::Scalar(_) if self.offset() > 0 => {
                self.past_the_end(1, "rows").map(|()| windowed("", limits, |_| Value::Null))
            }
            _ => {
                let part = self.part(content, limits);
                Ok(auto::excerpt_of(self.redactor, limits, &part, masker))
            }
        }
    }

    /// A part that lies behind the last one is refused: the same part is never shown for another
    /// question.
    fn past_the_end(&self, total: usize, what: &str) -> Result<(), HandleError> {
        if self.offset() >= total && self.offset() > 0 {
            let detail = format!("`offset` is past the end: there are {total} {what}");
            return Err(HandleError::Query { detail });
        }
        Ok(())
    }

    /// Lines, or characters, that a view of a text gives; they are masked already.
    fn lines(
        &self,
        lines: &[(u64, &str)],
        view: &str,
        limits: &Limits,
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
        let space = RenderBudget { tokens: limits.tokens, chars: limits.chars };
        let (shown, count) = auto::text_window(&text, space, limits, unit);
        let Some(count) = count else { return Excerpt { text: shown, note: None, next: None } };
        let from = usize::try_from(first).unwrap_or(usize::MAX).saturating_add(count);
        let next = match (view, count) {
            // A line alone is too long: its characters are paged.
            (_, 0) => return windowed(&text, limits, |_| json!({ "offset": self.offset() + 1 })),
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

/// A text from its beginning on, and the query for the rest.
fn windowed(text: &str, limits: &Limits, next: impl FnOnce(usize) -> Value) -> Excerpt {
    let space = RenderBudget { tokens: limits.tokens, chars: limits.chars };
    let (shown, count) = auto::text_window(text, space, limits, CutUnit::Lines);
    match count {
        None => Excerpt { text: shown, note: None, next: None },
        Some(0) => {
            let (shown, _) = auto::text_window(text, space, limits, CutUnit::Characters);
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

/// What the views of texts give: places and texts.
fn lines_of<'c>(content: &'c Content<'_>) -> Option<Vec<(u64, &'c str)>> {
    let Content::Json(value) = content else { return None };
    value.as_array()?.iter().map(as_line).collect()
}

/// A row that is a place in a text and what stands there.
fn as_line(row: &Value) -> Option<(u64, &str)> {
    let row: &Map<String, Value> = row.as_object().filter(|row| row.len() == 2)?;
    let number = row.get("line").or_else(|| row.get("character"))?.as_u64()?;
    Some((number, row.get(VALUE)?.as_str()?))
}
