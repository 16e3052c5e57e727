//! Resources: listing, templates and reading.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::ServerList;
use weaver_firewall::Firewall;
use weaver_types::UpstreamName;

use super::client::Client;
use super::era::Era;
use super::feature_request::{self, FeatureRequest, record_unknown, with_no_cache};
use super::feature_snapshot::{ResourceAddress, ServerItem};
use super::list_page::ListPage;
use super::message::{RpcError, code, excerpt};
use super::name_suggestion;
use super::render::{Reply, remove_our_metadata};
use super::sanitised_item;
use super::server_feature::FeatureKind;

/// `resources/list`.
pub(crate) async fn list(client: &Client, request: FeatureRequest) -> Result<Value, RpcError> {
    client.refresh_resources().await;
    let (snapshot, visible) = (client.feature_snapshot().await, VisibleServers::for_client(client));
    let page = snapshot.resources(request.cursor()?, |server| visible.contains(server))?;
    let result = list_result(&*client.firewall().await, ServerList::Resources, &page);
    Ok(with_no_cache(result, request.era))
}

/// `resources/templates/list`.
pub(crate) async fn list_templates(
    client: &Client,
    request: FeatureRequest,
) -> Result<Value, RpcError> {
    client.gateway.upstreams.refresh_features(FeatureKind::ResourceReading).await;
    let (snapshot, visible) = (client.feature_snapshot().await, VisibleServers::for_client(client));
    let page = snapshot.templates(request.cursor()?, |server| visible.contains(server))?;
    let result = list_result(&*client.firewall().await, ServerList::ResourceTemplates, &page);
    Ok(with_no_cache(result, request.era))
}

fn list_result(
    firewall: &Firewall,
    list: ServerList,
    page: &ListPage<'_, ServerItem>,
) -> Map<String, Value> {
    let items = page.items.iter();
    let key = list.identifier();
    let items =
        items.map(|(name, located)| sanitised_item::resource(firewall, key, name, &located.item));
    let mut result = Map::from_iter([(list.field().to_owned(), Value::Array(items.collect()))]);
    result.extend(page.next.as_ref().map(|next| ("nextCursor".to_owned(), json!(next))));
    result
}

/// `resources/read`.
pub(crate) async fn read(client: &Client, request: FeatureRequest) -> Result<Value, RpcError> {
    let (uri, era) = (request.string_param("uri")?, request.era);
    let Some(address) = find(client, &uri).await else {
        return Err(not_found_error(client, &uri, era).await);
    };
    let id = FeatureKind::ResourceReading.id(address.server.as_str());
    let Some(id) = id else { return Err(not_found_error(client, &uri, era).await) };
    let called = feature_request::call(client, id, json!({ "uri": address.uri }), request).await;
    let reply = called.map_err(|error| with_uri(error, &uri))?;
    let snapshot = client.feature_snapshot().await;
    let exported = |own: &str| {
        let part = ResourceAddress { server: address.server.clone(), uri: own.to_owned() };
        // The requested resource keeps the URI that the client used.
        if own == address.uri { uri.clone() } else { snapshot.exported_uri(&part) }
    };
    Ok(with_no_cache(contents(reply, &uri, exported), era))
}

/// Adds the URI to an error, as the protocol requires.
fn with_uri(mut error: RpcError, uri: &str) -> RpcError {
    if let Some(Value::Object(data)) = &mut error.data {
        data.insert("uri".to_owned(), json!(excerpt(uri)));
    }
    error
}

/// The address of a resource, if it is visible to the client.
pub(crate) async fn find(client: &Client, uri: &str) -> Option<ResourceAddress> {
    find_each(client, &BTreeSet::from([uri])).await.remove(uri)
}

