//! Parts of a text: its head and tail at line borders, or what comes first of a page.

use serde_json::json;

use super::RenderBudget;
use super::part::{Excerpt, Part};
use crate::spec::Limits;

/// The part of the space that the head gets, of three.
const HEAD: usize = 2;
/// A line is cut where it takes more than this part of the space.
const LINE: usize = 4;

/// A masked text within its space.
pub(super) fn excerpt(text: &str, part: &Part<'_>, limits: &Limits) -> Excerpt {
    if part.space.holds(text, limits) {
        return Excerpt { text: text.to_owned(), note: None, next: None };
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let tokens = part.space.tokens;
    let longest = tokens / LINE;
    let is_long = |line: &&&str| line.len() > longest && part.space.size(line, limits) > longest;
    // A line beyond the space cannot be shown at a border of lines.
    if lines.iter().take(limits.rows).find(is_long).is_some() {
        return by_characters(text, part, limits);
    }
    let mut left = RemainingBudget { tokens, chars: part.space.chars };
    let head_space = RemainingBudget { tokens: tokens / 3 * HEAD, chars: left.chars / 3 * HEAD };
    let head = fitting(lines.iter(), head_space, limits).min(limits.rows);
    left.take(lines.get(..head).unwrap_or_default(), limits);
    let rest = lines.get(head..).unwrap_or_default();
    let tail = fitting(rest.iter().rev(), left, limits).min(limits.rows.saturating_sub(head));
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

/// Head and tail of a text with lines that are too long, by characters.
fn by_characters(text: &str, part: &Part<'_>, limits: &Limits) -> Excerpt {
    let total = text.chars().count();
    let most = prefix(text, part.space, limits);
    let (head, tail) = (most / 3 * HEAD, most / 3);
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

/// What of a masked text is shown from a place on: whole lines where they fit, otherwise
/// characters; and where the rest begins, if there is a rest.
pub(crate) fn window(
    text: &str,
    space: RenderBudget,
    limits: &Limits,
    unit: CutUnit,
) -> (String, Option<usize>) {
    if space.holds(text, limits) {
        return (text.to_owned(), None);
    }
    if unit == CutUnit::Lines {
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let left = RemainingBudget { tokens: space.tokens, chars: space.chars };
        let count = fitting(all.iter(), left, limits);
        return (all.get(..count).unwrap_or_default().concat(), Some(count));
    }
    let count = prefix(text, space, limits);
    (text.chars().take(count).collect(), Some(count))
}

/// How many characters of a text fit: found by halving, since tokens are not known beforehand.
fn prefix(text: &str, space: RenderBudget, limits: &Limits) -> usize {
    // No token of the vocabularies has more than this many bytes of ordinary text.
    let total = text.chars().take(space.tokens.saturating_mul(16)).count().min(space.chars);
    let (mut fits, mut over) = (0, total + 1);
    while over - fits > 1 + fits / 64 {
        let middle = fits + (over - fits) / 2;
        let end = text.char_indices().nth(middle).map_or(text.len(), |(at, _)| at);
        if space.holds(text.get(..end).unwrap_or_default(), limits) {
            fits = middle;
        } else {
            over = middle;
        }
    }
    fits
}

/// What is left of a space.
#[derive(Clone, Copy)]
struct RemainingBudget {
    tokens: usize,
    chars: usize,
}

impl RemainingBudget {
    fn take(&mut self, lines: &[&str], limits: &Limits) {
        let space = RenderBudget { tokens: usize::MAX - 1, chars: usize::MAX };
        for line in lines {
            self.tokens = self.tokens.saturating_sub(space.size(line, limits));
            if self.chars != usize::MAX {
                self.chars = self.chars.saturating_sub(line.chars().count());
            }
        }
    }
}

/// How many of these lines fit, one after the other.
fn fitting<'t>(
    lines: impl Iterator<Item = &'t &'t str>,
    mut left: RemainingBudget,
    limits: &Limits,
) -> usize {
    let mut count = 0;
    for line in lines {
        let space = RenderBudget { tokens: left.tokens, chars: left.chars };
        if !space.holds(line, limits) {
            break;
        }
        left.take(&[line], limits);
        count += 1;
    }
    count
}
