//! Prompts: the list, and one filled in.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::client::Client;
use super::feature_request::{self, FeatureRequest, complete, note_unknown, uncached};
use super::feature_snapshot::LocatedPrompt;
use super::listed_item;
use super::message::{RpcError, code, shown};
use super::render::Reply;

/// How long a list waits for servers that connect for the first time.
const PATIENCE: Duration = Duration::from_secs(25);

/// `prompts/list`.
pub(crate) async fn list(client: &Client, asked: FeatureRequest) -> Result<Value, RpcError> {
    let gateway = &client.gateway;
    gateway.upstreams.fresh(PATIENCE).await;
    let snapshot = client.feature_snapshot().await;
    let page = snapshot.prompts(asked.cursor()?, |id| client.offered(id))?;
    let firewall = gateway.kernel.firewall();
    let items = page.items.iter();
    let items = items.map(|(name, prompt)| listed_item::prompt(firewall, name, &prompt.item));
    let mut result = Map::from_iter([("prompts".to_owned(), Value::Array(items.collect()))]);
    result.extend(page.next.map(|next| ("nextCursor".to_owned(), json!(next))));
    Ok(uncached(result, asked.era))
}

/// `prompts/get`.
pub(crate) async fn get(client: &Client, asked: FeatureRequest) -> Result<Value, RpcError> {
    let (name, era) = (asked.text("name")?, asked.era);
    let arguments = match asked.params.get("arguments") {
        None => json!({}),
        Some(arguments) => arguments.clone(),
    };
    let Some(prompt) = find(client, &name).await else {
        note_unknown(client, &name).await;
        let problem = format!("no prompt `{}` here; list the prompts again", shown(&name));
        return Err(RpcError::new(code::INVALID_PARAMS, problem));
    };
    let reply = feature_request::call(client, prompt.id, arguments, asked).await?;
    Ok(complete(messages(reply), era))
}

/// The prompt of an exported name, as far as the principal may know.
pub(crate) async fn find(client: &Client, name: &str) -> Option<LocatedPrompt> {
    let look = async || {
        let snapshot = client.feature_snapshot().await;
        snapshot.prompts.get(name).filter(|prompt| client.visible(&prompt.id)).cloned()
    };
    if let Some(prompt) = look().await {
        return Some(prompt);
    }
    client.gateway.upstreams.fresh(PATIENCE).await;
    look().await
}

/// The messages of a prompt: the blocks of a delivered result, each with its role. Notices of what
/// was masked or cut have the role `user`: MCP has no neutral one.
fn messages(reply: Reply) -> Map<String, Value> {
    let about = reply.structured.unwrap_or_default();
    let roles = about.get("messages").and_then(Value::as_array);
    let roles = roles.map(Vec::as_slice).unwrap_or_default();
    let messages = reply.content.into_iter().enumerate().map(|(at, block)| {
        let mut message = roles.get(at).and_then(Value::as_object).cloned().unwrap_or_default();
        message.entry("role").or_insert_with(|| json!("user"));
        message.insert("content".to_owned(), block);
        Value::Object(message)
    });
    let mut result = Map::from_iter([("messages".to_owned(), Value::Array(messages.collect()))]);
    if let Some(description) = about.get("description").filter(|said| said.is_string()) {
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
