//! The queries for what a first frame leaves out of several blocks: one for each block.

use serde_json::{Value, json};
use weaver_types::{RawContent, RawResult};

use super::excerpt_request::Continuation;
use super::verbatim_content::Masker;
use crate::redact::{Counts, Redactor};
use crate::spec::EffectiveLimits;

/// The most queries of one frame. The last one shows all blocks from a place on where there are more
/// cut blocks.
pub(super) const MAX_CALLS: usize = 16;

/// A block of which something is left out.
pub(super) struct CutBlock {
    /// Its place among the blocks.
    pub(super) index: usize,
    /// What is left out, in words.
    pub(super) note: Option<String>,
    /// Where its rest begins, if that is known.
    pub(super) rest: Option<Continuation>,
}

impl CutBlock {
    /// A block of which nothing is shown.
    pub(super) fn unshown(index: usize) -> Self {
        let rest = Some(Continuation::Characters { start: 0, end: None });
        Self { index, note: None, rest }
    }

    fn is_unshown(&self) -> bool {
        matches!(self.rest, Some(Continuation::Characters { start: 0, .. }))
    }

    /// True if its own text has a mark that counts what is left out there.
    fn has_mark(&self) -> bool {
        let is_text = |rest: &Continuation| {
            matches!(rest, Continuation::Lines { .. } | Continuation::Characters { .. })
        };
        self.rest.as_ref().is_some_and(is_text)
    }
}

/// The notes on cut blocks. Of several, those whose text has a mark are only counted.
pub(super) fn notes(cut_blocks: &[CutBlock], of: usize) -> Vec<String> {
    if let [one] = cut_blocks {
        return one.note.clone().into_iter().collect();
    }
    let shortened = cut_blocks.iter().filter(|block| !block.is_unshown()).count();
    let mut notes = match shortened {
        0 => Vec::new(),
        count => vec![format!("Shortened: {count} of {of} blocks.")],
    };
    for block in cut_blocks.iter().filter(|block| !block.has_mark()) {
        let note = block.note.as_ref();
        notes.extend(note.map(|note| format!("Block {}: {note}", block.index)));
    }
    notes
}

/// The lists of blocks in a stored result, each with the path of the text in an item.
const BLOCK_LISTS: [(&str, &[&str]); 3] =
    [("content", &["text"]), ("contents", &["text"]), ("messages", &["content", "text"])];
/// The path of the text of an embedded document.
const DOCUMENT_PATH: &[&str] = &["resource", "text"];

/// The queries for what is left out, one for each cut block. None if nothing is left out, or if the
/// stored result does not have the blocks as they are shown.
pub(super) fn rest_queries(
    redactor: &Redactor,
    raw: &RawResult,
    limits: &EffectiveLimits,
    cut_blocks: Vec<CutBlock>,
) -> Vec<Value> {
    let Some(stored) = StoredBlocks::of(raw).filter(|_| limits.allowed.is_none()) else {
        return Vec::new();
    };
    // Blocks at the end of which nothing is shown, and those for which no query is left, are shown
    // by one query.
    let unshown = cut_blocks.iter().rev().take_while(|block| block.is_unshown()).count();
    let shown = cut_blocks.len() - unshown;
    let own = match unshown {
        0 | 1 if cut_blocks.len() <= MAX_CALLS => cut_blocks.len(),
        _ => shown.min(MAX_CALLS - 1),
    };
    let others_from = cut_blocks.get(own).map(|block| block.index);
    let own = cut_blocks.into_iter().take(own);
    let mut queries: Vec<Value> =
        own.filter_map(|block| stored.rest_of(block, redactor, limits)).collect();
    queries.extend(others_from.map(|first| stored.all_from(first)));
    queries
}

/// The blocks in a stored result.
struct StoredBlocks<'r> {
    /// The key of the list.
    name: &'static str,
    items: &'r [Value],
    text_path: &'static [&'static str],
}

impl<'r> StoredBlocks<'r> {
    /// `None` if the stored result does not have the blocks as they are shown.
    fn of(raw: &'r RawResult) -> Option<Self> {
        let RawContent::Json(stored) = &raw.content else { return None };
        let shown = raw.blocks.as_ref()?.blocks.len();
        let (name, text_path) =
            BLOCK_LISTS.into_iter().find(|(name, _)| stored.get(name).is_some())?;
        let items = stored.get(name)?.as_array().filter(|items| items.len() == shown)?;
        Some(Self { name, items, text_path })
    }

    /// The query for the rest of one block; for all of it where the place of the rest is not known.
    fn rest_of(
        &self,
        block: CutBlock,
        redactor: &Redactor,
        limits: &EffectiveLimits,
    ) -> Option<Value> {
        let (name, index) = (self.name, block.index);
        let item = self.items.get(index)?;
        let paths = [self.text_path, DOCUMENT_PATH];
        let Some(text_path) = paths.into_iter().find(|path| text_at(item, path).is_some()) else {
            return Some(json!({ "view": "get", "args": { "path": format!("{name}[{index}]") } }));
        };
        let path = format!("{name}[{index}].{}", text_path.join("."));
        let counts_as_shown = || has_text_as_shown(redactor, limits, item, text_path);
        Some(match block.rest {
            Some(Continuation::Lines { start, end }) if counts_as_shown() => json!({
                "view": "lines", "args": { "path": path, "start": start, "end": end },
            }),
            Some(Continuation::Characters { start, end: Some(end) }) if counts_as_shown() => {
                json!({
                    "view": "chars", "args": { "path": path, "start": start, "end": end },
                })
            }
            _ => json!({ "view": "chars", "args": { "path": path } }),
        })
    }

    /// The query for all blocks from one on: their lines, if all of them are texts.
    fn all_from(&self, first: usize) -> Value {
        let name = self.name;
        let path = match first {
            0 => format!("{name}[]"),
            first => format!("{name}[{first}:]"),
        };
        let mut items = self.items.iter().skip(first);
        match items.all(|item| text_at(item, self.text_path).is_some()) {
            true => {
                let path = format!("{path}.{}", self.text_path.join("."));
                json!({ "view": "lines", "args": { "path": path } })
            }
            false => json!({ "view": "get", "args": { "path": path } }),
        }
    }
}

fn text_at<'v>(item: &'v Value, path: &[&str]) -> Option<&'v str> {
    path.iter().try_fold(item, |value, name| value.get(name))?.as_str()
}

/// True if the views count the lines and characters of the text in a stored item as the first frame
/// did, which redacted the text by itself.
fn has_text_as_shown(
    redactor: &Redactor,
    limits: &EffectiveLimits,
    item: &Value,
    text_path: &[&str],
) -> bool {
    let Some(text) = text_at(item, text_path) else { return false };
    let mut masker = Masker::new(redactor, limits);
    let shown = masker.text(text);
    let names = limits.field_name_classifier();
    let viewed = redactor.redact_value_with_names(item, names, &mut Counts::new());
    let redacted = masker.redacted_text(text, &shown);
    redacted.is_some() && redacted.as_deref() == text_at(&viewed, text_path)
}
