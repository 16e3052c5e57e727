//! Completion of the arguments of prompts and resource templates.

use serde_json::{Map, Value, json};

use super::client::Client;
use super::feature_request::{self, FeatureRequest, with_result_type};
use super::message::{RpcError, code};
use super::prompts;
use super::resources::VisibleServers;
use super::server_feature::FeatureKind;

/// `completion/complete`. The reference is translated to the name that its server uses.
pub(crate) async fn complete(client: &Client, request: FeatureRequest) -> Result<Value, RpcError> {
    let era = request.era;
    let Some((server, reference)) = reference(client, request.params.get("ref")).await else {
        let problem = "`ref` names no prompt or template that is listed here";
        return Err(RpcError::new(code::INVALID_PARAMS, problem));
    };
    let id = FeatureKind::Completion.id(&server).filter(|id| client.gateway.registry.contains(id));
    // A server without completion has no such capability.
    let Some(id) = id else {
        return Ok(with_result_type(completion_result(json!({ "values": [] })), era));
    };
    let mut arguments = Map::from_iter([("ref".to_owned(), reference)]);
    for key in ["argument", "context"] {
        arguments.extend(request.params.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    let reply = feature_request::call(client, id, Value::Object(arguments), request).await?;
    let completion = reply.structured.as_ref().and_then(|shown| shown.get("completion"));
    let completion = completion.filter(|completion| completion.is_object()).cloned();
    Ok(with_result_type(
        completion_result(completion.unwrap_or_else(|| json!({ "values": [] }))),
        era,
    ))
}

/// The server of the reference, and the reference under the server's own name.
async fn reference(client: &Client, ref_param: Option<&Value>) -> Option<(String, Value)> {
    let ref_param = ref_param?;
    let text = |key: &str| ref_param.get(key).and_then(Value::as_str);
    match text("type")? {
        "ref/prompt" => {
            let prompt = prompts::find(client, text("name")?).await?;
            let (server, _) = prompt.id.as_str().split_once('.')?;
            Some((server.to_owned(), json!({ "type": "ref/prompt", "name": prompt.name })))
        }
        "ref/resource" => {
            let snapshot = client.feature_snapshot().await;
            let template = snapshot.resolve_template(text("uri")?)?;
            let is_visible = VisibleServers::for_client(client).contains(&template.server);
            let reference = json!({ "type": "ref/resource", "uri": template.uri });
            is_visible.then(|| (template.server.to_string(), reference))
        }
        _ => None,
    }
}

fn completion_result(completion: Value) -> Map<String, Value> {
    Map::from_iter([("completion".to_owned(), completion)])
}
