//! The features of a server other than tools, as capabilities: reading its resources, each of its
//! prompts, and completion.
//!
//! The id of such a capability is the server's name, a dot and the protocol's method, and for a
//! prompt its name: `files.resources/read`, `files.prompts/get/review`,
//! `files.completion/complete`. Tool names contain no slash, so no tool has such an id.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use weaver_drivers::mcp::{Connection, ListedItem, McpError, McpErrorKind, ServerList};
use weaver_types::formats::{ToolFormat, draft_from_tool, upstream_digest};
use weaver_types::{Capability, CapabilityDraft, CapabilityId};

use super::tool_proposal::{DEFAULT_TIMEOUT_MS, ProposalError, suspicions};
use super::unlisted_uri;
use crate::config::UpstreamSettings;
use crate::serve::code;

const READ: &str = "resources/read";
const GET_PROMPT: &str = "prompts/get";
const COMPLETE: &str = "completion/complete";
const ELICIT: &str = "elicitation/create";
const SAMPLE: &str = "sampling/createMessage";
/// The longest name of a prompt, in bytes.
const MAX_NAME: usize = 128;
/// The most arguments of a prompt; the rest is ignored.
const MAX_ARGUMENTS: usize = 100;

/// What a capability of a server represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeatureKind {
    /// One of its tools.
    Tool,
    /// Reading its resources.
    ResourceReading,
    /// One of its prompts.
    Prompt,
    /// Completion of arguments of its prompts and templates.
    Completion,
    /// Asking the person behind a client.
    Elicitation,
    /// Using the model of a client.
    Sampling,
}

impl FeatureKind {
    /// The kind of capability that an id denotes.
    #[must_use]
    pub fn of(id: &CapabilityId) -> Self {
        match id.as_str().split_once('.') {
            Some((_, READ)) => Self::ResourceReading,
            Some((_, COMPLETE)) => Self::Completion,
            Some((_, ELICIT)) => Self::Elicitation,
            Some((_, SAMPLE)) => Self::Sampling,
            Some((_, rest)) if is_prompt(rest) => Self::Prompt,
            _ => Self::Tool,
        }
    }

    /// Whether only a server may request it.
    pub(crate) fn is_asked_by_servers(self) -> bool {
        matches!(self, Self::Elicitation | Self::Sampling)
    }

    /// The id of a server's capability of this kind; `None` for tools and prompts, of which a
    /// server has many.
    pub(crate) fn id(self, server: &str) -> Option<CapabilityId> {
        let method = match self {
            Self::ResourceReading => READ,
            Self::Completion => COMPLETE,
            Self::Elicitation => ELICIT,
            Self::Sampling => SAMPLE,
            Self::Tool | Self::Prompt => return None,
        };
        CapabilityId::parse(format!("{server}.{method}")).ok()
    }
}

fn is_prompt(rest: &str) -> bool {
    rest.strip_prefix(GET_PROMPT).is_some_and(|name| name.starts_with('/'))
}

/// The id of a prompt. Characters that tool names do not allow are percent-encoded byte by byte, so
/// that two prompts never share an id.
pub(crate) fn prompt_id(server: &str, name: &str) -> Result<CapabilityId, ProposalError> {
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(ProposalError::prompt_name(name));
    }
    let mut id = format!("{server}.{GET_PROMPT}/");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' => {
                id.push(char::from(byte))
            }
            // Writing to a string cannot fail.
            _ => drop(write!(id, "%{byte:02X}")),
        }
    }
    Ok(CapabilityId::parse(id)?)
}

/// What a server lists besides tools.
#[derive(Debug, Clone, Default)]
pub struct ServerFeatures {
    /// Whether it declares resources.
    pub has_resources: bool,
    /// Its resources.
    pub resources: Vec<ListedItem>,
    /// Its resource templates.
    pub templates: Vec<ListedItem>,
    /// Its prompts.
    pub prompts: Vec<ListedItem>,
    /// Whether it completes arguments.
    pub supports_completion: bool,
    /// Whether it reports changes of single resources.
    pub supports_subscriptions: bool,
    /// Whether it sends log messages.
    pub supports_logging: bool,
    /// The lists that could not be read, and why.
    pub problems: Vec<String>,
}

impl ServerFeatures {
    /// Fetches a server's lists. A list that fails counts as empty, with a problem: its tools can
    /// be used without it.
    pub async fn fetch(connection: &Connection) -> Self {
        let server = connection.server();
        let fetch_list = |fetch_list: ServerList| async move {
            if !server.has_list(fetch_list) {
                return (Vec::new(), None);
            }
            match connection.list(fetch_list).await {
                Ok(items) => (items, None),
                // Many servers have resources but do not implement templates.
                Err(McpError { kind: McpErrorKind::Refused { error, .. }, .. })
                    if error.code == code::METHOD_NOT_FOUND =>
                {
                    (Vec::new(), None)
                }
                Err(error) => {
                    (Vec::new(), Some(format!("its {fetch_list} are not there: {error}")))
                }
            }
        };
        let (resources, templates, prompts) = tokio::join!(
            fetch_list(ServerList::Resources),
            fetch_list(ServerList::ResourceTemplates),
            fetch_list(ServerList::Prompts),
        );
        let problems = [resources.1, templates.1, prompts.1].into_iter().flatten().collect();
        let capability = |name: &str| server.capability(name);
        let subscribes = capability("resources").and_then(|capability| capability.get("subscribe"));
        Self {
            has_resources: server.has_list(ServerList::Resources),
            resources: resources.0,
            templates: templates.0,
            prompts: prompts.0,
            supports_completion: capability("completions").is_some(),
            supports_subscriptions: subscribes == Some(&Value::Bool(true)),
            supports_logging: capability("logging").is_some(),
            problems,
        }
    }
}

