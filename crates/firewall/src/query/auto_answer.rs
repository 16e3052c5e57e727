//! Answers a query in mode `auto`: the requested part in its own format.

use std::borrow::Cow;

use serde_json::{Value, json};
use weaver_types::Frame;

use super::column::{ColumnCache, VALUE_FIELD};
use super::select::{QueryOutcome, Selector};
use super::{HandleQuery, drill_down, query_error, query_json};
use crate::content::{Content, Rows, Shape};
use crate::error::HandleError;
use crate::frame::auto::{
    self, Continuation, Excerpt, ExcerptRequest, FrameNotes, Masker, RenderBudget,
};
use crate::frame::empty_frame;
use crate::query::result_source::ResultSource;
use crate::redact::Redactor;
use crate::spec::{EffectiveLimits, FrameSpec};
use crate::view::text::{TextParts, TextUnit};

/// A query with everything that its answer depends on.
pub(super) struct AutoQuery<'a> {
    pub(super) redactor: &'a Redactor,
    pub(super) query: &'a HandleQuery,
    pub(super) spec: &'a FrameSpec<'a>,
    pub(super) limits: EffectiveLimits,
    /// The lines or characters of a text, if the view returned some.
    pub(super) text: Option<TextParts<'a>>,
    /// The path of the value that is shown, if it is one value of stored JSON.
    pub(super) path: Option<String>,
    /// What the view left out.
    pub(super) omitted: Vec<(&'static str, usize)>,
    /// The column order in the text of the result.
    pub(super) order: Vec<String>,
    /// What stands between the cells of a table.
    pub(super) separator: char,
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
            let (comparing, computing);
            let redactor = if all.is_redacted() { &second_pass } else { self.redactor };
            comparing = redactor.with_provisional_masks();
            let selector = Selector::new(&comparing, &limits, all.rows(), columns)?;
            let selected = selector.select(self.query)?;
            let (rows, matching, redactor) = match &selected {
                QueryOutcome::Rows(numbers) => {
                    let matching = (!self.query.filter.is_empty()).then_some(numbers.len());
                    (all.rows().select(numbers), matching, redactor)
                }
                QueryOutcome::Computed(rows) => {
                    limits.allowed = None;
                    computing = comparing.for_redacted_text();
                    (rows.as_slice().into(), None, &computing)
                }
            };
            self.check_fields(rows, &limits, redactor)?;
            let limits = limits.with_requested_fields(&self.query.fields);
            let mut excerpt = match self.query.limit {
                Some(0) => self.empty_excerpt(rows.len(), "rows"),
                _ => self.rows_excerpt(rows, matching, &limits, redactor, &mut masker)?,
            };
            comparing.give_lasting_masks_in(&mut excerpt.text);
            excerpt
        } else if self.query.limit == Some(0) {
            // Rendered anyway, so that a query that is not allowed is refused.
            let limits = limits.with_requested_fields(&self.query.fields);
            let mut scratch = Masker::new(self.redactor, &limits);
            self.excerpt_at_offset(content, &limits, &mut scratch)?;
            let what = if matches!(content.shape(), Shape::Text(_)) { "lines" } else { "rows" };
            self.empty_excerpt(drill_down::part_count(&content.shape()), what)
        } else {
            let limits = limits.with_requested_fields(&self.query.fields);
            self.excerpt_at_offset(content, &limits, &mut masker)?
        };
        let mut frame = empty_frame(source.raw, self.spec, self.limits.mode);
        frame.content = vec![json!({ "type": "text", "text": excerpt.text })];
        let next = excerpt.rest.and_then(|rest| self.next_query(rest)).into_iter().collect();
        for (kind, count) in &self.omitted {
            masker.omit(kind, *count);
        }
        let notes = FrameNotes { notes: excerpt.note.into_iter().collect(), next };
        Ok(auto::finish_frame(frame, source.raw, notes, masker))
    }

    /// The query that continues this one, complete. A limit that is used up ends the pages.
    fn next_query(&self, rest: Continuation) -> Option<Value> {
        let mut query = self.query.clone();
        match rest {
            Continuation::Rows { offset, char_offset } => {
                let shown = offset.saturating_sub(self.offset()) as u64;
                query.limit = query.limit.map(|limit| limit.saturating_sub(shown));
                (query.offset, query.char_offset) = (offset as u64, char_offset as u64);
                self.name_line(&mut query);
            }
            Continuation::ValueCharacters(start) => query.char_offset = start as u64,
            Continuation::TextCharacters { path, start, in_value } => match &self.path {
                Some(before) => return Some(chars_query(&join_paths(before, &path), start, None)),
                None => query.char_offset = in_value as u64,
            },
            Continuation::Characters { start, end } => {
                return Some(chars_query(&self.text_path(), start, end));
            }
            // Only the first frame of a result leaves out lines in the middle.
            Continuation::Lines { .. } => return None,
        }
        (query.limit != Some(0)).then(|| query_json::to_json(&query))
    }

    /// In the view `lines`, the next line is named by its number.
    fn name_line(&self, query: &mut HandleQuery) {
        let Some(view) = query.view.as_mut().filter(|view| view.name == "lines") else { return };
        let line =
            |text: &TextParts<'_>| Some(text.parts.get(usize::try_from(query.offset).ok()?)?.0);
        if let Some(line) = self.text.as_ref().and_then(line) {
            view.args.insert("start".to_owned(), json!(line));
            query.offset = 0;
        }
    }

    /// The path of the text of a view; empty for a result that is a text.
    fn text_path(&self) -> String {
        let of_view = self.query.view.as_ref().and_then(|view| view.args.get("path")?.as_str());
        of_view.or(self.path.as_deref()).unwrap_or_default().to_owned()
    }

    /// An empty answer for a `limit` of 0; the note counts the parts.
    fn empty_excerpt(&self, parts: usize, what: &str) -> Excerpt {
        let left = parts.saturating_sub(self.offset());
        let note = format!("Shown: none of {left} {what}; `limit` is 0.");
        Excerpt { text: String::new(), note: Some(note), rest: None }
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

    pub(super) fn offset(&self) -> usize {
        usize::try_from(self.query.offset).unwrap_or(usize::MAX)
    }

    pub(super) fn char_offset(&self) -> usize {
        usize::try_from(self.query.char_offset).unwrap_or(usize::MAX)
    }

    /// The most rows that were asked for.
    pub(super) fn limit(&self) -> Option<usize> {
        self.query.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// A page of rows, and how many match in total.
    fn rows_excerpt(
        &self,
        rows: Rows<'_>,
        matching: Option<usize>,
        limits: &EffectiveLimits,
        redactor: &Redactor,
        masker: &mut Masker<'_>,
    ) -> Result<Excerpt, HandleError> {
        // Only the rows are rendered, so the content may be empty.
        let content = Content::Json(Cow::Owned(Value::Null));
        let mut request = self.excerpt_request(&content, limits);
        let match_note = matching.map(|matching| format!("Matching rows: {matching}."));
        if let Some(note) = &match_note {
            let tokens = request.budget.token_count(note, limits).saturating_add(1);
            request.budget.tokens = request.budget.tokens.saturating_sub(tokens);
        }
        let excerpt = auto::excerpt_table(redactor, limits, rows, &request, masker);
        let mut excerpt = excerpt.ok_or_else(past_the_end)?;
        if let Some(match_note) = match_note {
            excerpt.text = match excerpt.text.is_empty() {
                true => match_note,
                false => format!("{}\n{match_note}", excerpt.text),
            };
        }
        Ok(excerpt)
    }

    fn excerpt_request<'c>(
        &'c self,
        content: &'c Content<'c>,
        limits: &EffectiveLimits,
    ) -> ExcerptRequest<'c> {
        ExcerptRequest {
            content,
            offset: self.offset(),
            char_offset: self.char_offset(),
            limit: self.limit(),
            budget: RenderBudget { tokens: limits.tokens, chars: limits.chars },
            columns: &self.query.fields,
            column_order: &self.order,
            separator: self.separator,
            is_first_page: false,
            has_json_views: self.path.is_some(),
        }
    }

    /// Content in its own format, from the offset on.
    fn excerpt_at_offset(
        &self,
        content: &Content<'_>,
        limits: &EffectiveLimits,
        masker: &mut Masker<'_>,
    ) -> Result<Excerpt, HandleError> {
        if let (Some(view), Some(text)) = (&self.query.view, &self.text) {
            return match text.unit {
                TextUnit::Lines => self.lines_excerpt(view, text, limits, masker),
                TextUnit::Characters => self.characters_excerpt(view, text, limits, masker),
            };
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
                self.page_of_lines(all.len(), limits, |at| Some((*all.get(at)?).to_owned()))
            }
            Shape::Rows { rows, .. } if self.query.view.is_none() || self.offset() > 0 => {
                self.check_offset(rows.len(), "rows")?;
                self.check_fields(rows, &self.limits, self.redactor)?;
                self.rows_excerpt(rows, None, limits, self.redactor, masker)
            }
            Shape::List(items) if self.query.view.is_none() || self.offset() > 0 => {
                self.check_offset(items.len(), "rows")?;
                self.rows_excerpt(items.into(), None, limits, self.redactor, masker)
            }
            shape => {
                if matches!(shape, Shape::Object(_) | Shape::Scalar(_)) {
                    self.check_offset(1, "rows")?;
                }
                let limited = self.first_items(content);
                let request = self.excerpt_request(limited.as_ref().unwrap_or(content), limits);
                auto::excerpt_of(self.redactor, limits, &request, masker).ok_or_else(past_the_end)
            }
        }
    }

    /// A list without the items beyond the limit of the query, if there are such.
    fn first_items(&self, content: &Content<'_>) -> Option<Content<'static>> {
        let (Content::Json(value), Some(limit)) = (content, self.limit()) else { return None };
        let items = value.as_array().filter(|items| items.len() > limit)?;
        let first = items.iter().take(limit).cloned().collect();
        Some(Content::Json(Cow::Owned(Value::Array(first))))
    }

    /// Refuses an offset past the last part, so that different queries never show the same part.
    fn check_offset(&self, total: usize, what: &str) -> Result<(), HandleError> {
        if self.offset() >= total && self.offset() > 0 {
            let detail = format!("`offset` is past the end: there are {total} {what}");
            return Err(HandleError::Query { detail });
        }
        Ok(())
    }
}

pub(super) fn past_the_end() -> HandleError {
    query_error("`char_offset` is past the end of what is there".to_owned())
}

/// The query for characters of a text.
fn chars_query(path: &str, start: usize, end: Option<usize>) -> Value {
    let mut args = json!({ "start": start });
    if let Some(args) = args.as_object_mut() {
        args.extend((!path.is_empty()).then(|| ("path".to_owned(), json!(path))));
        args.extend(end.map(|end| ("end".to_owned(), json!(end))));
    }
    json!({ "view": "chars", "args": args })
}

/// The path of a part below another path.
fn join_paths(before: &str, path: &str) -> String {
    match before {
        "" | "$" => path.to_owned(),
        before if path.starts_with('[') => format!("{before}{path}"),
        before => format!("{before}.{path}"),
    }
}
