//! Answers in mode `auto` from the lines or characters of a text.

use super::auto_answer::{AutoQuery, past_the_end};
use super::{ViewRequest, query_error};
use crate::error::HandleError;
use crate::frame::auto::{self, Continuation, Excerpt, Masker, PageEnd, RenderBudget};
use crate::spec::EffectiveLimits;
use crate::view::text::TextParts;

impl AutoQuery<'_> {
    /// The lines that a view of a text returned; they are already redacted.
    pub(super) fn lines_excerpt(
        &self,
        view: &ViewRequest,
        lines: &TextParts<'_>,
        limits: &EffectiveLimits,
        masker: &mut Masker<'_>,
    ) -> Result<Excerpt, HandleError> {
        let Some((first, _)) = lines.parts.get(self.offset()) else {
            return Ok(nothing_found(view));
        };
        let is_search = view.name == "search";
        let mut excerpt = self.page_of_lines(lines.parts.len(), limits, |at| {
            let (number, line) = lines.parts.get(at)?;
            let line = masker.text(line);
            Some(match lines.paths.get(at) {
                _ if !is_search => line,
                Some(path) => format!("{} {number}: {line}", masker.text(path)),
                None => format!("{number}: {line}"),
            })
        })?;
        if let Some(Continuation::Rows { offset, char_offset: 0 }) = excerpt.rest {
            let count = offset - self.offset();
            excerpt.note = Some(format!("Shown: {count} lines from {first} on; more follow."));
        }
        Ok(excerpt)
    }

    /// As many lines as fit from the offset on, of all lines with numbers below `total`.
    pub(super) fn page_of_lines(
        &self,
        total: usize,
        limits: &EffectiveLimits,
        line: impl FnMut(usize) -> Option<String>,
    ) -> Result<Excerpt, HandleError> {
        let offset = self.offset();
        let count = self.limit().unwrap_or(usize::MAX).min(self.limits.rows);
        let end = offset.saturating_add(count).min(total);
        let lines = (offset..end).map_while(line);
        let budget = RenderBudget { tokens: limits.tokens, chars: limits.chars };
        let page = auto::page_of_lines(lines, self.char_offset(), budget, limits);
        let page = page.ok_or_else(past_the_end)?;
        let next = match page.end {
            PageEnd::Complete => end,
            PageEnd::AfterLines(count) => offset.saturating_add(count),
            PageEnd::WithinLine(char_offset) => {
                let from = self.char_offset();
                let note = format!(
                    "The line is too long for one answer: its characters {from} to {} are shown.",
                    char_offset.saturating_sub(1)
                );
                let rest = Some(Continuation::Rows { offset, char_offset });
                return Ok(Excerpt { text: page.text, note: Some(note), rest });
            }
        };
        // Where a rule allows no line at all, no page would ever advance.
        let is_all = next >= total || count == 0 || self.limit() == Some(next - offset);
        let rest = (!is_all).then_some(Continuation::Rows { offset: next, char_offset: 0 });
        let note = rest.is_some().then(|| format!("Shown: {} lines; more follow.", next - offset));
        Ok(Excerpt { text: page.text, note, rest })
    }

    /// The characters that a view of a text returned; they are already redacted.
    pub(super) fn characters_excerpt(
        &self,
        view: &ViewRequest,
        text: &TextParts<'_>,
        limits: &EffectiveLimits,
        masker: &mut Masker<'_>,
    ) -> Result<Excerpt, HandleError> {
        if self.query.char_offset > 0 {
            let detail = format!(
                "`char_offset` does not go with characters of a text; take `{}`",
                "{\"view\": \"chars\", \"args\": {\"start\": …}}"
            );
            return Err(query_error(detail));
        }
        let part = text.parts.get(self.offset()).filter(|(_, part)| !part.is_empty());
        let Some((start, part)) = part else { return Ok(nothing_found(view)) };
        let budget = RenderBudget { tokens: limits.tokens, chars: limits.chars };
        let shown = masker.text(part);
        if budget.fits_text(&shown, limits) {
            return Ok(Excerpt::whole(shown));
        }
        // At least one character, so that following the pages ends.
        let count = auto::fitting_chars(part, budget, limits).max(1);
        let head = weaver_text::escape::truncate(part, count);
        let shown = masker.text(head);
        if head.len() == part.len() {
            return Ok(Excerpt::whole(shown));
        }
        let note = format!("Shown: {count} characters from {start} on; more follow.");
        let rest = Continuation::Characters { start: start.saturating_add(count), end: text.end };
        Ok(Excerpt { text: shown, note: Some(note), rest: Some(rest) })
    }
}

fn nothing_found(view: &ViewRequest) -> Excerpt {
    let note = format!("The view `{}` finds nothing there.", view.name);
    Excerpt { text: String::new(), note: Some(note), rest: None }
}