/// The capability that a feature proposes to be.
pub struct FeatureProposal {
    /// What it represents.
    pub kind: FeatureKind,
    /// The name of a prompt, or the method of another feature.
    pub name: String,
    /// The server's description of it, in the form of a tool definition.
    pub definition: Value,
    /// The capability, or why it is not one.
    pub capability: Result<Capability, ProposalError>,
}

/// The capabilities that a server's features propose to be.
#[must_use]
pub fn propose_features(
    upstream: &UpstreamSettings,
    features: &ServerFeatures,
    instructions: Option<&str>,
) -> Vec<FeatureProposal> {
    let server = upstream.name.as_str();
    let proposal =
        |kind: FeatureKind, name: &str, definition: Value, id: Result<CapabilityId, _>| {
            let capability =
                id.and_then(|id| propose_feature(upstream, id, &definition, instructions));
            FeatureProposal { kind, name: name.to_owned(), definition, capability }
        };
    let method_id = |kind: FeatureKind, method: &str| {
        kind.id(server).ok_or_else(|| ProposalError::prompt_name(method))
    };
    let mut proposals = Vec::new();
    if features.has_resources {
        let (kind, definition) = (FeatureKind::ResourceReading, reading_definition(features));
        proposals.push(proposal(kind, READ, definition, method_id(kind, READ)));
    }
    for prompt in &features.prompts {
        let name = prompt.identifier();
        let definition = prompt_definition(prompt.value());
        proposals.push(proposal(FeatureKind::Prompt, name, definition, prompt_id(server, name)));
    }
    if features.supports_completion {
        let kind = FeatureKind::Completion;
        proposals.push(proposal(
            kind,
            COMPLETE,
            completion_definition(),
            method_id(kind, COMPLETE),
        ));
    }
    proposals
}

/// A server's description of a feature, in the form of a tool definition. `None` where it has no
/// such feature.
pub(crate) fn definition_of(
    kind: FeatureKind,
    name: &str,
    features: &ServerFeatures,
) -> Option<Value> {
    match kind {
        FeatureKind::ResourceReading => {
            features.has_resources.then(|| reading_definition(features))
        }
        FeatureKind::Prompt => {
            let prompt = features.prompts.iter().find(|prompt| prompt.identifier() == name)?;
            Some(prompt_definition(prompt.value()))
        }
        FeatureKind::Completion => features.supports_completion.then(completion_definition),
        FeatureKind::Tool | FeatureKind::Elicitation | FeatureKind::Sampling => None,
    }
}

fn propose_feature(
    upstream: &UpstreamSettings,
    id: CapabilityId,
    definition: &Value,
    instructions: Option<&str>,
) -> Result<Capability, ProposalError> {
    let digest = upstream_digest(definition, instructions)
        .map_err(|source| ProposalError::Digest { id: id.clone(), source })?;
    let configured_timeout = upstream.timeout.and_then(|time| u32::try_from(time.as_millis()).ok());
    let mut draft = CapabilityDraft {
        timeout_ms: configured_timeout.unwrap_or(DEFAULT_TIMEOUT_MS),
        upstream_digest: Some(digest),
        suspicions: suspicions(definition, instructions),
        ..draft_from_tool(ToolFormat::Mcp, id, definition)
    };
    let uri = draft.input_schema.as_mut().and_then(|schema| {
        Arc::make_mut(schema).pointer_mut("/properties/uri").and_then(Value::as_object_mut)
    });
    let open = open_authorities(definition);
    if let Some(uri) = uri.filter(|_| !open.is_empty()) {
        uri.insert("x-open-authorities".to_owned(), json!(open));
    }
    Ok(draft.build()?)
}

/// The schemes of the templates in which a variable says the host, for the check of flow. They follow from
/// the definition, whose digest is left as it is.
fn open_authorities(definition: &Value) -> BTreeSet<String> {
    let templates = definition.pointer("/annotations/resourceTemplates").and_then(Value::as_array);
    let templates = templates.into_iter().flatten();
    let templates = templates.filter_map(|template| template.get("uriTemplate")?.as_str());
    templates.filter_map(unlisted_uri::scheme_with_open_authority).collect()
}

