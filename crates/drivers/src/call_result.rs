//! From what an MCP server answers to what the kernel takes: a result without loss, or a failure that
//! says whether anything may have been done.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use weaver_agent_kernel::DriverError;
use weaver_types::{ContentBlocks, JsonRows, RawContent, RawResult, StructuredContent};

use crate::escape::escape;
use crate::feature_result;
use crate::mcp::{CallOutcome, HttpFault, McpError, Method, Reply, RpcError, STRUCTURED, whole};

/// Most of a server's message that an error repeats, in characters. Whoever shows it cuts it further,
/// after it is redacted: the begin of a secret alone is not known as one.
const MAX_MESSAGE: usize = 4_096;

/// The most text in the blocks of a result that is kept as it was laid out, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// The most blocks that are kept so.
const MAX_BLOCKS: usize = 1_000;
/// The most parts of a structured value that is kept so: its members, items and eighths of texts.
const MAX_PARTS: usize = 200_000;
/// The most fields beside the one list of an object whose items are rows, as the firewall has it.
const MAX_AROUND: usize = JsonRows::MAX_AROUND;

/// What an answer is to the kernel.
pub(crate) fn result(
    method: Method,
    called: Result<CallOutcome, McpError>,
) -> Result<RawResult, DriverError> {
    match called {
        Ok(CallOutcome::Complete(reply)) => Ok(match method {
            Method::ReadResource => feature_result::resource(reply),
            Method::GetPrompt => feature_result::prompt(reply),
            Method::Complete => feature_result::completion(reply),
            _ => raw_result(reply),
        }),
        Ok(CallOutcome::Error(error)) => Err(refused(method, &error)),
        Ok(CallOutcome::InputRequired(_)) => Err(DriverError::Failed(
            "the server asks for more input, which is not offered".to_owned(),
        )),
        Ok(CallOutcome::Task(_)) => {
            Err(DriverError::Lost("the server goes on in a task, which is not followed".to_owned()))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Whatever may have reached the tool counts as lost, so that a write is never taken for undone.
fn failed(error: &McpError) -> DriverError {
    let text = error.explained();
    match error {
        McpError::Timeout { after, .. } => DriverError::Timeout(*after),
        McpError::CallsPerSecond { retry_in, .. } => {
            DriverError::RateLimited { said: text, wait: Some(*retry_in) }
        }
        error if error.not_sent() => DriverError::Unavailable(text),
        McpError::Http { fault: HttpFault::Status(429), .. } => {
            DriverError::RateLimited { said: text, wait: None }
        }
        McpError::Http { fault: HttpFault::Connection, .. } => DriverError::Network(text),
        // A proxy says these when it waited no longer: the call may have been executed.
        McpError::Http { fault: HttpFault::Status(408 | 499), .. } => DriverError::Lost(text),
        McpError::Http { fault: HttpFault::Status(400..=499) | HttpFault::Redirect(_), .. } => {
            DriverError::Failed(text)
        }
        _ => DriverError::Lost(text),
    }
}

fn refused(method: Method, error: &RpcError) -> DriverError {
    let said: String = escape(&error.message).chars().take(MAX_MESSAGE).collect();
    let text = format!("the server answered with code {}: {said}", error.code);
    match error.code {
        // A resource that is not there has its own code in the legacy era.
        -32601 | -32002 => DriverError::NotFound(text),
        // Nothing but the URI can be wrong with a read, and the modern era has no code of its own.
        -32602 if method == Method::ReadResource => DriverError::NotFound(text),
        -32602 => DriverError::Invalid(text),
        _ => DriverError::Failed(text),
    }
}

/// Turns a tool result into content, without losing any.
///
/// One plain text block becomes text, also where the structured content only wraps it in a field;
/// one image or audio block becomes its bytes. Structured content stands for itself where the text
/// block only repeats it, and where it has rows and nothing but text stands beside it: questions go
/// to the rows, and the text is shown with them. Every other result is passed on as the whole result
/// object. `_meta`, which is not content, is kept in that last form only.
#[must_use]
pub fn raw_result(reply: Reply) -> RawResult {
    let is_error = reply.is_error();
    let findings = reply.findings().iter().map(|finding| finding.code()).collect();
    let (value, rows) = reply.into_parts();
    let value = match rows {
        None => value,
        Some(rows) => match beside_rows(&value, &rows) {
            Some(omitted) => {
                let notes = omitted.into_iter().collect();
                return RawResult {
                    is_error,
                    findings,
                    notes,
                    ..RawResult::of(RawContent::Rows(rows))
                };
            }
            None => whole(value, &rows),
        },
    };
    let blocks = layout(&value);
    let (content, structured, omitted) = parts(value);
    let notes = if blocks.is_none() { omitted.into_iter().collect() } else { Vec::new() };
    RawResult { is_error, findings, structured, blocks, notes, ..RawResult::of(content) }
}

/// What is said of the text beside rows that are kept as text: the same as [`parts`] says of rows.
/// None where the result is shown with its blocks, or as a whole.
fn beside_rows(result: &Value, rows: &JsonRows) -> Option<Option<String>> {
    let result = result.as_object().filter(|result| is_plain(result))?;
    if are_small(rows) {
        return None;
    }
    match result.get("content").and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) | None => Some(None),
        Some([block]) if plain_text(block).is_some_and(|text| rows.is_in(text)) => Some(None),
        Some(blocks) => text_beside(blocks),
    }
}

/// Whether rows have no more parts than a frame could show, as [`is_small`] has it.
fn are_small(rows: &JsonRows) -> bool {
    let frame = rows.with_list(Vec::new());
    let left = parts_within(&frame, MAX_PARTS).and_then(|left| left.checked_sub(rows.len()));
    left.and_then(|left| rows.rows().try_fold(left, |left, row| parts_within(&row, left))).is_some()
}

/// The blocks of a result as they came, unless there is more in them, or in the structured value
/// beside them, than any frame shows: blocks without that value would pass for the whole result.
fn layout(result: &Value) -> Option<ContentBlocks> {
    let blocks = result.get("content")?.as_array()?;
    if !is_plain(result.as_object()?) {
        return None;
    }
    let text = |block: &Value| {
        let inner = block.get("resource").and_then(|resource| resource.get("text"));
        let text = block.get("text").or(inner).and_then(Value::as_str);
        text.map_or(0, str::len)
    };
    let all_objects = blocks.iter().all(Value::is_object);
    let texts = blocks.iter().map(text).fold(0, usize::saturating_add);
    if !all_objects || blocks.len() > MAX_BLOCKS || texts > MAX_TEXT {
        return None;
    }
    let structured = result.get(STRUCTURED);
    if structured.is_some_and(|value| !is_small(value)) {
        return None;
    }
    let structured = structured.cloned();
    if blocks.is_empty() && structured.is_none() {
        return None;
    }
    Some(ContentBlocks { blocks: blocks.clone(), structured })
}

/// Whether a result has no field but those that the protocol knows. Of any other, the whole result
/// is shown, so that nothing is lost.
fn is_plain(result: &Map<String, Value>) -> bool {
    const KNOWN: [&str; 5] = ["content", STRUCTURED, "isError", "resultType", "_meta"];
    result.keys().all(|key| KNOWN.contains(&key.as_str()))
}

/// Whether a structured value has no more parts than a frame could show.
fn is_small(value: &Value) -> bool {
    parts_within(value, MAX_PARTS).is_some()
}

/// How many of the allowed parts a value leaves; `None` where it has more.
fn parts_within(value: &Value, mut left: usize) -> Option<usize> {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let parts = match value {
            Value::Array(items) => {
                open.extend(items.iter().take(left));
                items.len()
            }
            Value::Object(fields) => {
                open.extend(fields.values().take(left));
                fields.len()
            }
            Value::String(text) => text.len() / 8,
            _ => 0,
        };
        left = left.checked_sub(parts)?;
    }
    Some(left)
}

