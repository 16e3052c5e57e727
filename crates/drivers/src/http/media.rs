//! Media types: which ones an operation declares, and how a response is read.

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::{Value, json};
use weaver_types::{RawChunk, RawContent, RawResult};

use super::restricted_client::WholeResponse;
use super::{OperationError, Refusal};
use crate::mcp::strict_json;

/// The finding that a number has no exact form and was rounded.
const NUMBERS_ROUNDED: &str = "numbers_rounded";

/// The media type of a body in lower case without parameters; empty if absent.
pub(super) fn essence(headers: &HeaderMap) -> String {
    let content_type =
        headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(super) fn is_json(essence: &str) -> bool {
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Parses a declared type: `type/subtype` or `type/*`.
pub(super) fn parse_declared(text: &str) -> Result<String, OperationError> {
    let token = |part: &str| {
        let legal = |b: u8| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b);
        !part.is_empty() && part.bytes().all(legal)
    };
    match text.split_once('/') {
        Some((kind, rest)) if token(kind) && (token(rest) || rest == "*") => {
            Ok(text.to_ascii_lowercase())
        }
        _ => Err(OperationError::Content { text: text.escape_debug().take(80).collect() }),
    }
}

/// Whether a type matches a declared one. `application/json` also covers `+json` types.
fn matches_declared(declared: &[String], essence: &str) -> bool {
    declared.iter().any(|one| match one.strip_suffix('*') {
        Some(front) => essence.starts_with(front),
        None => one == essence || (one == "application/json" && is_json(essence)),
    })
}

/// How the body of a response can be read in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamFormat {
    /// Server-sent events; the data of each is a JSON row or a line of text.
    Events,
    /// One JSON value per line.
    JsonLines,
    /// Text, line by line.
    Lines,
    /// Only the whole body is meaningful.
    Whole,
}

/// Media types of JSON lines.
const JSON_LINES_TYPES: [&str; 3] =
    ["application/x-ndjson", "application/jsonl", "application/json-seq"];

impl StreamFormat {
    /// The format of a response with these headers.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        match essence(headers).as_str() {
            "text/event-stream" => Self::Events,
            kind if JSON_LINES_TYPES.contains(&kind) => Self::JsonLines,
            kind if kind.starts_with("text/") && is_utf8(headers) => Self::Lines,
            _ => Self::Whole,
        }
    }

    /// Whether a response of one of these declared types may be streamed.
    pub(super) fn may_stream(declared: &[String]) -> bool {
        let comes =
            |kind: &String| kind.starts_with("text/") || JSON_LINES_TYPES.contains(&kind.as_str());
        declared.is_empty() || declared.iter().any(comes)
    }
}

/// Whether a response with these headers has a declared type.
pub(super) fn is_declared(headers: &HeaderMap, types: &[String]) -> bool {
    matches_declared(types, &essence(headers))
}

/// Parses the data of one event or JSON line; text if it is not JSON.
pub(super) fn parse_row(data: &[u8]) -> RawChunk {
    match strict_json::read(data) {
        Ok(read) => RawChunk::Json(read.value),
        Err(_) => RawChunk::Text(format!("{}\n", String::from_utf8_lossy(data).trim_end())),
    }
}

/// Masks secrets in a chunk. True if there were any.
pub(super) fn mask_chunk(chunk: &mut RawChunk, secrets: &[&str]) -> bool {
    match chunk {
        RawChunk::Json(value) => mask_json(value, secrets),
        RawChunk::Text(text) => mask_text(text, secrets),
        RawChunk::Bytes(bytes) => {
            let found = contains_secret(bytes, secrets);
            if found {
                bytes.clear();
            }
            found
        }
    }
}

fn contains_secret(bytes: &[u8], secrets: &[&str]) -> bool {
    let is_in =
        |secret: &str| bytes.windows(secret.len().max(1)).any(|window| window == secret.as_bytes());
    secrets.iter().any(|secret| is_in(secret))
}

/// The result of a response by its media type: JSON, text or bytes. Without a body it is the status
/// alone.
pub(super) fn to_raw_result(answer: WholeResponse, types: &[String]) -> Result<RawResult, Refusal> {
    let WholeResponse { status, headers, body } = answer;
    if body.is_empty() {
        return Ok(RawResult::json(json!({ "status": status.as_u16() })));
    }
    let essence = essence(&headers);
    if !matches_declared(types, &essence) {
        return Err(Refusal::Content);
    }
    if is_json(&essence) {
        let read = strict_json::read(&body).map_err(Refusal::Json)?;
        let findings = read.rounded.then_some(NUMBERS_ROUNDED).into_iter().collect();
        return Ok(RawResult { findings, ..RawResult::json(read.value) });
    }
    let text = essence.starts_with("text/") && is_utf8(&headers);
    Ok(RawResult::new(match String::from_utf8(body) {
        Ok(body) if text => RawContent::Text(body),
        Ok(body) => RawContent::Binary { media_type: essence, bytes: body.into_bytes() },
        Err(error) => RawContent::Binary { media_type: essence, bytes: error.into_bytes() },
    }))
}

