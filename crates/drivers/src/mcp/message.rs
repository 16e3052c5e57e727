//! Classifies a message from a server before anything trusts it.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use weaver_types::JsonRows;

use super::call::{Reply, ReplyWarning};
use super::error::RpcError;
use super::fault::MessageFault;
use super::{large_message, strict_json};

mod non_finite;

/// The result of a request: what the server returned, or its JSON-RPC error.
pub(crate) type RpcResult = Result<Reply, RpcError>;

/// A message from the server.
#[derive(Debug)]
pub(crate) enum IncomingMessage {
    /// A well-formed reply. `id` is `None` if this client never issues such an id.
    Reply { id: Option<u64>, answer: RpcResult },
    /// A request of the server.
    Request { id: Box<RawValue>, method: String, params: Value },
    /// A notification of the server.
    Notification { method: String, params: Value },
    /// Not a JSON-RPC message, for example a stray log line.
    NotJsonRpc,
    /// A malformed request or notification. No call waits for it.
    Ignored,
    /// A malformed message. `ids` are the requests that it names, if any.
    Invalid { fault: MessageFault, ids: Vec<u64> },
}

/// Classifies a message. It never fails: unreadable input is [`IncomingMessage::NotJsonRpc`] or
/// [`IncomingMessage::Invalid`].
pub(crate) fn classify(bytes: &[u8]) -> IncomingMessage {
    let text = bytes.trim_ascii();
    match text.first() {
        Some(b'{') => classify_object(text),
        Some(b'[') => classify_array(text),
        _ => IncomingMessage::NotJsonRpc,
    }
}

fn classify_object(text: &[u8]) -> IncomingMessage {
    if let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(text) {
        return classify_envelope(text, &envelope, Vec::new());
    }
    let repaired = non_finite::as_null(text).unwrap_or_default();
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(&repaired) else {
        return match (id_in_prefix(text), mentions_jsonrpc(text)) {
            (None, false) => IncomingMessage::NotJsonRpc,
            (id, _) => IncomingMessage::Invalid {
                fault: MessageFault::InvalidJson,
                ids: id.into_iter().collect(),
            },
        };
    };
    classify_envelope(&repaired, &envelope, vec![ReplyWarning::NonFiniteNumbers])
}

fn classify_envelope(
    text: &[u8],
    envelope: &Envelope<'_>,
    warnings: Vec<ReplyWarning>,
) -> IncomingMessage {
    if !envelope.is_rpc() {
        return IncomingMessage::NotJsonRpc;
    }
    let read = match large_message::read(text, envelope.result) {
        Some((strict, rows)) => Ok((strict, Some(rows))),
        None => strict_json::read(text).map(|strict| (strict, None)),
    };
    let (strict, rows) = match read {
        Ok(read) => read,
        Err(_) if envelope.method.is_some() && !envelope.is_reply() => {
            return IncomingMessage::Ignored;
        }
        Err(fault) => return IncomingMessage::Invalid { fault, ids: envelope.ids() },
    };
    match envelope.broken_rule() {
        Some(fault) => IncomingMessage::Invalid { fault, ids: envelope.ids() },
        None => envelope.to_message(strict, rows, warnings),
    }
}

/// Whether unreadable text begins like a JSON-RPC message.
fn mentions_jsonrpc(text: &[u8]) -> bool {
    text.iter().take(64).copied().collect::<Vec<u8>>().windows(9).any(|w| w == b"\"jsonrpc\"")
}