/// The content of a result, what its output schema speaks of, and a line about text that stands
/// beside the content and is not in it.
fn parts(result: Value) -> (RawContent, StructuredContent, Option<String>) {
    let Value::Object(mut result) = result else {
        return (RawContent::Json(result), StructuredContent::Missing, None);
    };
    match form(&result) {
        Form::Structure { text_beside } => {
            let value = result.remove(STRUCTURED).unwrap_or_default();
            (RawContent::Json(value), StructuredContent::Content, text_beside)
        }
        Form::Other(content) => {
            let structured = result.remove(STRUCTURED);
            (
                content,
                structured.map_or(StructuredContent::Missing, StructuredContent::Beside),
                None,
            )
        }
        Form::Whole => {
            let structured = result.get(STRUCTURED).cloned();
            let structured =
                structured.map_or(StructuredContent::Missing, StructuredContent::Beside);
            (RawContent::Json(Value::Object(result)), structured, None)
        }
    }
}

/// What of a result object is its content.
enum Form {
    /// The structured value, which is moved out and not copied.
    Structure { text_beside: Option<String> },
    /// The content of its one block.
    Other(RawContent),
    /// The whole object.
    Whole,
}

fn form(result: &Map<String, Value>) -> Form {
    if !is_plain(result) {
        return Form::Whole;
    }
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice);
    let structure = Form::Structure { text_beside: None };
    match (blocks, result.get(STRUCTURED)) {
        (Some([]) | None, Some(_)) => structure,
        (Some([block]), Some(structured)) if is_wrapped(block, structured) => {
            let text = plain_text(block).unwrap_or_default();
            Form::Other(RawContent::Text(text.to_owned()))
        }
        (Some([block]), Some(structured)) if repeats(block, structured) => structure,
        (Some(blocks), Some(structured)) if has_rows(structured) => {
            text_beside(blocks).map_or(Form::Whole, |line| Form::Structure { text_beside: line })
        }
        (Some([block]), None) => single(block).map_or(Form::Whole, Form::Other),
        _ => Form::Whole,
    }
}

