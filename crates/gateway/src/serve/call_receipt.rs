//! The receipt of a call, for a client that asks for one with it.

use serde_json::{Map, Value};
use weaver_types::CallId;

use super::gateway::Gateway;
use super::render::Reply;
use crate::publish::LogPosition;

/// Under which name a client asks for a receipt, and gets it.
const RECEIPT: &str = "weaver/receipt";

/// A receipt that a client asked for, before its call began.
pub(crate) struct WantedReceipt(Option<LogPosition>);

impl WantedReceipt {
    /// What the parameters of a request ask for.
    pub(crate) fn of(gateway: &Gateway, params: &Map<String, Value>) -> Self {
        let asked = params.get("_meta").and_then(|meta| meta.get(RECEIPT));
        let issuer = gateway.receipts.as_ref().filter(|_| asked == Some(&Value::Bool(true)));
        Self(issuer.and_then(|issuer| issuer.before_call()))
    }

    /// Adds the receipt of the call to its answer. Where the log is not signed, there is none.
    pub(crate) async fn add_to(self, gateway: &Gateway, reply: &mut Reply) {
        let (Some(before), Some(issuer)) = (self.0, &gateway.receipts) else { return };
        let named = reply.meta.get("weaver/call");
        let named = named.or_else(|| reply.structured.as_ref()?.get("call"));
        let call = named.and_then(Value::as_str).and_then(|call| CallId::parse(call).ok());
        let Some(call) = call else { return };
        if let Some(receipt) = issuer.issue(call, before).await {
            reply.meta.insert(RECEIPT.to_owned(), receipt);
        }
    }
}