/// The addresses of those resources that are visible to the client, by their URIs. Where one is
/// unknown, it may be at a server that is still starting, so the lists are read again, once for all.
pub(crate) async fn find_each(
    client: &Client,
    uris: &BTreeSet<&str>,
) -> BTreeMap<String, ResourceAddress> {
    let lookup = async || {
        let (snapshot, visible) =
            (client.feature_snapshot().await, VisibleServers::for_client(client));
        let found = uris.iter().filter_map(|uri| {
            let address = snapshot.resolve(uri, |server| visible.contains(server))?;
            Some(((*uri).to_owned(), address))
        });
        found.collect::<BTreeMap<String, ResourceAddress>>()
    };
    let found = lookup().await;
    if found.len() == uris.len() {
        return found;
    }
    // A reading waits for a server as long as a call does, which is longer than a list does.
    client.gateway.upstreams.wait_for_first_attempts().await;
    client.refresh_resources().await;
    lookup().await
}

/// Unknown and hidden resources are recorded and answered alike.
pub(crate) async fn not_found_error(client: &Client, uri: &str, era: Era) -> RpcError {
    record_unknown(client, uri).await;
    let code = match era {
        Era::Legacy => code::RESOURCE_NOT_FOUND,
        Era::Modern => code::INVALID_PARAMS,
    };
    let mut problem = format!("no resource `{}` here; list the resources again", excerpt(uri));
    let missing = client.unavailable_servers().into_iter().map(|missing| missing.server);
    let partly_listed = client.feature_snapshot().await.partly_listed.clone().into_iter();
    let partly_listed = partly_listed.filter(|server| client.may_see_server(server));
    let away: BTreeSet<UpstreamName> = missing.chain(partly_listed).collect();
    problem.push_str(&name_suggestion::unavailable_note(&away));
    RpcError::new(code, problem).with_data(json!({ "uri": excerpt(uri) }))
}

/// The servers whose resources the client may see.
pub(crate) struct VisibleServers(BTreeMap<UpstreamName, bool>);

impl VisibleServers {
    pub(crate) fn for_client(client: &Client) -> Self {
        let is_offered = |server: &UpstreamName| {
            let id = FeatureKind::ResourceReading.id(server.as_str());
            id.is_some_and(|id| client.is_offered(&id))
        };
        let servers = client.gateway.upstreams.servers();
        let names = servers.iter().map(|upstream| upstream.name.clone());
        Self(names.map(|name| (name.clone(), is_offered(&name))).collect())
    }

    pub(crate) fn contains(&self, server: &UpstreamName) -> bool {
        self.0.get(server).copied().unwrap_or_default()
    }
}

/// The contents of a resource: the blocks of the result, each with its URI and type, and a last one
/// for a notice of masking or truncation.
fn contents(reply: Reply, uri: &str, exported: impl Fn(&str) -> String) -> Map<String, Value> {
    let listed = reply.structured.as_ref().and_then(|listed| listed.get("contents")?.as_array());
    let listed = listed.map(Vec::as_slice).unwrap_or_default();
    let contents = reply.content.iter().enumerate().map(|(index, block)| {
        let mut item = listed.get(index).and_then(Value::as_object).cloned().unwrap_or_default();
        let exported_uri = item.get("uri").and_then(Value::as_str).map(&exported);
        item.insert("uri".to_owned(), json!(exported_uri.unwrap_or_else(|| uri.to_owned())));
        put_content(&mut item, block);
        let mut item = Value::Object(item);
        remove_our_metadata(&mut item);
        item
    });
    let mut result = Map::from_iter([("contents".to_owned(), Value::Array(contents.collect()))]);
    if !reply.meta.is_empty() {
        result.insert("_meta".to_owned(), Value::Object(reply.meta));
    }
    result
}

fn put_content(item: &mut Map<String, Value>, block: &Value) {
    let resource = block.get("resource");
    let field =
        |key: &str| resource.and_then(|resource| resource.get(key)).or_else(|| block.get(key));
    let bytes = field("blob").or_else(|| block.get("data")).filter(|bytes| bytes.is_string());
    match (bytes, field("text")) {
        (Some(bytes), _) => {
            if let Some(kind) = field("mimeType") {
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
