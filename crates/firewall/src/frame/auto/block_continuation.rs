//! The query for what a first frame leaves out of several blocks.

use serde_json::{Value, json};
use weaver_types::{RawContent, RawResult};

use super::excerpt_request::Continuation;
use super::verbatim_content::Masker;
use crate::redact::{Counts, Redactor};
use crate::spec::EffectiveLimits;

/// A block of which something is left out.
pub(super) struct CutBlock {
    /// Its place among the blocks.
    pub(super) index: usize,
    /// Where its rest begins, if that is known.
    pub(super) rest: Option<Continuation>,
}

/// The lists of blocks in a stored result, each with the path of the text in an item.
const BLOCK_LISTS: [(&str, &[&str]); 3] =
    [("content", &["text"]), ("contents", &["text"]), ("messages", &["content", "text"])];

/// The query for what is left out: the rest of the only cut text, or everything from the first cut
/// block on. `None` if nothing is left out, or if the stored result does not have the blocks as they
/// are shown.
pub(super) fn next_query(
    redactor: &Redactor,
    raw: &RawResult,
    limits: &EffectiveLimits,
    cut_blocks: Vec<CutBlock>,
) -> Option<Value> {
    if limits.allowed.is_some() {
        return None;
    }
    let RawContent::Json(stored) = &raw.content else { return None };
    let shown = raw.blocks.as_ref()?.blocks.len();
    let first = cut_blocks.first()?.index;
    let (name, text_path) = BLOCK_LISTS.into_iter().find(|(name, _)| stored.get(name).is_some())?;
    let items = stored.get(name)?.as_array().filter(|items| items.len() == shown)?;
    if let Ok([CutBlock { index, rest: Some(rest) }]) = <[CutBlock; 1]>::try_from(cut_blocks)
        && let Some(item) = items.get(index)
        && has_text_as_shown(redactor, limits, item, text_path)
        && let Some(query) = rest_of_text(rest, format!("{name}[{index}].{}", text_path.join(".")))
    {
        return Some(query);
    }
    let path = if first == 0 { name.to_owned() } else { format!("{name}[{first}:]") };
    Some(json!({ "view": "get", "args": { "path": path } }))
}

/// The query for the rest of the text at a path.
fn rest_of_text(rest: Continuation, path: String) -> Option<Value> {
    match rest {
        Continuation::Lines { start, end } => {
            Some(json!({ "view": "lines", "args": { "path": path, "start": start, "end": end } }))
        }
        Continuation::Characters { start, end } => {
            Some(json!({ "view": "chars", "args": { "path": path, "start": start, "end": end } }))
        }
        _ => None,
    }
}

/// True if the views count the lines and characters of the text in a stored item as the first frame
/// did, which redacted the text by itself.
fn has_text_as_shown(
    redactor: &Redactor,
    limits: &EffectiveLimits,
    item: &Value,
    text_path: &[&str],
) -> bool {
    let text_in = |item: &Value| {
        let text = text_path.iter().try_fold(item, |value, name| value.get(name))?;
        text.as_str().map(str::to_owned)
    };
    let Some(text) = text_in(item) else { return false };
    let mut masker = Masker::new(redactor, limits);
    let shown = masker.text(&text);
    let names = limits.field_name_classifier();
    let viewed = redactor.redact_value_with_names(item, names, &mut Counts::new());
    let redacted = masker.redacted_text(&text, &shown);
    redacted.is_some() && redacted == text_in(&viewed)
}
