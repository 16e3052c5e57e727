//! Converts the outcome of an MCP call for the kernel: into a lossless result, or into an error
//! that says whether anything may have been done.

mod result_fields;

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use weaver_agent_kernel::DriverError;
use weaver_types::{ContentBlocks, JsonRows, RawContent, RawResult, StructuredContent, json_equal};

use result_fields::{add_missing_content, show_unknown_fields_as_text};

use crate::escape::escape;
use crate::feature_result;
use crate::mcp::{
    CallOutcome, HttpFault, McpError, McpErrorKind, Method, Reply, RpcError, STRUCTURED_CONTENT,
    code, with_structured_rows,
};

/// How much of a server's message an error quotes, in characters. Callers shorten it further after
/// redaction, because a truncated secret would not be recognised.
const MAX_QUOTED_CHARS: usize = 4_096;

/// The most block text with which the layout of a result is kept.
pub(crate) const MAX_BLOCK_TEXT_BYTES: usize = 1 << 20;
/// The most blocks with which the layout is kept.
pub(crate) const MAX_BLOCKS: usize = 1_000;
/// The most parts of a structured value with which the layout is kept: members, items, and each
/// eight bytes of text.
const MAX_STRUCTURED_PARTS: usize = 200_000;
/// The most scalar fields next to the list of rows, matching the firewall's limit.
const MAX_SIBLINGS: usize = JsonRows::MAX_SIBLINGS;

/// Converts the outcome of a call.
pub(crate) fn to_raw_result(
    method: Method,
    called: Result<CallOutcome, McpError>,
) -> Result<RawResult, DriverError> {
    match called {
        Ok(CallOutcome::Complete(reply)) => Ok(match method {
            Method::ReadResource => feature_result::resource_result(reply),
            Method::GetPrompt => feature_result::prompt_result(reply),
            Method::Complete => feature_result::completion_result(reply),
            _ => raw_result(reply),
        }),
        Ok(CallOutcome::Error(error)) => Err(rpc_error(method, &error)),
        Ok(CallOutcome::InputRequired(_)) => Err(DriverError::Failed(
            "the server asks for more input, which is not offered".to_owned(),
        )),
        Ok(CallOutcome::Task(_)) => {
            Err(DriverError::Lost("the server goes on in a task, which is not followed".to_owned()))
        }
        Err(error) => Err(transport_error(&error)),
    }
}

/// A call that may have reached the tool counts as lost, so that a write is never assumed undone.
fn transport_error(error: &McpError) -> DriverError {
    error.log_detail();
    let text = error.for_model();
    match &error.kind {
        McpErrorKind::Timeout { after, .. } => DriverError::Timeout(*after),
        McpErrorKind::CallsPerSecond { retry_in, .. } => {
            DriverError::RateLimited { said: text, wait: Some(*retry_in) }
        }
        _ if error.is_unsent() => DriverError::Unavailable(text),
        McpErrorKind::Http { fault: HttpFault::Status(429) } => {
            DriverError::RateLimited { said: text, wait: None }
        }
        McpErrorKind::Http { fault: HttpFault::Connection } => DriverError::Network(text),
        // Without credentials, nothing is executed.
        McpErrorKind::Http { fault: HttpFault::Tls(_) | HttpFault::Status(401) } => {
            DriverError::Unavailable(text)
        }
        // A proxy sends these when it stopped waiting, so the call may have been executed.
        McpErrorKind::Http { fault: HttpFault::Status(408 | 499) } => DriverError::Lost(text),
        McpErrorKind::Http { fault: HttpFault::Status(400..=499) | HttpFault::Redirect(_) } => {
            DriverError::Failed(text)
        }
        // The same call would be answered in the same way.
        McpErrorKind::Malformed { .. } => DriverError::Unreadable(text),
        _ => DriverError::Lost(text),
    }
}

