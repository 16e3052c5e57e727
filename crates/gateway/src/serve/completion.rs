//! Completion of arguments of prompts and templates.

use serde_json::{Map, Value, json};

use super::client::Client;
use super::feature_request::{self, FeatureRequest, complete as completed};
use super::message::{RpcError, code};
use super::prompts;
use super::resources::Sight;
use super::server_feature::FeatureKind;

/// `completion/complete`. What it refers to is known to its server under another name.
pub(crate) async fn complete(client: &Client, asked: FeatureRequest) -> Result<Value, RpcError> {
    let era = asked.era;
    let Some((server, reference)) = reference(client, asked.params.get("ref")).await else {
        let problem = "`ref` names no prompt and no template that is listed here";
        return Err(RpcError::new(code::INVALID_PARAMS, problem));
    };
    let id = FeatureKind::Completion.id(&server).filter(|id| client.gateway.registry.contains(id));
    // A server that completes nothing proposes nothing.
    let Some(id) = id else { return Ok(completed(values(json!({ "values": [] })), era)) };
    let mut arguments = Map::from_iter([("ref".to_owned(), reference)]);
    for key in ["argument", "context"] {
        arguments.extend(asked.params.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    let reply = feature_request::call(client, id, Value::Object(arguments), asked).await?;
    let completion = reply.structured.as_ref().and_then(|shown| shown.get("completion"));
    let completion = completion.filter(|completion| completion.is_object()).cloned();
    Ok(completed(values(completion.unwrap_or_else(|| json!({ "values": [] }))), era))
}

/// The server that is meant, and the reference as it stands there.
async fn reference(client: &Client, asked: Option<&Value>) -> Option<(String, Value)> {
    let asked = asked?;
    let named = |key: &str| asked.get(key).and_then(Value::as_str);
    match named("type")? {
        "ref/prompt" => {
            let prompt = prompts::find(client, named("name")?).await?;
            let (server, _) = prompt.id.as_str().split_once('.')?;
            Some((server.to_owned(), json!({ "type": "ref/prompt", "name": prompt.name })))
        }
        "ref/resource" => {
            let snapshot = client.feature_snapshot().await;
            let template = snapshot.template(named("uri")?)?;
            let sees = Sight::of(client).may_see(&template.server);
            let reference = json!({ "type": "ref/resource", "uri": template.uri });
            sees.then(|| (template.server.to_string(), reference))
        }
        _ => None,
    }
}

fn values(completion: Value) -> Map<String, Value> {
    Map::from_iter([("completion".to_owned(), completion)])
}
