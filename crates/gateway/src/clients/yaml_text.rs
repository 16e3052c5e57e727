//! Splits YAML into lines, for goose's `config.yaml`: the entries of one top-level mapping.
//!
//! Only block style can be edited. A mapping on one line or indented with tabs is reported as not
//! editable.

use std::ops::Range;

use serde_json::Value;
use serde_saphyr::options::{AliasLimits, DuplicateKeyPolicy};

use super::error::SyntaxFault;

/// Anchors and aliases could expand a small text without bound.
const MAX_ALIASES: usize = 1_000;

/// An entry of the mapping.
#[derive(Debug)]
pub(super) struct MappingEntry {
    pub(super) name: String,
    /// Whole lines.
    pub(super) span: Range<usize>,
}

/// The mapping as lines.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) entries: Vec<MappingEntry>,
    /// The indentation of its entries.
    pub(super) indent: usize,
    /// Where an entry can be inserted if there are none.
    pub(super) start: usize,
    /// The braces of a mapping written as `{}`.
    pub(super) empty_braces: Option<Range<usize>>,
}

/// Parses the whole file.
pub(super) fn parse(text: &str) -> Result<Value, SyntaxFault> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let mut options = serde_saphyr::Options::default();
    let mut limits = AliasLimits::default();
    limits.max_total_replayed_events = MAX_ALIASES;
    options.alias_limits = limits;
    options.duplicate_keys = DuplicateKeyPolicy::Error;
    // Like the client: `no` is a string, not a boolean.
    options.strict_booleans = true;
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| SyntaxFault {
        offset: error.location().map_or(0, |place| {
            let line = usize::try_from(place.line()).unwrap_or(1);
            line_start(text, line)
        }),
        message: "not YAML that can be read".to_owned(),
    })
}

fn line_start(text: &str, line: usize) -> usize {
    text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum()
}

/// Finds the entries of the mapping under a top-level key; `None` if it does not exist.
pub(super) fn mapping(text: &str, key: &str) -> Result<Option<Mapping>, SyntaxFault> {
    let mut lines = Lines::new(text);
    let Some((head, line)) = lines.by_ref().find(|(_, line)| value_after_key(line, key).is_some())
    else {
        return Ok(None);
    };
    let after = value_after_key(line, key).unwrap_or_default();
    let value = after.split(" #").next().unwrap_or_default().trim();
    let start = head + line.len();
    let body = head + line.len() - after.len();
    let empty_braces = (value == "{}").then(|| {
        let at = body + after.find('{').unwrap_or(0);
        at..at + 2
    });
    if !value.is_empty() && empty_braces.is_none() && !value.starts_with('#') {
        let message = format!("`{key}` is written on one line");
        return Err(SyntaxFault { offset: head, message });
    }
    let mut entries: Vec<MappingEntry> = Vec::new();
    let mut indent = None;
    for (at, line) in lines {
        let trimmed = line.trim_start_matches(' ');
        let depth = line.len() - trimmed.len();
        if trimmed.starts_with('\t') {
            let message = "a line is indented with a tab".to_owned();
            return Err(SyntaxFault { offset: at, message });
        }
        if trimmed.trim().is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if depth == 0 {
            break;
        }
        let level = *indent.get_or_insert(depth);
        if depth == level {
            let fault = || SyntaxFault { offset: at, message: "this line has no key".to_owned() };
            entries.push(MappingEntry {
                name: key_of_line(trimmed).ok_or_else(fault)?,
                span: at..at + line.len(),
            });
        } else if let Some(last) = entries.last_mut() {
            last.span.end = at + line.len();
        }
    }
    Ok(Some(Mapping { entries, indent: indent.unwrap_or(2), start, empty_braces }))
}

/// Lines with their offsets.
struct Lines<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = rest.get(..length)?;
        let at = self.at;
        self.at += length;
        Some((at, line))
    }
}

/// The text after the key, if a top-level line has it.
fn value_after_key<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    [key.to_owned(), format!("\"{key}\""), format!("'{key}'")].iter().find_map(|key| {
        let after = line.strip_prefix(key.as_str())?.trim_start_matches(' ').strip_prefix(':')?;
        (after.is_empty() || after.starts_with([' ', '\n', '\r'])).then_some(after)
    })
}

/// The key at the beginning of a line.
fn key_of_line(line: &str) -> Option<String> {
    let quoted = line.strip_prefix(['"', '\'']);
    if let (Some(rest), Some(quote)) = (quoted, line.chars().next()) {
        let (name, after) = rest.split_once(quote)?;
        return after.trim_start().starts_with(':').then(|| name.to_owned());
    }
    let (name, _) = line.split_once(':')?;
    Some(name.trim_end().to_owned())
}