fn rpc_error(method: Method, error: &RpcError) -> DriverError {
    let quoted = |text: &str| escape(text).chars().take(MAX_QUOTED_CHARS).collect::<String>();
    let mut text =
        format!("the server answered with code {}: {}", error.code, quoted(&error.message));
    // Often the only place that names the field at fault, or when to try again.
    if let Some(data) = error.data.as_ref().filter(|data| !data.is_null()) {
        text.push_str(&format!(" ({})", quoted(&data.to_string())));
    }
    match error.code {
        // The legacy era has its own code for a missing resource.
        code::METHOD_NOT_FOUND | code::RESOURCE_NOT_FOUND => DriverError::NotFound(text),
        // Only the URI of a read can be invalid, and the modern era has no separate code for that.
        code::INVALID_PARAMS if method == Method::ReadResource => DriverError::NotFound(text),
        code::INVALID_PARAMS => DriverError::Invalid(text),
        _ => DriverError::Failed(text),
    }
}

/// Converts a tool result without loss.
///
/// A single text block becomes text, even if structured content merely wraps it in a field; a
/// single image or audio block becomes its bytes. Structured content is used alone if the text
/// block only repeats it, or if it consists of rows and the blocks are all text: queries apply to
/// the rows, and the text is noted. Every other result becomes the whole result object, the only
/// form that keeps `_meta`, which is not content.
#[must_use]
pub fn raw_result(reply: Reply) -> RawResult {
    let is_error = reply.is_error();
    let findings = reply.warnings().iter().map(|finding| finding.code()).collect();
    let (mut value, rows) = reply.into_parts();
    add_missing_content(&mut value);
    show_unknown_fields_as_text(&mut value);
    let value = match rows {
        None => value,
        Some(rows) => match text_note_for_rows(&value, &rows) {
            Some(omitted) => {
                let notes = omitted.into_iter().collect();
                return RawResult {
                    is_error,
                    findings,
                    notes,
                    ..RawResult::new(RawContent::Rows(rows))
                };
            }
            None => with_structured_rows(value, &rows),
        },
    };
    let blocks = content_blocks(&value);
    let (content, structured, omitted) = split_content(value);
    let notes = if blocks.is_none() { omitted.into_iter().collect() } else { Vec::new() };
    RawResult { is_error, findings, structured, blocks, notes, ..RawResult::new(content) }
}

/// The note about text next to rows that stay unparsed, as [`split_content`] makes it for parsed
/// rows. `None` if the result is shown with its blocks or as a whole.
fn text_note_for_rows(result: &Value, rows: &JsonRows) -> Option<Option<String>> {
    if has_few_parts(rows) {
        return None;
    }
    match result.get("content").and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) | None => Some(None),
        Some([block]) if plain_text(block).is_some_and(|text| rows.equals_json(text)) => Some(None),
        Some(blocks) => match omitted_text_note(blocks)? {
            Some(_) if texts_repeat_rows(blocks, rows.rows().map(Cow::Owned)) => Some(None),
            line => Some(line),
        },
    }
}

/// Whether rows have few enough parts for a frame, as [`is_small`] counts them.
fn has_few_parts(rows: &JsonRows) -> bool {
    let wrapper = rows.with_list(Vec::new());
    let remaining = parts_within(&wrapper, MAX_STRUCTURED_PARTS)
        .and_then(|remaining| remaining.checked_sub(rows.len()));
    remaining
        .and_then(|remaining| {
            rows.rows().try_fold(remaining, |remaining, row| parts_within(&row, remaining))
        })
        .is_some()
}

/// The content blocks in their layout, unless they or the structured value are larger than any
/// frame: blocks without that value would be mistaken for the complete result.
fn content_blocks(result: &Value) -> Option<ContentBlocks> {
    let blocks = result.get("content")?.as_array()?;
    let text = |block: &Value| {
        let inner = block.get("resource").and_then(|resource| resource.get("text"));
        let text = block.get("text").or(inner).and_then(Value::as_str);
        text.map_or(0, str::len)
    };
    let all_objects = blocks.iter().all(Value::is_object);
    let texts = blocks.iter().map(text).fold(0, usize::saturating_add);
    if !all_objects || blocks.len() > MAX_BLOCKS || texts > MAX_BLOCK_TEXT_BYTES {
        return None;
    }
    let structured = result.get(STRUCTURED_CONTENT);
    // The blocks once more are no larger than the blocks: pictures count as little there.
    let is_bounded = |value| ContentBlocks::are_listed_in(blocks, value) || is_small(value);
    if structured.is_some_and(|value| !is_bounded(value)) {
        return None;
    }
    Some(ContentBlocks { blocks: blocks.clone(), structured: structured.cloned() })
}

