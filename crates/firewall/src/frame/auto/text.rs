//! Excerpts of a text: head and tail cut between lines, or the beginning of a page.

use serde_json::json;

use super::RenderBudget;
use super::excerpt_request::{Excerpt, ExcerptRequest};
use crate::spec::EffectiveLimits;

/// The head gets this many thirds of the budget.
const HEAD_THIRDS: usize = 2;
/// A line that takes more than this fraction of the budget is cut.
const LONG_LINE_DIVISOR: usize = 4;

/// An excerpt of a masked text within its budget.
pub(super) fn excerpt(
    text: &str,
    request: &ExcerptRequest<'_>,
    limits: &EffectiveLimits,
) -> Excerpt {
    if request.budget.fits_text(text, limits) {
        return Excerpt { text: text.to_owned(), note: None, next: None };
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let tokens = request.budget.tokens;
    let longest = tokens / LONG_LINE_DIVISOR;
    let is_long =
        |line: &&&str| line.len() > longest && request.budget.token_count(line, limits) > longest;
    // A very long line cannot be shown as a whole line.
    if lines.iter().take(limits.rows).find(is_long).is_some() {
        return excerpt_by_characters(text, request, limits);
    }
    let mut left = RemainingBudget { tokens, chars: request.budget.chars };
    let head_space =
        RemainingBudget { tokens: tokens / 3 * HEAD_THIRDS, chars: left.chars / 3 * HEAD_THIRDS };
    let head = fitting_lines(lines.iter(), head_space, limits).min(limits.rows);
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
        next: Some(json!({ "view": "lines", "args": { "start": first, "end": last } })),
    }
}

/// Head and tail of a text with overlong lines, cut by characters.
fn excerpt_by_characters(
    text: &str,
    request: &ExcerptRequest<'_>,
    limits: &EffectiveLimits,
) -> Excerpt {
    let total = text.chars().count();
    let most = fitting_chars(text, request.budget, limits);
    let (head, tail) = (most / 3 * HEAD_THIRDS, most / 3);
    let end = total.saturating_sub(tail);
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let first = text.get(..at(head)).unwrap_or_default();
    let last = text.get(at(end)..).unwrap_or_default();
    let cut = end - head;
    Excerpt {
        text: format!("{first}… {cut} characters cut (characters {head} to {}) …{last}", end - 1),
        note: Some(format!("Cut: {cut} of {total} characters.")),
        next: Some(json!({ "view": "chars", "args": { "start": head, "end": end } })),
    }
}

/// Where a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutUnit {
    /// Between lines.
    Lines,
    /// Between characters.
    Characters,
}

/// The beginning of a masked text that fits: whole lines, or characters; and how many of them,
/// unless everything fits.
pub(crate) fn fitting_prefix(
    text: &str,
    budget: RenderBudget,
    limits: &EffectiveLimits,
    unit: CutUnit,
) -> (String, Option<usize>) {
    if budget.fits_text(text, limits) {
        return (text.to_owned(), None);
    }
    if unit == CutUnit::Lines {
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let left = RemainingBudget { tokens: budget.tokens, chars: budget.chars };
        let count = fitting_lines(all.iter(), left, limits);
        return (all.get(..count).unwrap_or_default().concat(), Some(count));
    }
    let count = fitting_chars(text, budget, limits);
    (text.chars().take(count).collect(), Some(count))
}

/// How many characters of a text fit. Binary search, since token counts are not known in advance;
/// it stops within 1/64 of the optimum.
fn fitting_chars(text: &str, budget: RenderBudget, limits: &EffectiveLimits) -> usize {
    // No token of the supported vocabularies has more than this many bytes of ordinary text.
    let total = text.chars().take(budget.tokens.saturating_mul(16)).count().min(budget.chars);
    let (mut fits, mut too_many) = (0, total + 1);
    while too_many - fits > 1 + fits / 64 {
        let middle = fits + (too_many - fits) / 2;
        let end = text.char_indices().nth(middle).map_or(text.len(), |(at, _)| at);
        if budget.fits_text(text.get(..end).unwrap_or_default(), limits) {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    fits
}

/// The unspent part of a budget.
#[derive(Clone, Copy)]
struct RemainingBudget {
    tokens: usize,
    chars: usize,
}

impl RemainingBudget {
    fn spend(&mut self, lines: &[&str], limits: &EffectiveLimits) {
        let unlimited = RenderBudget { tokens: usize::MAX - 1, chars: usize::MAX };
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
    mut left: RemainingBudget,
    limits: &EffectiveLimits,
) -> usize {
    let mut count = 0;
    for line in lines {
        let budget = RenderBudget { tokens: left.tokens, chars: left.chars };
        if !budget.fits_text(line, limits) {
            break;
        }
        left.spend(&[line], limits);
        count += 1;
    }
    count
}
