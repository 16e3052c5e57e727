//! The receipt of a call, for a client that requests one.

use serde_json::{Map, Value};
use weaver_types::CallId;

use super::gateway::Gateway;
use super::render::Reply;
use crate::publish::LogPosition;

/// The `_meta` key of the request and of the receipt.
const RECEIPT_KEY: &str = "weaver/receipt";

/// A requested receipt, with the log position before the call.
pub(crate) struct ReceiptRequest(Option<LogPosition>);

impl ReceiptRequest {
    /// Reads the request for a receipt from the parameters.
    pub(crate) fn from_params(gateway: &Gateway, params: &Map<String, Value>) -> Self {
        let value = params.get("_meta").and_then(|meta| meta.get(RECEIPT_KEY));
        let issuer = gateway.receipts.as_ref().filter(|_| value == Some(&Value::Bool(true)));
        Self(issuer.and_then(|issuer| issuer.before_call()))
    }

    /// Adds the receipt of the call to its answer. Without log signing there is none.
    pub(crate) async fn attach_to(self, gateway: &Gateway, reply: &mut Reply) {
        let (Some(log_position), Some(issuer)) = (self.0, &gateway.receipts) else { return };
        let call_id = reply.meta.get("weaver/call");
        let call_id = call_id.or_else(|| reply.structured.as_ref()?.get("call"));
        let call = call_id.and_then(Value::as_str).and_then(|call| CallId::parse(call).ok());
        let Some(call) = call else { return };
        if let Some(receipt) = issuer.issue(call, log_position).await {
            reply.meta.insert(RECEIPT_KEY.to_owned(), receipt);
        }
    }
}