/// Whether a structured value has few enough parts for a frame.
fn is_small(value: &Value) -> bool {
    parts_within(value, MAX_STRUCTURED_PARTS).is_some()
}

/// How many of the allowed parts remain after a value; `None` if it has more.
fn parts_within(value: &Value, mut remaining: usize) -> Option<usize> {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let parts = match value {
            Value::Array(items) => {
                open.extend(items.iter().take(remaining));
                items.len()
            }
            Value::Object(fields) => {
                open.extend(fields.values().take(remaining));
                fields.len()
            }
            Value::String(text) => text.len() / 8,
            _ => 0,
        };
        remaining = remaining.checked_sub(parts)?;
    }
    Some(remaining)
}

/// The content of a result, the value that its output schema describes, and a note about omitted
/// text.
fn split_content(result: Value) -> (RawContent, StructuredContent, Option<String>) {
    let Value::Object(mut result) = result else {
        return (RawContent::Json(result), StructuredContent::Missing, None);
    };
    match content_form(&result) {
        ContentForm::Structure { omitted_text } => {
            let value = result.remove(STRUCTURED_CONTENT).unwrap_or_default();
            (RawContent::Json(value), StructuredContent::Content, omitted_text)
        }
        ContentForm::Other(content) => {
            let structured = result.remove(STRUCTURED_CONTENT);
            (
                content,
                structured.map_or(StructuredContent::Missing, StructuredContent::Beside),
                None,
            )
        }
        ContentForm::Whole => {
            let structured = result.get(STRUCTURED_CONTENT).cloned();
            let structured =
                structured.map_or(StructuredContent::Missing, StructuredContent::Beside);
            (RawContent::Json(Value::Object(result)), structured, None)
        }
    }
}

/// Which part of a result object is its content.
enum ContentForm {
    /// The structured value, which is moved rather than copied.
    Structure { omitted_text: Option<String> },
    /// The content of its only block.
    Other(RawContent),
    /// The whole object.
    Whole,
}

fn content_form(result: &Map<String, Value>) -> ContentForm {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice);
    let structure = ContentForm::Structure { omitted_text: None };
    match (blocks, result.get(STRUCTURED_CONTENT)) {
        (Some([]) | None, Some(_)) => structure,
        (Some([block]), Some(structured)) if is_wrapped(block, structured) => {
            let text = plain_text(block).unwrap_or_default();
            ContentForm::Other(RawContent::Text(text.to_owned()))
        }
        (Some([block]), Some(structured)) if repeats(block, structured) => structure,
        (Some(blocks), Some(structured)) if has_rows(structured) => {
            match omitted_text_note(blocks) {
                Some(_)
                    if texts_repeat_rows(
                        blocks,
                        list_of_rows(structured).iter().map(Cow::Borrowed),
                    ) =>
                {
                    structure
                }
                Some(omitted_text) => ContentForm::Structure { omitted_text },
                None => ContentForm::Whole,
            }
        }
        (Some(blocks), Some(structured)) if texts_repeat_items(blocks, structured) => {
            ContentForm::Other(RawContent::Json(unwrapped(structured).clone()))
        }
        (Some([block]), None) => single_block(block).map_or(ContentForm::Whole, ContentForm::Other),
        _ => ContentForm::Whole,
    }
}

/// True if the block is the serialised structured value.
fn repeats(block: &Value, structured: &Value) -> bool {
    let value = plain_text(block).and_then(|text| serde_json::from_str::<Value>(text).ok());
    value.is_some_and(|value| json_equal(&value, structured))
}