/// The definition of reading contains the templates, which say what can be read. Single resources
/// come and go, so they are not part of it.
fn reading_definition(features: &ServerFeatures) -> Value {
    let keys = ["uriTemplate", "name", "title", "description", "mimeType"];
    let template = |item: &ListedItem| {
        let fields = keys
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), item.value().get(*key)?.clone())));
        Value::Object(fields.collect())
    };
    let templates: Vec<Value> = features.templates.iter().map(template).collect();
    json!({
        "name": READ,
        "title": "Read a resource",
        "description": "Reads the resource of a URI.",
        "inputSchema": {
            "type": "object",
            "properties": { "uri": { "type": "string", "minLength": 1, "maxLength": 8192 } },
            "required": ["uri"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "resourceTemplates": templates },
    })
}

/// A prompt in the form of a tool definition. Its arguments are strings.
fn prompt_definition(prompt: &Value) -> Value {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let (mut properties, mut required) = (Map::new(), Vec::new());
    let arguments = prompt.get("arguments").and_then(Value::as_array);
    for argument in arguments.into_iter().flatten().take(MAX_ARGUMENTS) {
        let Some(name) = text(argument, "name") else { continue };
        let mut schema = Map::from_iter([("type".to_owned(), json!("string"))]);
        for key in ["title", "description"] {
            schema.extend(text(argument, key).map(|text| (key.to_owned(), Value::String(text))));
        }
        if argument.get("required") == Some(&Value::Bool(true)) {
            required.push(name.clone());
        }
        properties.insert(name, Value::Object(schema));
    }
    let mut definition = json!({
        "name": text(prompt, "name"),
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true },
    });
    if let Some(fields) = definition.as_object_mut() {
        for key in ["title", "description"] {
            fields.extend(text(prompt, key).map(|text| (key.to_owned(), Value::String(text))));
        }
    }
    definition
}

fn completion_definition() -> Value {
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    json!({
        "name": COMPLETE,
        "title": "Complete an argument",
        "description": "Proposes values of an argument of a prompt or of a template.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "ref": { "type": "object" },
                "argument": {
                    "type": "object",
                    "properties": { "name": { "type": "string" }, "value": { "type": "string" } },
                    "required": ["name", "value"],
                },
                "context": { "type": "object", "properties": { "arguments": texts } },
            },
            "required": ["ref", "argument"],
        },
        "annotations": { "readOnlyHint": true },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_have_ids_of_their_own_whatever_they_are_called() {
        let names = ["a b", "a%20b", "a_b", "a/b", "é", "A", "a.b"];
        let ids: Vec<String> =
            names.iter().map(|name| prompt_id("s", name).unwrap().to_string()).collect();
        assert_eq!(ids[0], "s.prompts/get/a%20b");
        assert_eq!(ids[1], "s.prompts/get/a%2520b");
        let mut distinct = ids.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len());
        for id in ids {
            assert_eq!(FeatureKind::of(&CapabilityId::parse(id).unwrap()), FeatureKind::Prompt);
        }
        assert!(prompt_id("s", "").is_err() && prompt_id("s", &"x".repeat(129)).is_err());
    }

    #[test]
    fn an_id_says_what_it_stands_for() {
        use FeatureKind::{Completion, Elicitation, ResourceReading, Sampling, Tool};
        for kind in [ResourceReading, Completion, Elicitation, Sampling] {
            assert_eq!(FeatureKind::of(&kind.id("a-b").unwrap()), kind);
        }
        for id in ["s.read", "s.resources_read", "s.prompts/get", "unknown", "tools.x"] {
            assert_eq!(FeatureKind::of(&CapabilityId::parse(id).unwrap()), Tool, "{id}");
        }
    }

    #[test]
    fn what_a_server_says_of_a_prompt_is_in_its_digest() {
        let prompt = json!({"name": "p", "title": "T", "description": "d", "icons": [],
            "arguments": [{"name": "a", "description": "x", "required": true}, {"name": "b"}]});
        let of = |value: &Value| upstream_digest(&prompt_definition(value), None).unwrap();
        assert_eq!(prompt_definition(&prompt)["inputSchema"]["required"], json!(["a"]));
        for (place, word) in [
            ("/name", json!("q")),
            ("/title", json!("U")),
            ("/description", json!("e")),
            ("/arguments/0/description", json!("y")),
            ("/arguments/1/name", json!("c")),
            ("/arguments/0/required", json!(false)),
        ] {
            let mut other = prompt.clone();
            *other.pointer_mut(place).unwrap() = word;
            assert_ne!(of(&prompt), of(&other), "{place}");
        }
        let reading = json!({"inputSchema": {"properties": {"uri": {}}},
            "annotations": {"resourceTemplates": [
                {"uriTemplate": "note://{id}"}, {"uriTemplate": "a://b/{id}"}]}});
        assert_eq!(open_authorities(&reading), BTreeSet::from(["note".to_owned()]));
        let mut icons = prompt.clone();
        icons["icons"] = json!(["x"]);
        assert_eq!(of(&prompt), of(&icons));
    }
}