/// True for a block that is the text form of the structured value.
fn repeats(block: &Value, structured: &Value) -> bool {
    let value = plain_text(block).and_then(|text| serde_json::from_str::<Value>(text).ok());
    value.is_some_and(|value| value == *structured)
}

/// True where the structured value only wraps the text of the block in one field.
fn is_wrapped(block: &Value, structured: &Value) -> bool {
    let fields = structured.as_object().filter(|fields| fields.len() == 1);
    let (Some(text), Some(fields)) = (plain_text(block), fields) else { return false };
    fields.values().all(|field| field.as_str() == Some(text))
}

/// True for a list of objects, and for an object around one such list and plain values: the values
/// that questions see as rows.
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
        && others.len() <= MAX_AROUND
        && others.iter().all(|value| !value.is_array() && !value.is_object())
}

/// What is said of blocks where they are not shown: how many, and how large. Their words are a
/// server's and are not repeated. Nothing where one of them is more than text, or where they are
/// empty.
fn text_beside(blocks: &[Value]) -> Option<Option<String>> {
    let texts: Option<Vec<&str>> = blocks.iter().map(plain_text).collect();
    let texts = texts?;
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let line = format!("Not shown: {} text block(s), {bytes} bytes, beside the rows.", texts.len());
    Some((bytes > 0).then_some(line))
}

fn single(block: &Value) -> Option<RawContent> {
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

/// The text of a block that is nothing but text.
fn plain_text(block: &Value) -> Option<&str> {
    let members = block.as_object().filter(|members| members.len() == 2)?;
    if members.get("type")?.as_str()? != "text" {
        return None;
    }
    members.get("text")?.as_str()
}

#[cfg(test)]
mod tests;
