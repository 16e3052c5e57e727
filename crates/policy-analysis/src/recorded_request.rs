//! Recorded requests, as JSON lines.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use weaver_policy::{Pattern, PolicyQuery, PolicySet};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::DomainTag;
use weaver_types::{
    AgentId, AllowedAgents, Capability, CapabilityDraft, CapabilityId, CapabilityRequest,
    Confidentiality, Digest, Effects, Integrity, Justification, Label, Operation, Principal,
    PrincipalId, RunId, SafetyMode, Timestamp,
};

/// The maximum length of a request's line, in bytes.
pub const MAX_LINE: usize = 4 * 1024 * 1024;

/// Why a request cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// The `id` of the request, if it could be read.
    pub id: Option<String>,
    /// The stable code.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

impl RequestError {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { id: None, code, message: message.into() }
    }

    fn with_id(mut self, id: Option<&str>) -> Self {
        self.id = id.map(str::to_owned);
        self
    }

    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestJson {
    id: String,
    capability: CapabilityId,
    principal: PrincipalJson,
    args: Option<Value>,
    #[serde(default)]
    operation: Operation,
    intent: Option<String>,
    #[serde(default)]
    scope: BTreeMap<String, String>,
    justification: Option<Justification>,
    #[serde(default)]
    run: RunJson,
    at: Option<String>,
    human_channel: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrincipalJson {
    id: PrincipalId,
    #[serde(default)]
    roles: BTreeSet<String>,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
    #[serde(default)]
    permissions: BTreeSet<String>,
    agent: Option<AgentId>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RunJson {
    id: Option<RunId>,
    #[serde(default)]
    mode: SafetyMode,
    label: Option<LabelJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelJson {
    confidentiality: Option<Confidentiality>,
    integrity: Option<Integrity>,
}

/// What a request has to have.
const FORM: &str =
    "`id`, `capability` and `principal` (an object with an `id`), and may have `args`";

/// The required fields that a value lacks.
fn missing_fields(value: &Value) -> Vec<&'static str> {
    let Some(fields) = value.as_object() else { return Vec::new() };
    let principal = fields.get("principal");
    let has_id = principal.is_some_and(|principal| principal.get("id").is_some());
    let required = [
        ("`id`", fields.contains_key("id")),
        ("`capability`", fields.contains_key("capability")),
        ("`principal` with an `id`", has_id),
    ];
    required.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name).collect()
}

/// One complete request: everything that a decision depends on, apart from the documents.
///
/// The principal is taken as given in the request; it is not looked up in the policy.
/// `human_channel` defaults to true.
///
/// ```
/// use weaver_policy_analysis::RecordedRequest;
/// use weaver_types::Timestamp;
///
/// let line = br#"{"id":"1","capability":"docs.read","principal":{"id":"ana"}}"#;
/// let request = RecordedRequest::parse(line, Timestamp::default())?;
/// assert_eq!(request.id, "1");
/// assert!(RecordedRequest::parse(br#"{"id":"2","tool":"x"}"#, Timestamp::default()).is_err());
/// # Ok::<(), weaver_policy_analysis::RequestError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRequest {
    /// The id, which the evaluation repeats.
    pub id: String,
    /// The requester.
    pub principal: Principal,
    /// The request.
    pub request: CapabilityRequest,
    /// The arguments, if known.
    pub arguments: Option<Value>,
    /// The operation.
    pub operation: Operation,
    /// The mode of the run.
    pub mode: SafetyMode,
    /// The label of the run.
    pub label: Label,
    /// The run, for limits by run.
    pub run: Option<RunId>,
    /// The time.
    pub at: Timestamp,
    /// Whether a person can be asked for a justification.
    pub human_channel: bool,
}

impl RecordedRequest {
    /// An invocation without arguments in a clean run.
    #[must_use]
    pub fn new(id: impl Into<String>, capability: CapabilityId, principal: Principal) -> Self {
        Self {
            id: id.into(),
            principal,
            request: CapabilityRequest::new(capability, ""),
            arguments: None,
            operation: Operation::Invoke,
            mode: SafetyMode::Normal,
            label: Label::clean(),
            run: None,
            at: Timestamp::default(),
            human_channel: true,
        }
    }

    /// Parses one JSON line. `now` is the default for the time of the request.
    ///
    /// # Errors
    /// [`RequestError`] for invalid JSON, an unknown or missing field, or an invalid value; with
    /// the `id` if there is one.
    pub fn parse(line: &[u8], now: Timestamp) -> Result<Self, RequestError> {
        if line.len() > MAX_LINE {
            let message = format!("the line has more than {MAX_LINE} bytes");
            return Err(RequestError::new("request.too_large", message));
        }
        let value = canonical::parse(line, Profile::Foreign)
            .map_err(|error| RequestError::new("request.json", error.to_string()))?;
        Self::from_value(value, now)
    }

    /// Parses a request from a JSON value.
    ///
    /// # Errors
    /// [`RequestError`], as for [`RecordedRequest::parse`].
    pub fn from_value(value: Value, now: Timestamp) -> Result<Self, RequestError> {
        let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
        let invalid =
            |code, message: String| RequestError::new(code, message).with_id(id.as_deref());
        let missing = missing_fields(&value);
        if !missing.is_empty() {
            let message = format!("a request needs {}; it has no {}", FORM, missing.join(", no "));
            return Err(invalid("request.form", message));
        }
        let form = RequestJson::deserialize(value)
            .map_err(|error| invalid("request.form", error.to_string()))?;
        let at = match &form.at {
            None => now,
            Some(text) => Timestamp::parse_rfc3339(text).ok_or_else(|| {
                let text = weaver_text::escape::line(text).chars().take(80).collect::<String>();
                invalid(
                    "request.time",
                    format!("`at` is not a time as RFC 3339 writes it: `{text}`"),
                )
            })?,
        };
        Ok(Self::from_request_json(form, at))
    }

