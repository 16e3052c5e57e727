//! Excerpts of a text: head and tail cut between lines or characters, and pages of lines.

use super::RenderBudget;
use super::excerpt_request::{Continuation, Excerpt, ExcerptRequest};
use super::verbatim_content::visible;
use crate::spec::EffectiveLimits;

/// The head gets this many thirds of the budget.
const HEAD_THIRDS: usize = 2;
/// A line that takes more than this fraction of the budget is cut.
const LONG_LINE_DIVISOR: usize = 4;
/// Tokens of the mark between head and tail. A small budget reserves at most half of it.
const MARK_TOKENS: usize = 32;
/// No token of the supported vocabularies has more than this many bytes of ordinary text.
const MAX_TOKEN_BYTES: usize = 16;

/// An excerpt of a text within its budget. `shown` is the text as it is displayed; `redacted` gives
/// the redacted text in which the views count characters.
pub(super) fn excerpt(
    shown: &str,
    redacted: impl FnOnce() -> Option<String>,
    request: &ExcerptRequest<'_>,
    limits: &EffectiveLimits,
) -> Excerpt {
    if request.budget.fits_text(shown, limits) {
        return Excerpt::whole(shown.to_owned());
    }
    let lines: Vec<&str> = shown.split_inclusive('\n').collect();
    let longest = request.budget.tokens / LONG_LINE_DIVISOR;
    let is_long =
        |line: &&&str| line.len() > longest && request.budget.token_count(line, limits) > longest;
    // A very long line cannot be shown as a whole line.
    if lines.iter().take(limits.rows).find(is_long).is_some() {
        let redacted = redacted();
        return excerpt_by_characters(redacted.as_deref().unwrap_or(shown), request, limits);
    }
    let mut left = request.budget.without_mark();
    let head_budget = left.thirds(HEAD_THIRDS);
    let head = fitting_lines(lines.iter(), head_budget, limits).min(limits.rows);
    left.spend(lines.get(..head).unwrap_or_default(), limits);
    let rest = lines.get(head..).unwrap_or_default();
    let tail = fitting_lines(rest.iter().rev(), left, limits).min(limits.rows.saturating_sub(head));
    let (first, last) = (head, lines.len() - tail);
    let missing = last - first;
    let cut: usize =
        lines.get(first..last).unwrap_or_default().iter().map(|l| l.chars().count()).sum();
    let head = lines.get(..first).unwrap_or_default().concat();
    let tail = lines.get(last..).unwrap_or_default().concat();
    let mark =
        format!("… {missing} lines cut (lines {first} to {}, {cut} characters) …\n", last - 1);
    Excerpt {
        text: format!("{head}{mark}{tail}"),
        note: Some(format!("Cut: {missing} of {} lines.", lines.len())),
        rest: Some(Continuation::Lines { start: first, end: last }),
    }
}

/// Head and tail of a redacted text with overlong lines, cut by characters. Each is measured
/// itself, because the characters of a text may differ much in their tokens.
fn excerpt_by_characters(
    text: &str,
    request: &ExcerptRequest<'_>,
    limits: &EffectiveLimits,
) -> Excerpt {
    let total = text.chars().count();
    let mut left = request.budget.without_mark();
    let head = fitting_chars(text, left.thirds(HEAD_THIRDS), limits);
    let (first, rest) = text.split_at_checked(byte_position(text, head)).unwrap_or((text, ""));
    let shown_head = visible(first);
    left.spend(&[shown_head.as_ref()], limits);
    let tail = fitting_chars_at_end(rest, left, limits);
    let end = total.saturating_sub(tail);
    let last = text.get(byte_position(text, end)..).unwrap_or_default();
    let cut = end - head;
    let mark = format!("… {cut} characters cut (characters {head} to {}) …", end.saturating_sub(1));
    Excerpt {
        text: format!("{shown_head}{mark}{}", visible(last)),
        note: Some(format!("Cut: {cut} of {total} characters.")),
        rest: Some(Continuation::Characters { start: head, end: Some(end) }),
    }
}

