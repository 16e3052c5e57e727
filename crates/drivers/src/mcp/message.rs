//! Classifies a message from a server before anything trusts it.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use weaver_types::JsonRows;

use super::call::{Finding, Reply};
use super::error::RpcError;
use super::fault::Fault;
use super::{large_message, strict_json};

/// The result of a request: what the server returned, or its JSON-RPC error.
pub(crate) type RpcResult = Result<Reply, RpcError>;

/// A message from the server.
#[derive(Debug)]
pub(crate) enum IncomingMessage {
    /// A well-formed reply. `id` is none when it is not one that this client gives out.
    Reply { id: Option<u64>, answer: RpcResult },
    /// The server asks something.
    Request { id: Box<RawValue>, method: String, params: Value },
    /// The server tells something.
    Notification { method: String, params: Value },
    /// Not a JSON-RPC message: a log line that went astray.
    Noise,
    /// A request or notification that breaks a rule: nobody waits for it.
    Dropped,
    /// A message that breaks a rule. `ids` are the requests that it names, if any.
    Faulty { fault: Fault, ids: Vec<u64> },
}

/// Decides what `bytes` are. Never fails: what cannot be read is [`IncomingMessage::Noise`] or
/// [`IncomingMessage::Faulty`].
pub(crate) fn classify(bytes: &[u8]) -> IncomingMessage {
    let text = bytes.trim_ascii();
    match text.first() {
        Some(b'{') => classify_object(text),
        Some(b'[') => classify_array(text),
        _ => IncomingMessage::Noise,
    }
}

fn classify_object(text: &[u8]) -> IncomingMessage {
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(text) else {
        return match (id_in_head(text), says_rpc(text)) {
            (None, false) => IncomingMessage::Noise,
            (id, _) => {
                IncomingMessage::Faulty { fault: Fault::InvalidJson, ids: id.into_iter().collect() }
            }
        };
    };
    if !envelope.is_rpc() {
        return IncomingMessage::Noise;
    }
    let read = match large_message::read(text, envelope.result) {
        Some((strict, rows)) => Ok((strict, Some(rows))),
        None => strict_json::read(text).map(|strict| (strict, None)),
    };
    let (strict, rows) = match read {
        Ok(read) => read,
        Err(_) if envelope.method.is_some() && !envelope.is_reply() => {
            return IncomingMessage::Dropped;
        }
        Err(fault) => return IncomingMessage::Faulty { fault, ids: envelope.ids() },
    };
    match envelope.rule_broken() {
        Some(fault) => IncomingMessage::Faulty { fault, ids: envelope.ids() },
        None => envelope.open(strict, rows),
    }
}

/// Whether text that cannot be read begins as a message does.
fn says_rpc(text: &[u8]) -> bool {
    text.iter().take(64).copied().collect::<Vec<u8>>().windows(9).any(|w| w == b"\"jsonrpc\"")
}

