//! Views of text: lines, its head and tail, and where something stands in it.
//!
//! All work on the text redacted whole. Lines are counted from 0.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::args::Args;
use super::view_result::ViewResult;
use crate::content::Content;
use crate::error::HandleError;
use crate::query::{ViewRequest, wrong};

/// The names of the views.
pub(super) const NAMES: &[Cow<'static, str>] = &[
    Cow::Borrowed("chars"),
    Cow::Borrowed("head"),
    Cow::Borrowed("lines"),
    Cow::Borrowed("search"),
    Cow::Borrowed("tail"),
];
/// The lines of a head or a tail, unless they are counted.
const LINES: usize = 20;
/// The most lines that a view gives.
const MAX_LINES: usize = 10_000;
/// The most lines around what was found.
const MAX_AROUND: usize = 20;

/// A view of a redacted text.
pub(super) fn render(
    text: &str,
    request: &ViewRequest,
) -> Result<ViewResult<'static>, HandleError> {
    let lines = match request.name.as_str() {
        "head" => match Args::of(request, &["chars", "lines"])?.whole("chars")? {
            Some(chars) => {
                let head = weaver_text::escape::truncate(text, chars).to_owned();
                return Ok(ViewResult::redacted(Content::Json(Cow::Owned(
                    json!([{ "value": head }]),
                ))));
            }
            None => {
                let count = Args::of(request, &["chars", "lines"])?.whole("lines")?;
                numbered(text, 0, count.unwrap_or(LINES))
            }
        },
        "tail" => {
            let count = Args::of(request, &["lines"])?.whole("lines")?.unwrap_or(LINES);
            let total = text.lines().count();
            numbered(text, total.saturating_sub(count), count)
        }
        "lines" => {
            let (start, end) = range(&Args::of(request, &["end", "start"])?)?;
            numbered(text, start, end - start)
        }
        "chars" => {
            let (start, end) = range(&Args::of(request, &["end", "start"])?)?;
            let part: String = text.chars().skip(start).take(end - start).collect();
            let part = json!({ "character": start, "value": part });
            return Ok(ViewResult::of_text(vec![part]));
        }
        _ => search(text, request)?,
    };
    Ok(ViewResult::of_text(lines))
}

/// A range of lines or characters, counted from 0, its end not in it.
fn range(args: &Args<'_>) -> Result<(usize, usize), HandleError> {
    let start = args.whole("start")?.unwrap_or(0);
    let end = args.whole("end")?.unwrap_or(usize::MAX);
    if end < start {
        return Err(wrong("`end` stands before `start`".to_owned()));
    }
    Ok((start, end))
}

fn numbered(text: &str, start: usize, count: usize) -> Vec<Value> {
    let lines = text.lines().enumerate().skip(start).take(count.min(MAX_LINES));
    lines.map(|(number, line)| json!({ "line": number, "value": line })).collect()
}

/// The lines that hold a text, with some before and after them.
fn search(text: &str, request: &ViewRequest) -> Result<Vec<Value>, HandleError> {
    let args = Args::of(request, &["around", "ignore_case", "text"])?;
    let ignore_case = args.truth("ignore_case")?.unwrap_or(true);
    let around = args.whole("around")?.unwrap_or(0).min(MAX_AROUND);
    let wanted = args.text("text")?.filter(|text| !text.is_empty());
    let wanted = wanted.ok_or_else(|| {
        wrong("the view `search` needs the argument `text`: what to look for".to_owned())
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
