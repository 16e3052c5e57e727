//! Prompts: listing them, and getting one with its arguments.

use serde_json::{Map, Value, json};

use super::client::Client;
use super::feature_request::{
    self, FeatureRequest, record_unknown, with_no_cache, with_result_type,
};
use super::feature_snapshot::ExportedPrompt;
use super::message::{RpcError, code, excerpt};
use super::render::Reply;
use super::sanitised_item;
use super::server_feature::FeatureKind;

/// `prompts/list`.
pub(crate) async fn list(client: &Client, request: FeatureRequest) -> Result<Value, RpcError> {
    let gateway = &client.gateway;
    gateway.upstreams.refresh_features(FeatureKind::Prompt).await;
    let snapshot = client.feature_snapshot().await;
    let page = snapshot.prompts(request.cursor()?, |id| client.is_offered(id))?;
    let firewall = client.firewall().await;
    let items = page.items.iter();
    let items = items.map(|(name, prompt)| sanitised_item::prompt(&firewall, name, &prompt.item));
    let mut result = Map::from_iter([("prompts".to_owned(), Value::Array(items.collect()))]);
    result.extend(page.next.map(|next| ("nextCursor".to_owned(), json!(next))));
    Ok(with_no_cache(result, request.era))
}

/// `prompts/get`.
pub(crate) async fn get(client: &Client, request: FeatureRequest) -> Result<Value, RpcError> {
    let (name, era) = (request.string_param("name")?, request.era);
    let arguments = match request.params.get("arguments") {
        None => json!({}),
        Some(arguments) => arguments.clone(),
    };
    let Some(prompt) = find(client, &name).await else {
        record_unknown(client, &name).await;
        let problem = format!("no prompt `{}` here; list the prompts again", excerpt(&name));
        return Err(RpcError::new(code::INVALID_PARAMS, problem));
    };
    let reply = feature_request::call(client, prompt.id, arguments, request).await?;
    Ok(with_result_type(messages(reply), era))
}

/// The prompt of an exported name, if it is visible to the client.
pub(crate) async fn find(client: &Client, name: &str) -> Option<ExportedPrompt> {
    let lookup = async || {
        let snapshot = client.feature_snapshot().await;
        snapshot.prompts.get(name).filter(|prompt| client.is_visible(&prompt.id)).cloned()
    };
    if let Some(prompt) = lookup().await {
        return Some(prompt);
    }
    // A prompt waits for its server as long as a call does, which is longer than a list does.
    client.gateway.upstreams.wait_for_first_attempts().await;
    client.gateway.upstreams.refresh_features(FeatureKind::Prompt).await;
    lookup().await
}

/// The messages of a prompt: the blocks of the result, each with its role. Notices about masking or
/// truncation get the role `user`, because MCP has no neutral one.
fn messages(reply: Reply) -> Map<String, Value> {
    let structured = reply.structured.unwrap_or_default();
    let roles = structured.get("messages").and_then(Value::as_array);
    let roles = roles.map(Vec::as_slice).unwrap_or_default();
    let messages = reply.content.into_iter().enumerate().map(|(index, block)| {
        let mut message = roles.get(index).and_then(Value::as_object).cloned().unwrap_or_default();
        message.entry("role").or_insert_with(|| json!("user"));
        message.insert("content".to_owned(), block);
        Value::Object(message)
    });
    let mut result = Map::from_iter([("messages".to_owned(), Value::Array(messages.collect()))]);
    if let Some(description) = structured.get("description").filter(|value| value.is_string()) {
        result.insert("description".to_owned(), description.clone());
    }
    if !reply.meta.is_empty() {
        result.insert("_meta".to_owned(), Value::Object(reply.meta));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_with_their_roles() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let structured = json!({"description": "d", "messages": [{"role": "assistant"}]});
        let content = vec![text("one"), text("[weaver] cut")];
        let reply =
            Reply { content, structured: Some(structured), meta: Map::new(), is_error: false };
        let got = Value::Object(messages(reply));
        assert_eq!(
            got,
            json!({"description": "d", "messages": [
                {"role": "assistant", "content": text("one")},
                {"role": "user", "content": text("[weaver] cut")}]})
        );
    }
}
