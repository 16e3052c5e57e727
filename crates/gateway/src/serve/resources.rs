//! Resources: lists, templates and reading.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::ServerList;
use weaver_types::UpstreamName;

use super::client::Client;
use super::era::Era;
use super::feature_request::{self, FeatureRequest, note_unknown, uncached};
use super::feature_snapshot::{LocatedItem, ResourceAddress};
use super::gateway::Gateway;
use super::list_page::ListPage;
use super::listed_item;
use super::message::{RpcError, code, shown};
use super::render::Reply;
use super::server_feature::FeatureKind;

/// How long the first connection attempts may last before a list goes out without them.
const PATIENCE: Duration = Duration::from_secs(25);

/// `resources/list`.
pub(crate) async fn list(client: &Client, asked: FeatureRequest) -> Result<Value, RpcError> {
    let gateway = &client.gateway;
    gateway.fresh_resources(PATIENCE).await;
    let (snapshot, sees) = (client.feature_snapshot().await, Sight::of(client));
    let page = snapshot.resources(asked.cursor()?, |server| sees.may_see(server))?;
    Ok(uncached(listing(gateway, ServerList::Resources, &page), asked.era))
}

/// `resources/templates/list`.
pub(crate) async fn templates(client: &Client, asked: FeatureRequest) -> Result<Value, RpcError> {
    let gateway = &client.gateway;
    gateway.upstreams.fresh(PATIENCE).await;
    let (snapshot, sees) = (client.feature_snapshot().await, Sight::of(client));
    let page = snapshot.templates(asked.cursor()?, |server| sees.may_see(server))?;
    Ok(uncached(listing(gateway, ServerList::ResourceTemplates, &page), asked.era))
}

fn listing(
    gateway: &Gateway,
    list: ServerList,
    page: &ListPage<'_, LocatedItem>,
) -> Map<String, Value> {
    let firewall = gateway.kernel.firewall();
    let items = page.items.iter();
    let key = list.identifier();
    let items =
        items.map(|(name, located)| listed_item::resource(firewall, key, name, &located.item));
    let mut result = Map::from_iter([(list.field().to_owned(), Value::Array(items.collect()))]);
    result.extend(page.next.as_ref().map(|next| ("nextCursor".to_owned(), json!(next))));
    result
}

/// `resources/read`.
pub(crate) async fn read(client: &Client, asked: FeatureRequest) -> Result<Value, RpcError> {
    let (uri, era) = (asked.text("uri")?, asked.era);
    let Some(address) = find(client, &uri).await else {
        return Err(not_found(client, &uri, era).await);
    };
    let id = FeatureKind::ResourceReading.id(address.server.as_str());
    let Some(id) = id else { return Err(not_found(client, &uri, era).await) };
    let called = feature_request::call(client, id, json!({ "uri": address.uri }), asked).await;
    let reply = called.map_err(|error| about(error, &uri))?;
    let snapshot = client.feature_snapshot().await;
    let exported = |own: &str| {
        let part = ResourceAddress { server: address.server.clone(), uri: own.to_owned() };
        // What was asked for is answered under the name that it was asked by.
        if own == address.uri { uri.clone() } else { snapshot.exported_uri(&part) }
    };
    Ok(uncached(contents(reply, &uri, exported), era))
}

/// An error with the URI that it is about, as the protocol has it.
fn about(mut error: RpcError, uri: &str) -> RpcError {
    if let Some(Value::Object(data)) = &mut error.data {
        data.insert("uri".to_owned(), json!(shown(uri)));
    }
    error
}

/// Where the resource of a URI is, as far as the principal may know. One that is not known yet may
/// be at a server that is just starting.
pub(crate) async fn find(client: &Client, uri: &str) -> Option<ResourceAddress> {
    let look = async || {
        let (snapshot, sees) = (client.feature_snapshot().await, Sight::of(client));
        snapshot.resolve(uri, |server| sees.may_see(server))
    };
    if let Some(address) = look().await {
        return Some(address);
    }
    client.gateway.fresh_resources(PATIENCE).await;
    look().await
}