/// JSON-RPC batches are not part of MCP; an array without messages is not JSON-RPC.
fn classify_array(text: &[u8]) -> IncomingMessage {
    let Ok(items) = serde_json::from_slice::<Vec<&RawValue>>(text) else {
        return IncomingMessage::NotJsonRpc;
    };
    let messages: Vec<Envelope<'_>> = items
        .iter()
        .filter_map(|item| serde_json::from_str::<Envelope<'_>>(item.get()).ok())
        .filter(Envelope::is_rpc)
        .collect();
    if messages.is_empty() {
        return IncomingMessage::NotJsonRpc;
    }
    let ids = messages.iter().flat_map(Envelope::ids).collect();
    IncomingMessage::Invalid { fault: MessageFault::Batch, ids }
}

/// The JSON-RPC members of a message as raw text. Of duplicates the first is kept; the strict reader then rejects the
/// message.
#[derive(Debug, Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a RawValue>,
    ids: Vec<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// Whether this is meant as a JSON-RPC message, as opposed to a log record in JSON.
    fn is_rpc(&self) -> bool {
        self.jsonrpc.is_some() || (!self.ids.is_empty() && self.is_reply())
    }

    fn is_reply(&self) -> bool {
        self.result.is_some() || self.error.is_some()
    }

    fn ids(&self) -> Vec<u64> {
        self.ids.iter().filter_map(|raw| parse_own_id(raw.get())).collect()
    }

    fn broken_rule(&self) -> Option<MessageFault> {
        if self.jsonrpc.is_none_or(|raw| parse_string(raw).as_deref() != Some("2.0")) {
            return Some(MessageFault::MissingVersion);
        }
        if self.method.is_some() {
            return self.is_reply().then_some(MessageFault::RequestAndReply);
        }
        if self.ids.first().is_none_or(|raw| raw.get() == "null") {
            return Some(MessageFault::NullId);
        }
        match (self.result, self.error) {
            (Some(_), Some(_)) => Some(MessageFault::ResultAndError),
            (None, None) => Some(MessageFault::NeitherResultNorError),
            (Some(raw), None) => {
                (!raw.get().starts_with('{')).then_some(MessageFault::ResultNotObject)
            }
            (None, Some(_)) => None,
        }
    }

    fn to_message(
        &self,
        strict: strict_json::StrictValue,
        rows: Option<JsonRows>,
        mut warnings: Vec<ReplyWarning>,
    ) -> IncomingMessage {
        let Value::Object(mut members) = strict.value else { return IncomingMessage::NotJsonRpc };
        let id = self.ids.first();
        if let Some(method) = self.method {
            let Some(method) = parse_string(method) else { return IncomingMessage::NotJsonRpc };
            let params = members.remove("params").unwrap_or_default();
            return match id {
                Some(raw) => IncomingMessage::Request { id: (*raw).to_owned(), method, params },
                None => IncomingMessage::Notification { method, params },
            };
        }
        let own_id = id.and_then(|raw| parse_own_id(raw.get()));
        if let Some(raw) = self.result {
            let value = members.remove("result").unwrap_or_default();
            warnings.extend(strict.rounded.then_some(ReplyWarning::NumbersRounded));
            let reply = Reply::new(raw.to_owned(), value, warnings).with_rows(rows);
            return IncomingMessage::Reply { id: own_id, answer: Ok(reply) };
        }
        match parse_rpc_error(members.remove("error").unwrap_or_default()) {
            Some(error) => IncomingMessage::Reply { id: own_id, answer: Err(error) },
            None => {
                IncomingMessage::Invalid { fault: MessageFault::ErrorWithoutCode, ids: self.ids() }
            }
        }
    }
}

/// Parses a JSON-RPC error object; `None` without an integer `code`.
pub(crate) fn parse_rpc_error(value: Value) -> Option<RpcError> {
    let Value::Object(mut members) = value else { return None };
    let code = members.get("code").and_then(Value::as_i64)?;
    let message = match members.remove("message") {
        Some(Value::String(message)) => message,
        _ => String::new(),
    };
    Some(RpcError { code, message, data: members.remove("data") })
}

fn parse_string(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<String>(raw.get()).ok()
}

/// Parses a request id of this client: a plain decimal number. The same digits in a string are a different id and
/// match no request.
fn parse_own_id(raw: &str) -> Option<u64> {
    let id = raw.parse::<u64>().ok()?;
    (id.to_string() == raw).then_some(id)
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a json-rpc message")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut access: A,
            ) -> Result<Envelope<'de>, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(key) = access.next_key::<String>()? {
                    let raw = access.next_value::<&'de RawValue>()?;
                    match key.as_str() {
                        "jsonrpc" => envelope.jsonrpc = envelope.jsonrpc.or(Some(raw)),
                        "id" if envelope.ids.len() < 8 => envelope.ids.push(raw),
                        "method" => envelope.method = envelope.method.or(Some(raw)),
                        "params" => envelope.params = envelope.params.or(Some(raw)),
                        "result" => envelope.result = envelope.result.or(Some(raw)),
                        "error" => envelope.error = envelope.error.or(Some(raw)),
                        _ => {}
                    }
                }
                Ok(envelope)
            }
        }
        reader.deserialize_map(Members)
    }
}

/// Finds the top-level `id` in the first bytes of a message that cannot be read completely.
pub(crate) fn id_in_prefix(head: &[u8]) -> Option<u64> {
    let mut rest = head.trim_ascii_start().strip_prefix(b"{")?;
    loop {
        rest = rest.trim_ascii_start();
        let (key, after) = split_json_value(rest)?;
        let value = after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let (text, after) = split_json_value(value)?;
        if key == b"\"id\"" {
            return parse_own_id(str::from_utf8(text).ok()?);
        }
        rest = after.trim_ascii_start().strip_prefix(b",")?;
    }
}

/// Splits one JSON value (a string, scalar, array or object) from the front.
fn split_json_value(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, &byte) in bytes.iter().enumerate() {
        let end = if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            (!in_string && depth == 0).then_some(at.saturating_add(1))
        } else {
            match byte {
                b'"' => {
                    in_string = true;
                    None
                }
                b'{' | b'[' => {
                    depth = depth.saturating_add(1);
                    None
                }
                b'}' | b']' if depth > 0 => {
                    depth = depth.saturating_sub(1);
                    (depth == 0).then_some(at.saturating_add(1))
                }
                b',' | b':' | b'}' | b']' | b' ' if depth == 0 => Some(at),
                _ => None,
            }
        };
        if let Some(end) = end {
            return bytes.split_at_checked(end).filter(|(text, _)| !text.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests;
