//! Statements of the user that a host reports with a call: `_meta["weaver/user_said"]`, a text or a
//! list of texts. The host writes it, not the model. It counts only from a client that the policy
//! lists in `trusted_hosts`, by the name with which it opened the session.

use serde_json::{Map, Value, json};
use weaver_types::EventKind;

use super::event;
use super::gateway::Gateway;
use super::message::excerpt;

/// The `_meta` key of the user's statements.
const USER_SAID_KEY: &str = "weaver/user_said";
/// The `_meta` key under which a self-contained request names its client.
const CLIENT_INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// The user's statements in this request.
pub(super) fn from_request(params: &Map<String, Value>) -> Option<Vec<String>> {
    let value = params.get("_meta")?.get(USER_SAID_KEY)?;
    let single = value.as_str().map(|text| vec![text.to_owned()]);
    single.or_else(|| {
        let texts = value.as_array()?.iter().filter_map(Value::as_str);
        Some(texts.map(str::to_owned).collect())
    })
}

/// The client's name in `initialize`.
pub(super) fn session_client_name(params: &Map<String, Value>) -> Option<&str> {
    params.get("clientInfo")?.get("name")?.as_str()
}

/// The client's name in a self-contained request.
pub(super) fn request_client_name(params: &Map<String, Value>) -> Option<&str> {
    params.get("_meta")?.get(CLIENT_INFO_KEY)?.get("name")?.as_str()
}

/// Records that an untrusted client reported statements of its user.
pub(super) async fn record_untrusted_host(gateway: &Gateway, client: &str) {
    let client = excerpt(client);
    tracing::warn!(client, "the user's statements are ignored: the client is not a trusted host");
    let event_fields = event::fields([("client", json!(client)), ("counts", json!(false))]);
    event::record(&gateway.kernel, EventKind::UserSaid, event_fields).await;
}