/// Unknown and hidden resources are recorded and answered alike.
pub(crate) async fn not_found(client: &Client, uri: &str, era: Era) -> RpcError {
    note_unknown(client, uri).await;
    let code = match era {
        Era::Legacy => code::RESOURCE_NOT_FOUND,
        Era::Modern => code::INVALID_PARAMS,
    };
    let mut problem = format!("no resource `{}` here; list the resources again", shown(uri));
    let missing = client.gateway.upstreams.missing();
    let away: Vec<&str> = missing.iter().map(|missing| missing.server.as_str()).collect();
    if !away.is_empty() {
        problem.push_str(&format!(" (away: {})", away.join(", ")));
    }
    RpcError { data: Some(json!({ "uri": shown(uri) })), ..RpcError::new(code, problem) }
}

/// Which servers' resources the principal may know of.
pub(crate) struct Sight(BTreeMap<UpstreamName, bool>);

impl Sight {
    pub(crate) fn of(client: &Client) -> Self {
        let offered = |server: &UpstreamName| {
            let id = FeatureKind::ResourceReading.id(server.as_str());
            id.is_some_and(|id| client.offered(&id))
        };
        let names = client.gateway.upstreams.entries().map(|entry| entry.name.clone());
        Self(names.map(|name| (name.clone(), offered(&name))).collect())
    }

    pub(crate) fn may_see(&self, server: &UpstreamName) -> bool {
        self.0.get(server).copied().unwrap_or_default()
    }
}

/// The contents of a resource: the blocks of a delivered result, each under its URI and kind, and a
/// last one where something was masked or cut.
fn contents(reply: Reply, uri: &str, exported: impl Fn(&str) -> String) -> Map<String, Value> {
    let about = reply.structured.as_ref().and_then(|about| about.get("contents")?.as_array());
    let about = about.map(Vec::as_slice).unwrap_or_default();
    let contents = reply.content.iter().enumerate().map(|(at, block)| {
        let mut item = about.get(at).and_then(Value::as_object).cloned().unwrap_or_default();
        let own = item.get("uri").and_then(Value::as_str).map(&exported);
        item.insert("uri".to_owned(), json!(own.unwrap_or_else(|| uri.to_owned())));
        put_content(&mut item, block);
        Value::Object(item)
    });
    let mut result = Map::from_iter([("contents".to_owned(), Value::Array(contents.collect()))]);
    if !reply.meta.is_empty() {
        result.insert("_meta".to_owned(), Value::Object(reply.meta));
    }
    result
}

fn put_content(item: &mut Map<String, Value>, block: &Value) {
    let resource = block.get("resource");
    let of = |key: &str| resource.and_then(|resource| resource.get(key)).or_else(|| block.get(key));
    let bytes = of("blob").or_else(|| block.get("data")).filter(|bytes| bytes.is_string());
    match (bytes, of("text")) {
        (Some(bytes), _) => {
            if let Some(kind) = of("mimeType") {
                item.insert("mimeType".to_owned(), kind.clone());
            }
            item.insert("blob".to_owned(), bytes.clone())
        }
        (None, Some(text)) => item.insert("text".to_owned(), text.clone()),
        (None, None) => item.insert("text".to_owned(), json!("")),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(content: Value, structured: Value) -> Reply {
        let Value::Array(content) = content else { panic!() };
        Reply { content, structured: Some(structured), meta: Map::new(), is_error: false }
    }

    #[test]
    fn blocks_come_back_under_their_uris() {
        let reply = reply(
            json!([{"type": "text", "text": "one"},
                {"type": "resource", "resource": {"uri": "x://2", "mimeType": "image/png", "blob": "aGk="}},
                {"type": "text", "text": "[weaver] cut"}]),
            json!({"contents": [{"uri": "x://1", "mimeType": "text/plain"}, {"uri": "x://2"}]}),
        );
        let read = contents(reply, "x://1", |uri| format!("weaver://s/{uri}"));
        assert_eq!(
            read["contents"],
            json!([{"uri": "weaver://s/x://1", "mimeType": "text/plain", "text": "one"},
                {"uri": "weaver://s/x://2", "mimeType": "image/png", "blob": "aGk="},
                {"uri": "x://1", "text": "[weaver] cut"}])
        );
    }
}
