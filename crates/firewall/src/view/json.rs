//! Views of JSON: the value at a path, its keys, the existing paths, and parts of a text in it.
//!
//! All of them work on the whole redacted value, so what a field name or a sibling hides stays
//! hidden on every path. If only some fields may be shown, that refers to the fields of the rows.

use std::borrow::Cow;

use serde_json::Value;

use super::args::ViewArgs;
use super::json_walker::JsonWalker;
use super::path::{self, PathStep};
use super::text::{self, TextParts};
use super::view_result::ViewResult;
use crate::content::{Content, ValueRenderer};
use crate::error::HandleError;
use crate::query::{ViewRequest, query_error};

/// The names of the views.
pub(super) const NAMES: &[Cow<'static, str>] = &[
    Cow::Borrowed("chars"),
    Cow::Borrowed("get"),
    Cow::Borrowed("keys"),
    Cow::Borrowed("lines"),
    Cow::Borrowed("paths"),
    Cow::Borrowed("search"),
];
/// The default depth of paths.
const DEFAULT_DEPTH: usize = 4;

/// Renders a view of a redacted value.
pub(super) fn render<'v>(
    root: &'v Value,
    request: &ViewRequest,
    renderer: &ValueRenderer<'_>,
) -> Result<ViewResult<'v>, HandleError> {
    let (args, steps) = parse_request(request)?;
    render_at_path(root, &args, &steps, request, renderer)
}

/// Parses the arguments of a request and the path among them.
pub(super) fn parse_request(
    request: &ViewRequest,
) -> Result<(ViewArgs<'_>, Vec<PathStep>), HandleError> {
    let known: &[&str] = match request.name.as_str() {
        "get" => &["keys", "path"],
        "keys" => &["path"],
        "paths" => &["depth", "path"],
        // A view of a text checks its own arguments.
        _ => &["around", "end", "ignore_case", "path", "start", "text"],
    };
    let args = ViewArgs::of(request, known)?;
    let steps = path::parse(args.text("path")?.unwrap_or_default())?;
    Ok((args, steps))
}

/// Renders the view of what the path matches.
pub(super) fn render_at_path<'v>(
    root: &'v Value,
    args: &ViewArgs<'_>,
    steps: &[PathStep],
    request: &ViewRequest,
    renderer: &ValueRenderer<'_>,
) -> Result<ViewResult<'v>, HandleError> {
    let mut walker = JsonWalker::new(root, renderer);
    let found = walker.resolve_path(steps)?;
    let content = match request.name.as_str() {
        "get" => {
            let keys = args.names("keys")?;
            let content = walker.get(&found, keys.as_deref());
            // Of a single text the lines and characters have places.
            let text = walker.only_text(&found).filter(|_| keys.is_none()).map(TextParts::whole);
            let is_whole = keys.is_none() && renderer.limits.allowed.is_none() && found.len() == 1;
            let path = is_whole.then(|| args.text("path")).transpose()?.flatten();
            let path = is_whole.then(|| path.unwrap_or_default().to_owned());
            let viewed = ViewResult::redacted(Content::Json(content));
            return Ok(ViewResult { text, path, omitted: walker.omitted, ..viewed });
        }
        "keys" => Cow::Owned(walker.keys(&found)),
        "paths" => {
            Cow::Owned(walker.paths(&found, args.integer("depth")?.unwrap_or(DEFAULT_DEPTH)))
        }
        _ => {
            if let Some(text) = walker.only_text(&found) {
                return text::render(text, request, true);
            }
            let texts = match request.name.as_str() {
                "search" => walker.texts_in(&found),
                "lines" => walker.only_texts(&found),
                _ => None,
            };
            let problem = "`path` must lead to one text; the view `paths` shows where texts are";
            let texts = texts.ok_or_else(|| query_error(problem.to_owned()))?;
            let viewed = text::render_several(&texts, request)?;
            return Ok(ViewResult { omitted: walker.omitted, ..viewed });
        }
    };
    Ok(ViewResult { omitted: walker.omitted, ..ViewResult::redacted(Content::Json(content)) })
}
