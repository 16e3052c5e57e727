//! What the user said, as a client tells it with a call: `_meta["weaver/user_said"]`, a text or a
//! list of texts. The host writes it, not the model. It counts only from a client that the policy
//! names among `trusted_hosts`, by the name with which it opened the session.

use serde_json::{Map, Value, json};
use weaver_types::EventKind;

use super::event;
use super::gateway::Gateway;
use super::message::shown;

/// Where a call carries what the user said.
const KEY: &str = "weaver/user_said";
/// Where a request that stands alone names its client.
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";

/// What the user said, as this request tells it.
pub(super) fn of_request(params: &Map<String, Value>) -> Option<Vec<String>> {
    let said = params.get("_meta")?.get(KEY)?;
    let one = said.as_str().map(|text| vec![text.to_owned()]);
    one.or_else(|| {
        let texts = said.as_array()?.iter().filter_map(Value::as_str);
        Some(texts.map(str::to_owned).collect())
    })
}

/// What a client calls itself when it opens a session.
pub(super) fn session_client(params: &Map<String, Value>) -> Option<&str> {
    params.get("clientInfo")?.get("name")?.as_str()
}

/// What the client of a request that stands alone calls itself.
pub(super) fn request_client(params: &Map<String, Value>) -> Option<&str> {
    params.get("_meta")?.get(CLIENT)?.get("name")?.as_str()
}

/// Notes that a client reported words of its user and is not trusted to.
pub(super) async fn note_untrusted(gateway: &Gateway, client: &str) {
    let client = shown(client);
    tracing::warn!(client, "what the user said does not count: the client is no trusted host");
    let said = event::fields([("client", json!(client)), ("counts", json!(false))]);
    event::note(&gateway.kernel, EventKind::UserSaid, said).await;
}