/// JSON-RPC batches are not part of MCP; an array that holds no message is noise.
fn classify_array(text: &[u8]) -> IncomingMessage {
    let Ok(items) = serde_json::from_slice::<Vec<&RawValue>>(text) else {
        return IncomingMessage::Noise;
    };
    let messages: Vec<Envelope<'_>> = items
        .iter()
        .filter_map(|item| serde_json::from_str::<Envelope<'_>>(item.get()).ok())
        .filter(Envelope::is_rpc)
        .collect();
    if messages.is_empty() {
        return IncomingMessage::Noise;
    }
    let ids = messages.iter().flat_map(Envelope::ids).collect();
    IncomingMessage::Faulty { fault: Fault::Batch, ids }
}

/// The members of a message that JSON-RPC knows, as raw text. The first of duplicates is kept;
/// the strict reader refuses the message afterwards.
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
    /// Whether this is meant as a message at all, as opposed to a log record in JSON.
    fn is_rpc(&self) -> bool {
        self.jsonrpc.is_some() || (!self.ids.is_empty() && self.is_reply())
    }

    fn is_reply(&self) -> bool {
        self.result.is_some() || self.error.is_some()
    }

    fn ids(&self) -> Vec<u64> {
        self.ids.iter().filter_map(|raw| own_id(raw.get())).collect()
    }

    fn rule_broken(&self) -> Option<Fault> {
        if self.jsonrpc.is_none_or(|raw| string(raw).as_deref() != Some("2.0")) {
            return Some(Fault::MissingVersion);
        }
        if self.method.is_some() {
            return self.is_reply().then_some(Fault::RequestAndReply);
        }
        if self.ids.first().is_none_or(|raw| raw.get() == "null") {
            return Some(Fault::NullId);
        }
        match (self.result, self.error) {
            (Some(_), Some(_)) => Some(Fault::ResultAndError),
            (None, None) => Some(Fault::NeitherResultNorError),
            (Some(raw), None) => (!raw.get().starts_with('{')).then_some(Fault::ResultNotObject),
            (None, Some(_)) => None,
        }
    }

    fn open(&self, strict: strict_json::StrictValue, rows: Option<JsonRows>) -> IncomingMessage {
        let Value::Object(mut members) = strict.value else { return IncomingMessage::Noise };
        let id = self.ids.first();
        if let Some(method) = self.method {
            let Some(method) = string(method) else { return IncomingMessage::Noise };
            let params = members.remove("params").unwrap_or_default();
            return match id {
                Some(raw) => IncomingMessage::Request { id: (*raw).to_owned(), method, params },
                None => IncomingMessage::Notification { method, params },
            };
        }
        let own = id.and_then(|raw| own_id(raw.get()));
        if let Some(raw) = self.result {
            let value = members.remove("result").unwrap_or_default();
            let findings = if strict.rounded { vec![Finding::NumbersRounded] } else { Vec::new() };
            let reply = Reply::new(raw.to_owned(), value, findings).with_rows(rows);
            return IncomingMessage::Reply { id: own, answer: Ok(reply) };
        }
        match rpc_error(members.remove("error").unwrap_or_default()) {
            Some(error) => IncomingMessage::Reply { id: own, answer: Err(error) },
            None => IncomingMessage::Faulty { fault: Fault::ErrorWithoutCode, ids: self.ids() },
        }
    }
}

/// A JSON-RPC error object; none without an integer `code`.
pub(crate) fn rpc_error(value: Value) -> Option<RpcError> {
    let Value::Object(mut members) = value else { return None };
    let code = members.get("code").and_then(Value::as_i64)?;
    let message = match members.remove("message") {
        Some(Value::String(message)) => message,
        _ => String::new(),
    };
    Some(RpcError { code, message, data: members.remove("data") })
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<String>(raw.get()).ok()
}

/// A request id of this client: a plain decimal number. A string of its digits is another id, and
/// answers none of its requests.
fn own_id(raw: &str) -> Option<u64> {
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
                let mut found = Envelope::default();
                while let Some(key) = access.next_key::<String>()? {
                    let raw = access.next_value::<&'de RawValue>()?;
                    match key.as_str() {
                        "jsonrpc" => found.jsonrpc = found.jsonrpc.or(Some(raw)),
                        "id" if found.ids.len() < 8 => found.ids.push(raw),
                        "method" => found.method = found.method.or(Some(raw)),
                        "params" => found.params = found.params.or(Some(raw)),
                        "result" => found.result = found.result.or(Some(raw)),
                        "error" => found.error = found.error.or(Some(raw)),
                        _ => {}
                    }
                }
                Ok(found)
            }
        }
        reader.deserialize_map(Members)
    }
}

/// Looks for the top-level `id` in the first bytes of a message that cannot be read whole.
pub(crate) fn id_in_head(head: &[u8]) -> Option<u64> {
    let mut rest = head.trim_ascii_start().strip_prefix(b"{")?;
    loop {
        rest = rest.trim_ascii_start();
        let (key, after) = token(rest)?;
        let value = after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let (text, after) = token(value)?;
        if key == b"\"id\"" {
            return own_id(str::from_utf8(text).ok()?);
        }
        rest = after.trim_ascii_start().strip_prefix(b",")?;
    }
}

/// Splits one JSON value (a string, a scalar, or a bracketed whole) from the front.
fn token(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
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