/// The byte at which this character begins.
fn byte_position(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// How many characters at the beginning of a redacted text fit as they are displayed. A carriage
/// return within a line is not the last of them: at the end of a text it would be displayed as one
/// that ends a line.
pub(crate) fn fitting_chars(text: &str, budget: RenderBudget, limits: &EffectiveLimits) -> usize {
    let total = text.chars().take(budget.most_chars()).count();
    let count = most_that_fit(total, |count| {
        let head = text.get(..byte_position(text, count)).unwrap_or_default();
        budget.fits_text(&visible(head), limits)
    });
    let (head, rest) = text.split_at_checked(byte_position(text, count)).unwrap_or((text, ""));
    let cuts_line = head.ends_with('\r') && !rest.is_empty() && !rest.starts_with('\n');
    count - usize::from(cuts_line)
}

/// How many characters at the end of a redacted text fit as they are displayed. What is before them
/// does not end with a carriage return within a line, as in [`fitting_chars`].
fn fitting_chars_at_end(text: &str, budget: RenderBudget, limits: &EffectiveLimits) -> usize {
    let start = |count: usize| {
        let last = count.checked_sub(1);
        let at = last.and_then(|last| text.char_indices().rev().nth(last));
        at.map_or(text.len(), |(at, _)| at)
    };
    let total = text.chars().rev().take(budget.most_chars()).count();
    let count = most_that_fit(total, |count| {
        budget.fits_text(&visible(text.get(start(count)..).unwrap_or_default()), limits)
    });
    let (before, tail) = text.split_at_checked(start(count)).unwrap_or(("", text));
    let mut following = tail.chars().peekable();
    let mut follows_return = before.ends_with('\r');
    let mut dropped = 0;
    while follows_return && following.peek().is_some_and(|next| *next != '\n') {
        follows_return = following.next() == Some('\r');
        dropped += 1;
    }
    count - dropped
}

/// The greatest count up to `total` that fits. Binary search, since token counts are not known in
/// advance; it stops within 1/64 of the optimum.
fn most_that_fit(total: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fitting, mut too_many) = (0, total + 1);
    while too_many - fitting > 1 + fitting / 64 {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            too_many = middle;
        }
    }
    fitting
}

/// A page of lines, as they are displayed.
pub(crate) struct LinePage {
    pub(crate) text: String,
    pub(crate) end: PageEnd,
}

/// Where a page of lines ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageEnd {
    /// With the last line.
    Complete,
    /// After this many lines; more follow.
    AfterLines(usize),
    /// After this many characters of the first line, which does not fit as a whole.
    WithinLine(usize),
}

/// As many whole lines as fit, from this character of the first one on; or as much of the first
/// line as fits. `None` if the first line has fewer characters.
pub(crate) fn page_of_lines(
    lines: impl Iterator<Item = String>,
    char_offset: usize,
    budget: RenderBudget,
    limits: &EffectiveLimits,
) -> Option<LinePage> {
    let mut lines = lines.peekable();
    let mut page: Vec<String> = Vec::new();
    let mut bytes = 0_usize;
    while bytes <= limits.max_text_bytes()
        && let Some(line) = lines.next()
    {
        bytes = bytes.saturating_add(line.len()).saturating_add(1);
        page.push(line);
    }
    if let Some(first) = page.first_mut().filter(|_| char_offset > 0) {
        let at = byte_position(first, char_offset);
        *first = first.get(at..).filter(|rest| !rest.is_empty())?.to_owned();
    }
    if lines.peek().is_none() {
        let text = page.join("\n");
        if budget.fits_text(&text, limits) {
            return Some(LinePage { text, end: PageEnd::Complete });
        }
    }
    // Every line but the very last is followed by a line feed.
    let ended: Vec<String> = page.iter().map(|line| format!("{line}\n")).collect();
    let ended: Vec<&str> = ended.iter().map(String::as_str).collect();
    let count = fitting_lines(ended.iter(), budget, limits);
    match page.get(..count) {
        Some(shown) if count > 0 => {
            let text = shown.join("\n");
            Some(LinePage { text, end: PageEnd::AfterLines(count) })
        }
        _ => {
            let line = page.first().map_or("", String::as_str);
            // At least one character, so that following the pages ends.
            let count = fitting_chars(line, budget, limits).max(1);
            let (head, rest) = line.split_at_checked(byte_position(line, count))?;
            let end = match (rest.is_empty(), page.len()) {
                (true, ..=1) if lines.peek().is_none() => PageEnd::Complete,
                (true, _) => PageEnd::AfterLines(1),
                (false, _) => PageEnd::WithinLine(char_offset.saturating_add(count)),
            };
            Some(LinePage { text: head.to_owned(), end })
        }
    }
}

impl RenderBudget {
    /// What is left for head and tail of a text.
    fn without_mark(self) -> Self {
        let mark = MARK_TOKENS.min(self.tokens / 2);
        Self { tokens: self.tokens - mark, ..self }
    }

    fn thirds(self, count: usize) -> Self {
        Self { tokens: self.tokens / 3 * count, chars: self.chars / 3 * count }
    }

    /// The most characters that could fit.
    fn most_chars(self) -> usize {
        self.tokens.saturating_mul(MAX_TOKEN_BYTES).min(self.chars)
    }

    fn spend(&mut self, lines: &[&str], limits: &EffectiveLimits) {
        let unlimited = Self { tokens: usize::MAX - 1, chars: usize::MAX };
        for line in lines {
            self.tokens = self.tokens.saturating_sub(unlimited.token_count(line, limits));
            if self.chars != usize::MAX {
                self.chars = self.chars.saturating_sub(line.chars().count());
            }
        }
    }
}

/// How many lines fit, taken in order.
fn fitting_lines<'t>(
    lines: impl Iterator<Item = &'t &'t str>,
    mut left: RenderBudget,
    limits: &EffectiveLimits,
) -> usize {
    let mut count = 0;
    for line in lines {
        if !left.fits_text(line, limits) {
            break;
        }
        left.spend(&[line], limits);
        count += 1;
    }
    count
}