    fn from_request_json(form: RequestJson, at: Timestamp) -> Self {
        let who = form.principal;
        let principal = Principal {
            roles: who.roles,
            attributes: who.attributes,
            permissions: who.permissions,
            agent: who.agent,
            ..Principal::new(who.id)
        };
        let clean = Label::clean();
        let label = form.run.label.map_or(clean.clone(), |label| {
            Label::new(
                label.confidentiality.unwrap_or(clean.confidentiality),
                label.integrity.unwrap_or(clean.integrity),
            )
        });
        let request = CapabilityRequest {
            intent: form.intent,
            scope: form.scope,
            justification: form.justification,
            ..CapabilityRequest::new(form.capability, "")
        };
        Self {
            id: form.id,
            principal,
            request,
            arguments: form.args,
            operation: form.operation,
            mode: form.run.mode,
            label,
            run: form.run.id,
            at,
            human_channel: form.human_channel.unwrap_or(true),
        }
    }

    /// The capability under these documents. It is treated as proposed by a server: undeclared
    /// beyond what the contracts say, and in the approved version if they pin one.
    ///
    /// # Errors
    /// [`RequestError`] if the contract cannot be applied, so the capability would not be offered.
    pub fn capability(&self, set: &PolicySet) -> Result<Capability, RequestError> {
        proposed_capability(set, &self.request.capability_id)
            .map_err(|error| error.with_id(Some(&self.id)))
    }

    /// The query for this request.
    #[must_use]
    pub fn query<'q>(&'q self, capability: &'q Capability) -> PolicyQuery<'q> {
        PolicyQuery {
            arguments: self.arguments.as_ref(),
            operation: self.operation,
            mode: self.mode,
            label: &self.label,
            now: self.at,
            human_channel: self.human_channel,
            run: self.run.as_ref(),
            ..PolicyQuery::new(capability, &self.principal, &self.request)
        }
    }

    /// The request in the format of [`RecordedRequest::parse`].
    #[must_use]
    pub fn to_json(&self) -> Value {
        let who = &self.principal;
        let mut principal = Map::new();
        principal.insert("id".to_owned(), json!(who.id));
        insert_unless(&mut principal, "roles", json!(who.roles), who.roles.is_empty());
        insert_unless(
            &mut principal,
            "attributes",
            json!(who.attributes),
            who.attributes.is_empty(),
        );
        insert_unless(
            &mut principal,
            "permissions",
            json!(who.permissions),
            who.permissions.is_empty(),
        );
        insert_unless(&mut principal, "agent", json!(who.agent), who.agent.is_none());
        let request = &self.request;
        let mut out = Map::new();
        out.insert("id".to_owned(), json!(self.id));
        out.insert("capability".to_owned(), json!(request.capability_id));
        out.insert("principal".to_owned(), Value::Object(principal));
        insert_unless(&mut out, "args", json!(self.arguments), self.arguments.is_none());
        insert_unless(
            &mut out,
            "operation",
            json!(self.operation),
            self.operation == Operation::Invoke,
        );
        insert_unless(&mut out, "intent", json!(request.intent), request.intent.is_none());
        insert_unless(&mut out, "scope", json!(request.scope), request.scope.is_empty());
        let justification = &request.justification;
        insert_unless(&mut out, "justification", json!(justification), justification.is_none());
        let mut run = Map::new();
        insert_unless(&mut run, "id", json!(self.run), self.run.is_none());
        insert_unless(&mut run, "mode", json!(self.mode), self.mode == SafetyMode::Normal);
        let (confidentiality, integrity) = (self.label.confidentiality, self.label.integrity);
        let label = json!({ "confidentiality": confidentiality, "integrity": integrity });
        insert_unless(&mut run, "label", label, self.label == Label::clean());
        let bare = run.is_empty();
        insert_unless(&mut out, "run", Value::Object(run), bare);
        out.insert("at".to_owned(), json!(self.at.rfc3339()));
        insert_unless(&mut out, "human_channel", json!(self.human_channel), self.human_channel);
        Value::Object(out)
    }
}

fn insert_unless(map: &mut Map<String, Value>, name: &str, value: Value, is_default: bool) {
    if !is_default {
        map.insert(name.to_owned(), value);
    }
}

/// A capability with this id as a server would propose it, with its contract applied.
pub(crate) fn proposed_capability(
    set: &PolicySet,
    id: &CapabilityId,
) -> Result<Capability, RequestError> {
    let invalid = |code, message: String| RequestError::new(code, message);
    let pinned = Pattern::parse(id.as_str())
        .ok()
        .and_then(|pattern| set.contracts().capabilities.get(&pattern)?.upstream_digest);
    let digest =
        pinned.unwrap_or_else(|| Digest::of(DomainTag::CODE_POLICY, id.as_str().as_bytes()));
    let draft = CapabilityDraft {
        upstream_digest: Some(digest),
        ..CapabilityDraft::new(
            id.clone(),
            id.as_str().chars().take(64).collect::<String>(),
            Effects::UNDECLARED,
            AllowedAgents::Any,
        )
    };
    let proposal = draft.build().map_err(|error| invalid(error.code(), error.to_string()))?;
    set.apply_contract(&proposal).map_err(|error| invalid(error.code(), error.to_string()))
}