/// Whether the declared charset is UTF-8 or absent.
fn is_utf8(headers: &HeaderMap) -> bool {
    let content_type =
        headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let charset = content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    charset.is_none_or(|name| {
        ["utf-8", "utf8", "us-ascii"].iter().any(|known| name.eq_ignore_ascii_case(known))
    })
}

/// Masks secrets in a result. True if there were any.
pub(crate) fn mask_content(content: &mut RawContent, secrets: &[&str]) -> bool {
    match content {
        RawContent::Text(text) => mask_text(text, secrets),
        RawContent::Json(value) => mask_json(value, secrets),
        RawContent::Rows(rows) => {
            let mut value = rows.to_value();
            let found = mask_json(&mut value, secrets);
            if found {
                *content = RawContent::Json(value);
            }
            found
        }
        RawContent::Binary { bytes, .. } => {
            let found = contains_secret(bytes, secrets);
            if found {
                bytes.clear();
            }
            found
        }
    }
}

pub(crate) fn mask_text(text: &mut String, secrets: &[&str]) -> bool {
    let mut found = false;
    for secret in secrets.iter().filter(|secret| text.contains(**secret)).collect::<Vec<_>>() {
        *text = text.replace(*secret, MASK);
        found = true;
    }
    found
}

/// The finding that a secret was echoed by the server and masked.
pub(crate) const SECRET_MASKED: &str = "secret_masked";

/// The replacement for a secret.
const MASK: &str = "[secret]";

pub(crate) fn mask_json(value: &mut Value, secrets: &[&str]) -> bool {
    match value {
        Value::String(text) => mask_text(text, secrets),
        Value::Array(list) => {
            list.iter_mut().fold(false, |found, item| mask_json(item, secrets) | found)
        }
        Value::Object(members) => {
            let mut found = false;
            for (mut name, mut item) in std::mem::take(members) {
                found |= mask_text(&mut name, secrets) | mask_json(&mut item, secrets);
                members.insert(name, item);
            }
            found
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: &str, body: &[u8]) -> WholeResponse {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        WholeResponse { status: reqwest::StatusCode::OK, headers, body: body.to_vec() }
    }

    fn read(kind: &str, body: &[u8], types: &[&str]) -> Result<RawContent, &'static str> {
        let types: Vec<String> = types.iter().map(|text| parse_declared(text).unwrap()).collect();
        let read = to_raw_result(answer(kind, body), &types);
        read.map(|raw| raw.content).map_err(|refusal| refusal.code())
    }

    #[test]
    fn only_declared_types_are_taken() {
        let json = RawContent::Json(json!([1]));
        for kind in ["application/json", "Application/JSON; charset=utf-8", "application/a+json"] {
            assert!(read(kind, b"[1]", &["application/json"]) == Ok(json.clone()), "{kind}");
        }
        for kind in ["text/html", "", "application/jsonp", "text/json", "x+json"] {
            assert!(
                read(kind, b"[1]", &["application/json"]) == Err("http.content_type"),
                "{kind}"
            );
        }
        let text = RawContent::Text("é".to_owned());
        assert!(read("text/csv; charset=\"UTF-8\"", "é".as_bytes(), &["text/*"]) == Ok(text));
        for (kind, body) in [("text/plain; charset=latin1", &b"a"[..]), ("text/plain", &[0xe9][..])]
        {
            let media_type = "text/plain".to_owned();
            let bytes = RawContent::Binary { media_type, bytes: body.to_vec() };
            assert!(read(kind, body, &["text/*"]) == Ok(bytes), "{kind}");
        }
        assert!(
            read("application/json", b"{\"a\":1,\"a\":2}", &["application/json"])
                == Err("http.json")
        );
        assert!(read("application/json", b"", &[]) == Ok(RawContent::Json(json!({"status": 200}))));
        for bad in ["json", "", "a/", "/b", "a/b c", "*/*"] {
            assert!(parse_declared(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_secret_that_comes_back_is_taken_out() {
        let secrets = ["hunter2-hunter2"];
        for mut content in [
            RawContent::Text("a hunter2-hunter2 b".to_owned()),
            RawContent::Json(json!({"hunter2-hunter2": [{"x": "Bearer hunter2-hunter2"}]})),
            RawContent::Binary {
                media_type: String::new(),
                bytes: b"\xffhunter2-hunter2".to_vec(),
            },
        ] {
            assert!(mask_content(&mut content, &secrets));
            assert!(!format!("{content:?}").contains("hunter2"));
            if let RawContent::Binary { bytes, .. } = content {
                assert!(bytes.is_empty());
            }
        }
        assert!(!mask_content(&mut RawContent::Text("a".to_owned()), &secrets));
    }
}