/// True if the blocks are the rows again: their list, or one block for each.
fn texts_repeat_rows<'r>(blocks: &[Value], mut rows: impl Iterator<Item = Cow<'r, Value>>) -> bool {
    let parsed =
        |block| plain_text(block).and_then(|text| serde_json::from_str::<Value>(text).ok());
    match blocks {
        [block] => match parsed(block) {
            Some(Value::Array(items)) => {
                let is_next =
                    |item| rows.next().is_some_and(|row: Cow<'_, Value>| json_equal(item, &row));
                items.iter().all(is_next) && rows.next().is_none()
            }
            Some(item) => {
                rows.next().is_some_and(|row| json_equal(&item, &row)) && rows.next().is_none()
            }
            None => false,
        },
        blocks => {
            let is_next = |block| {
                rows.next()
                    .is_some_and(|row| parsed(block).is_some_and(|value| json_equal(&value, &row)))
            };
            blocks.iter().all(is_next) && rows.next().is_none()
        }
    }
}

/// True if the blocks are the items of a list, one by one: what a tool that returns a list of texts
/// sends beside it, wrapped in one field.
fn texts_repeat_items(blocks: &[Value], structured: &Value) -> bool {
    let Some(items) = unwrapped(structured).as_array() else { return false };
    items.len() == blocks.len()
        && items.iter().zip(blocks).all(|(item, block)| match (item, plain_text(block)) {
            (Value::String(item), Some(text)) => item == text,
            (item, Some(text)) => {
                serde_json::from_str::<Value>(text).is_ok_and(|value| json_equal(&value, item))
            }
            (_, None) => false,
        })
}

/// The value of the only field, or the value itself.
fn unwrapped(structured: &Value) -> &Value {
    let only_field = structured.as_object().filter(|fields| fields.len() == 1);
    only_field.and_then(|fields| fields.values().next()).unwrap_or(structured)
}

/// The list of rows in a structured value that has some.
fn list_of_rows(structured: &Value) -> &[Value] {
    let mut fields = structured.as_object().into_iter().flat_map(Map::values);
    let list = structured.as_array().or_else(|| fields.find_map(Value::as_array));
    list.map_or(&[], Vec::as_slice)
}

/// True if the structured value only wraps the block's text in one field.
fn is_wrapped(block: &Value, structured: &Value) -> bool {
    let fields = structured.as_object().filter(|fields| fields.len() == 1);
    let (Some(text), Some(fields)) = (plain_text(block), fields) else { return false };
    fields.values().all(|field| field.as_str() == Some(text))
}

/// True for a list of objects, and for an object with one such list and scalar fields: the values
/// that can be queried as rows.
fn has_rows(structured: &Value) -> bool {
    let is_list = |value: &Value| {
        value
            .as_array()
            .is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
    };
    let Value::Object(fields) = structured else { return is_list(structured) };
    let (lists, others): (Vec<&Value>, Vec<&Value>) =
        fields.values().partition(|value| is_list(value));
    lists.len() == 1
        && others.len() <= MAX_SIBLINGS
        && others.iter().all(|value| !value.is_array() && !value.is_object())
}

/// The note about text blocks that are not shown: their number and size, never the server's words.
/// The outer `None` means that a block is not plain text; the inner one that all are empty.
fn omitted_text_note(blocks: &[Value]) -> Option<Option<String>> {
    let texts: Option<Vec<&str>> = blocks.iter().map(plain_text).collect();
    let texts = texts?;
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let line = format!("Not shown: {} text block(s), {bytes} bytes, beside the rows.", texts.len());
    Some((bytes > 0).then_some(line))
}

fn single_block(block: &Value) -> Option<RawContent> {
    if let Some(text) = plain_text(block) {
        return Some(RawContent::Text(text.to_owned()));
    }
    let members = block.as_object().filter(|members| members.len() == 3)?;
    if !matches!(members.get("type")?.as_str()?, "image" | "audio") {
        return None;
    }
    let bytes = STANDARD.decode(members.get("data")?.as_str()?).ok()?;
    let media_type = members.get("mimeType")?.as_str()?.to_owned();
    Some(RawContent::Binary { media_type, bytes })
}

/// The text of a block that contains nothing else.
fn plain_text(block: &Value) -> Option<&str> {
    let members = block.as_object().filter(|members| members.len() == 2)?;
    if members.get("type")?.as_str()? != "text" {
        return None;
    }
    members.get("text")?.as_str()
}

#[cfg(test)]
mod tests;
