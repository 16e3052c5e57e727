//! A request for a feature other than tools, made as a call of a capability: the parts that all
//! features share.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use weaver_text::escape;
use weaver_types::{
    CapabilityId, CapabilityRequest, CheckKind, CheckResult, JustificationSource, ReasonCode,
    ResponseMode, Verdict,
};

use super::call::{self, CallOptions, CallRequest};
use super::client::Client;
use super::client_call::ClientCall;
use super::era::Era;
use super::message::{RpcError, code};
use super::receipt_request::ReceiptRequest;
use super::render::{self, Reply};
use super::{list_page, meta_tools};

/// The `_meta` key of a justification, for policies that require one.
const JUSTIFICATION_ARGUMENT: &str = "weaver/justification";
/// The longest message of a server that is passed on, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// A request for a feature other than tools.
pub(crate) struct FeatureRequest {
    pub(crate) era: Era,
    pub(crate) id: Value,
    pub(crate) params: Map<String, Value>,
    pub(crate) options: CallOptions,
}

impl FeatureRequest {
    /// A parameter that must be a string.
    pub(crate) fn string_param(&self, key: &str) -> Result<String, RpcError> {
        match self.params.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(RpcError::new(code::INVALID_PARAMS, format!("`{key}` must be a string"))),
        }
    }

    /// The cursor of a list request.
    pub(crate) fn cursor(&self) -> Result<Option<&str>, RpcError> {
        list_page::requested_cursor(&self.params)
    }

    /// A string from the request's `_meta`.
    pub(crate) fn meta_text(&self, key: &str) -> Option<&str> {
        self.params.get("_meta")?.get(key)?.as_str()
    }
}

/// Calls a capability of a server that is no tool.
pub(crate) async fn call(
    client: &Client,
    id: CapabilityId,
    arguments: Value,
    feature_request: FeatureRequest,
) -> Result<Reply, RpcError> {
    let mut request = CapabilityRequest::new(id, "");
    if let Some(reason) = feature_request.meta_text(JUSTIFICATION_ARGUMENT) {
        request = request.justified(reason.to_owned(), JustificationSource::Model);
    }
    let (era, mode, options) = (feature_request.era, ResponseMode::Auto, feature_request.options);
    let client_call = Arc::clone(&options.client_call);
    let receipt_request = ReceiptRequest::from_params(&client.gateway, &feature_request.params);
    let outcome =
        call::run(client, CallRequest { request, arguments: &arguments, mode, options }).await;
    check_missing_capability(client, &client_call).await?;
    let reply = outcome.map_or_else(meta_tools::internal_failure, |outcome| {
        render::reply_to_invocation(client, &outcome)
    });
    if reply.is_error {
        return Err(error_from_reply(reply, era));
    }
    let mut reply = reply;
    receipt_request.attach_to(&client.gateway, &mut reply).await;
    Ok(reply)
}

/// The protocol's error for a request that a server refused because the client lacks a capability
/// (2026-07-28). A client that has it may repeat the request and declare it.
pub(crate) async fn check_missing_capability(
    client: &Client,
    call: &ClientCall,
) -> Result<(), RpcError> {
    let Some(refusal) = call.missing_capability() else { return Ok(()) };
    let firewall = client.firewall().await;
    // Truncated after masking: the beginning of a cut secret would no longer match its rule.
    let masked = firewall.redact_text(&refusal.message).text;
    let message = escape::excerpt(&masked, MAX_MESSAGE_CHARS);
    let required = refusal.data.as_ref().and_then(|data| data.get("requiredCapabilities"));
    let error = RpcError::new(code::MISSING_CAPABILITY, message);
    Err(match required {
        None => error,
        Some(required) => {
            let required = firewall.redact_value(required).0;
            error.with_data(json!({ "requiredCapabilities": required }))
        }
    })
}

/// A refusal or failure as a JSON-RPC error. Its data is what a tool call would return as its
/// result.
fn error_from_reply(reply: Reply, era: Era) -> RpcError {
    let body = reply.structured.unwrap_or_default();
    let message =
        body.get("message").and_then(Value::as_str).unwrap_or("the call failed").to_owned();
    let is_not_found = body.pointer("/error/code").and_then(Value::as_str) == Some("NOT_FOUND");
    let code = match (is_not_found, era) {
        (true, Era::Legacy) => code::RESOURCE_NOT_FOUND,
        (true, Era::Modern) => code::INVALID_PARAMS,
        (false, _) => code::REFUSED,
    };
    RpcError::new(code, message).with_data(body)
}

/// Records a request for an unknown feature, as for an unknown tool.
pub(crate) async fn record_unknown(client: &Client, name: &str) {
    let Ok(id) = CapabilityId::parse(name).or_else(|_| CapabilityId::parse("unknown")) else {
        return;
    };
    let (request, reason) = (CapabilityRequest::new(id, ""), ReasonCode::NotFound);
    let denial = CheckResult::new(CheckKind::System, Verdict::Deny, reason, "nothing of that name");
    if let Err(error) = client.reject(&request, denial).await {
        tracing::error!(%error, "a refusal could not be recorded");
    }
}

/// Adds the field that the modern era requires in every result.
pub(crate) fn with_result_type(mut result: Map<String, Value>, era: Era) -> Value {
    if era == Era::Modern {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    Value::Object(result)
}

/// Adds the fields that the modern era requires in cacheable results: they forbid caching.
pub(crate) fn with_no_cache(mut result: Map<String, Value>, era: Era) -> Value {
    if era == Era::Modern {
        result.insert("ttlMs".to_owned(), json!(0));
        result.insert("cacheScope".to_owned(), json!("private"));
    }
    with_result_type(result, era)
}
