//! One request beside tools, as a call of a capability: what all of its kinds share.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use weaver_text::escape;
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, JustificationSource, ReasonCode,
    ResponseMode, Verdict,
};

use super::call::{self, CallOptions, CallRequest};
use super::call_receipt::WantedReceipt;
use super::client::Client;
use super::client_call::ClientCall;
use super::era::Era;
use super::message::{RpcError, code};
use super::render::{self, Reply};
use super::{list_page, meta_tools};

/// Where a client says why it reads, for policies that want a reason.
const JUSTIFICATION: &str = "weaver/justification";
/// The longest message of a server that is passed on, in characters.
const MAX_MESSAGE: usize = 500;

/// One request of a client.
pub(crate) struct FeatureRequest {
    pub(crate) era: Era,
    pub(crate) id: Value,
    pub(crate) params: Map<String, Value>,
    pub(crate) options: CallOptions,
}

impl FeatureRequest {
    /// A parameter that has to be a text.
    pub(crate) fn text(&self, key: &str) -> Result<String, RpcError> {
        match self.params.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(RpcError::new(code::INVALID_PARAMS, format!("`{key}` must be a string"))),
        }
    }

    /// The cursor of a list.
    pub(crate) fn cursor(&self) -> Result<Option<&str>, RpcError> {
        list_page::cursor(&self.params)
    }

    /// What the client says beside the parameters.
    pub(crate) fn meta(&self, key: &str) -> Option<&str> {
        self.params.get("_meta")?.get(key)?.as_str()
    }
}

/// A call of a capability of a server that is no tool.
pub(crate) async fn call(
    client: &Client,
    id: CapabilityId,
    arguments: Value,
    asked: FeatureRequest,
) -> Result<Reply, RpcError> {
    let mut request = CapabilityRequest::new(id, "");
    if let Some(reason) = asked.meta(JUSTIFICATION) {
        request = request.justified(reason.to_owned(), JustificationSource::Model);
    }
    let (era, mode, options) = (asked.era, ResponseMode::Auto, asked.options);
    let made_by = Arc::clone(&options.call);
    let receipt = WantedReceipt::of(&client.gateway, &asked.params);
    let called =
        call::run(client, CallRequest { request, arguments: &arguments, mode, options }).await;
    missing_capability(client, &made_by)?;
    let reply =
        called.map_or_else(meta_tools::failed, |called| render::invocation(client, &called, None));
    if reply.is_error {
        return Err(failure(reply, era));
    }
    let mut reply = reply;
    receipt.add_to(&client.gateway, &mut reply).await;
    Ok(reply)
}

/// The error of the protocol where a server refused the request because the client lacks a capability
/// (2026-07-28): a client that has it may make the request again and say so.
pub(crate) fn missing_capability(client: &Client, call: &ClientCall) -> Result<(), RpcError> {
    let Some(refusal) = call.lacking() else { return Ok(()) };
    let firewall = client.gateway.kernel.firewall();
    // Cut last: the begin of a secret is no longer known as one.
    let said = firewall.redact_text(&refusal.message).text;
    let message = escape::line(escape::truncate(&said, MAX_MESSAGE)).into_owned();
    let required = refusal.data.as_ref().and_then(|data| data.get("requiredCapabilities"));
    let data = required
        .map(|required| json!({ "requiredCapabilities": firewall.redact_value(required).0 }));
    Err(RpcError { data, ..RpcError::new(code::MISSING_CAPABILITY, message) })
}

/// A refusal or a failure as a JSON-RPC error. Its data is what a tool call would have as its result.
fn failure(reply: Reply, era: Era) -> RpcError {
    let body = reply.structured.unwrap_or_default();
    let said = body.get("message").and_then(Value::as_str).unwrap_or("the call failed").to_owned();
    let missing = body.pointer("/error/code").and_then(Value::as_str) == Some("NOT_FOUND");
    let code = match (missing, era) {
        (true, Era::Legacy) => code::RESOURCE_NOT_FOUND,
        (true, Era::Modern) => code::INVALID_PARAMS,
        (false, _) => code::REFUSED,
    };
    RpcError { data: Some(body), ..RpcError::new(code, said) }
}

/// Records that somebody asked for what is not there, as for a tool.
pub(crate) async fn note_unknown(client: &Client, name: &str) {
    let Ok(id) = CapabilityId::parse(name).or_else(|_| CapabilityId::parse("unknown")) else {
        return;
    };
    let (request, reason) = (CapabilityRequest::new(id, ""), ReasonCode::NotFound);
    let said = Contribution::new(Check::System, Verdict::Deny, reason, "nothing of that name");
    if let Err(error) = client.reject(&request, said).await {
        tracing::error!(%error, "a refusal could not be recorded");
    }
}

/// Adds what the modern era wants in every result.
pub(crate) fn complete(mut result: Map<String, Value>, era: Era) -> Value {
    if era == Era::Modern {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    Value::Object(result)
}

/// Adds what the modern era wants in results that could be cached: nobody should.
pub(crate) fn uncached(mut result: Map<String, Value>, era: Era) -> Value {
    if era == Era::Modern {
        result.insert("ttlMs".to_owned(), json!(0));
        result.insert("cacheScope".to_owned(), json!("private"));
    }
    complete(result, era)
}
