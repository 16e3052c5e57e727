//! Views of text: lines, characters, head, tail and search.
//!
//! All of them work on the whole redacted text. Lines and characters are counted from 0.

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
/// The most lines that a view returns as rows.
const MAX_LINES: usize = 10_000;
/// The most lines of context around a match.
const MAX_CONTEXT_LINES: usize = 20;

/// What the parts of a text are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextUnit {
    /// Whole lines.
    Lines,
    /// One run of characters.
    Characters,
}

/// Parts of a redacted text, each with the number of its line or of its first character.
pub(crate) struct TextParts<'a> {
    pub(crate) unit: TextUnit,
    pub(crate) parts: Vec<(usize, Cow<'a, str>)>,
    /// The path of the text of each part, where they are parts of several texts of a value.
    pub(crate) paths: Vec<String>,
    /// The line or character before which a request ends; `None` if it names none.
    pub(crate) end: Option<usize>,
}

impl<'a> TextParts<'a> {
    /// All characters of a text.
    pub(super) fn whole(text: &'a str) -> Self {
        let parts = vec![(0, Cow::Borrowed(text))];
        Self { unit: TextUnit::Characters, parts, paths: Vec::new(), end: None }
    }

    pub(super) fn into_owned(self) -> TextParts<'static> {
        let parts = self.parts.into_iter();
        let parts = parts.map(|(number, text)| (number, Cow::Owned(text.into_owned()))).collect();
        TextParts { unit: self.unit, parts, paths: self.paths, end: self.end }
    }

    /// The parts as rows.
    fn rows(&self) -> Content<'a> {
        let name = match self.unit {
            TextUnit::Lines => "line",
            TextUnit::Characters => "character",
        };
        let parts = self.parts.iter().take(MAX_LINES).enumerate();
        let rows = parts.map(|(at, (number, text))| match self.paths.get(at) {
            Some(path) => json!({ "path": path, name: number, "value": text }),
            None => json!({ name: number, "value": text }),
        });
        Content::Json(Cow::Owned(Value::Array(rows.collect())))
    }
}

/// Renders a view of a redacted text. A text within JSON also has a `path`.
pub(super) fn render<'a>(
    text: &'a str,
    request: &ViewRequest,
    is_within_json: bool,
) -> Result<ViewResult<'a>, HandleError> {
    let args = args(request, is_within_json)?;
    let parts = match request.name.as_str() {
        "head" => match args.integer("chars")? {
            Some(chars) => {
                let head = weaver_text::escape::truncate(text, chars);
                let parts = TextParts { end: Some(chars), ..TextParts::whole(head) };
                let rows = Content::Json(Cow::Owned(json!([{ "value": head }])));
                return Ok(ViewResult { text: Some(parts), ..ViewResult::redacted(rows) });
            }
            None => numbered_lines(text, 0, args.integer("lines")?.unwrap_or(DEFAULT_LINES)),
        },
        "tail" => {
            let count = args.integer("lines")?.unwrap_or(DEFAULT_LINES);
            let total = text.lines().count();
            numbered_lines(text, total.saturating_sub(count), count)
        }
        "lines" => {
            let (start, end) = range(&args)?;
            let count = end.map_or(usize::MAX, |end| end - start);
            TextParts { end, ..numbered_lines(text, start, count) }
        }
        "chars" => {
            let (start, end) = range(&args)?;
            let part = char_range(text, start, end.unwrap_or(usize::MAX));
            let parts = vec![(start, Cow::Borrowed(part))];
            TextParts { unit: TextUnit::Characters, parts, paths: Vec::new(), end }
        }
        _ => search(text, &args)?,
    };
    Ok(ViewResult::of_text(parts.rows(), parts))
}

fn args<'r>(request: &'r ViewRequest, is_within_json: bool) -> Result<ViewArgs<'r>, HandleError> {
    let mut known: Vec<&str> = match request.name.as_str() {
        "head" => vec!["chars", "lines"],
        "tail" => vec!["lines"],
        "lines" | "chars" => vec!["end", "start"],
        _ => vec!["around", "ignore_case", "text"],
    };
    known.extend(is_within_json.then_some("path"));
    ViewArgs::of(request, &known)
}

/// A range of lines or characters, counted from 0; the end is exclusive.
fn range(args: &ViewArgs<'_>) -> Result<(usize, Option<usize>), HandleError> {
    let start = args.integer("start")?.unwrap_or(0);
    let end = args.integer("end")?;
    if end.is_some_and(|end| end < start) {
        return Err(query_error("`end` is before `start`".to_owned()));
    }
    Ok((start, end))
}

/// The characters from `start` up to but not including `end`.
fn char_range(text: &str, start: usize, end: usize) -> &str {
    let from = text.char_indices().nth(start).map_or(text.len(), |(at, _)| at);
    let rest = text.get(from..).unwrap_or_default();
    weaver_text::escape::truncate(rest, end - start)
}

fn numbered_lines(text: &str, start: usize, count: usize) -> TextParts<'_> {
    let lines = text.lines().enumerate().skip(start).take(count);
    let parts: Vec<_> = lines.map(|(number, line)| (number, Cow::Borrowed(line))).collect();
    let end = parts.last().map(|(number, _)| number + 1);
    TextParts { unit: TextUnit::Lines, parts, paths: Vec::new(), end }
}

/// Renders the view `lines` or `search` of several redacted texts, each with its path. Lines are
/// counted through all of them; a match of a search is named by its path and its line there.
pub(super) fn render_several<'a>(
    texts: &[(String, &'a str)],
    request: &ViewRequest,
) -> Result<ViewResult<'a>, HandleError> {
    let args = args(request, true)?;
    let mut all =
        TextParts { unit: TextUnit::Lines, parts: Vec::new(), paths: Vec::new(), end: None };
    if request.name == "search" {
        for (path, text) in texts {
            let found = search(text, &args)?.parts;
            all.paths.extend(std::iter::repeat_n(path.clone(), found.len()));
            all.parts.extend(found);
        }
    } else {
        let (start, end) = range(&args)?;
        let lines = texts.iter().flat_map(|(_, text)| text.lines()).enumerate();
        let lines = lines.skip(start).take(end.map_or(usize::MAX, |end| end - start));
        all.parts.extend(lines.map(|(number, line)| (number, Cow::Borrowed(line))));
        all.end = end;
    }
    Ok(ViewResult::of_text(all.rows(), all))
}

/// The lines that contain a text, with context.
fn search<'a>(text: &'a str, args: &ViewArgs<'_>) -> Result<TextParts<'a>, HandleError> {
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
    let mut parts = Vec::new();
    let mut next = 0;
    for (number, _) in lines.iter().enumerate().filter(|(_, line)| holds(line)) {
        let first = number.saturating_sub(around).max(next);
        next = number.saturating_add(around).saturating_add(1).min(lines.len()).max(next);
        let part = lines.get(first..next).unwrap_or_default().iter().enumerate();
        parts.extend(part.map(|(at, line)| (first + at, Cow::Borrowed(*line))));
    }
    Ok(TextParts { unit: TextUnit::Lines, parts, paths: Vec::new(), end: None })
}
