//! Views of text: lines, head, tail and search.
//!
//! All of them work on the whole redacted text. Lines are counted from 0.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::args::ViewArgs;
use super::view_result::ViewResult;
use crate::content::Content;
use crate::error::HandleError;
use crate::query::{ViewRequest, query_error};

/// The names of the views.
pub(super) const NAMES: &[Cow<'static, str>] = &[
    Cow::Borrowed("chars"),
    Cow::Borrowed("head"),
    Cow::Borrowed("lines"),
    Cow::Borrowed("search"),
    Cow::Borrowed("tail"),
];
/// The default number of lines of a head or tail.
const DEFAULT_LINES: usize = 20;
/// The most lines that a view returns.
const MAX_LINES: usize = 10_000;
/// The most lines of context around a match.
const MAX_CONTEXT_LINES: usize = 20;

/// Renders a view of a redacted text.
pub(super) fn render(
    text: &str,
    request: &ViewRequest,
) -> Result<ViewResult<'static>, HandleError> {
    let lines = match request.name.as_str() {
        "head" => match ViewArgs::of(request, &["chars", "lines"])?.integer("chars")? {
            Some(chars) => {
                let head = weaver_text::escape::truncate(text, chars).to_owned();
                return Ok(ViewResult::redacted(Content::Json(Cow::Owned(
                    json!([{ "value": head }]),
                ))));
            }
            None => {
                let count = ViewArgs::of(request, &["chars", "lines"])?.integer("lines")?;
                numbered_lines(text, 0, count.unwrap_or(DEFAULT_LINES))
            }
        },
        "tail" => {
            let count =
                ViewArgs::of(request, &["lines"])?.integer("lines")?.unwrap_or(DEFAULT_LINES);
            let total = text.lines().count();
            numbered_lines(text, total.saturating_sub(count), count)
        }
        "lines" => {
            let (start, end) = range(&ViewArgs::of(request, &["end", "start"])?)?;
            numbered_lines(text, start, end - start)
        }
        "chars" => {
            let (start, end) = range(&ViewArgs::of(request, &["end", "start"])?)?;
            let part: String = text.chars().skip(start).take(end - start).collect();
            let part = json!({ "character": start, "value": part });
            return Ok(ViewResult::of_text(vec![part]));
        }
        _ => search(text, request)?,
    };
    Ok(ViewResult::of_text(lines))
}

/// A range of lines or characters, counted from 0; the end is exclusive.
fn range(args: &ViewArgs<'_>) -> Result<(usize, usize), HandleError> {
    let start = args.integer("start")?.unwrap_or(0);
    let end = args.integer("end")?.unwrap_or(usize::MAX);
    if end < start {
        return Err(query_error("`end` is before `start`".to_owned()));
    }
    Ok((start, end))
}

fn numbered_lines(text: &str, start: usize, count: usize) -> Vec<Value> {
    let lines = text.lines().enumerate().skip(start).take(count.min(MAX_LINES));
    lines.map(|(number, line)| json!({ "line": number, "value": line })).collect()
}

/// The lines that contain a text, with context.
fn search(text: &str, request: &ViewRequest) -> Result<Vec<Value>, HandleError> {
    let args = ViewArgs::of(request, &["around", "ignore_case", "text"])?;
    let ignore_case = args.boolean("ignore_case")?.unwrap_or(true);
    let around = args.integer("around")?.unwrap_or(0).min(MAX_CONTEXT_LINES);
    let wanted = args.text("text")?.filter(|text| !text.is_empty());
    let wanted = wanted.ok_or_else(|| {
        query_error("the view `search` needs the argument `text`: what to look for".to_owned())
    })?;
    let folded = wanted.to_lowercase();
    let holds = |line: &&str| {
        if ignore_case { line.to_lowercase().contains(&folded) } else { line.contains(wanted) }
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    let mut next = 0;
    for (number, _) in lines.iter().enumerate().filter(|(_, line)| holds(line)) {
        let first = number.saturating_sub(around).max(next);
        next = number.saturating_add(around).saturating_add(1).min(lines.len()).max(next);
        let part = lines.get(first..next).unwrap_or_default().iter().enumerate();
        out.extend(part.map(|(at, line)| json!({ "line": first + at, "value": line })));
        if out.len() >= MAX_LINES {
            break;
        }
    }
    Ok(out)
}
