//! Recorded requests, as lines of JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use weaver_policy::{Pattern, PolicySet, Query};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::Tag;
use weaver_types::{
    AgentId, Agents, Capability, CapabilityDraft, CapabilityId, CapabilityRequest, Confidentiality,
    Digest, Effects, Integrity, Justification, Label, Operation, Principal, PrincipalId, RunId,
    SafetyMode, Timestamp,
};

/// The longest line of a request, in bytes.
pub const MAX_LINE: usize = 4 * 1024 * 1024;

/// Why a request cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// The `id` of the request, where it could be read.
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

    fn of(mut self, id: Option<&str>) -> Self {
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
struct RequestForm {
    id: String,
    capability: CapabilityId,
    principal: PrincipalForm,
    args: Option<Value>,
    #[serde(default)]
    operation: Operation,
    intent: Option<String>,
    #[serde(default)]
    scope: BTreeMap<String, String>,
    justification: Option<Justification>,
    #[serde(default)]
    run: Run,
    at: Option<String>,
    human_channel: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrincipalForm {
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
struct Run {
    id: Option<RunId>,
    #[serde(default)]
    mode: SafetyMode,
    label: Option<RunLabel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunLabel {
    confidentiality: Option<Confidentiality>,
    integrity: Option<Integrity>,
}

/// One complete request: everything that a decision depends on besides the documents.
///
/// The principal is taken as the request gives it; what a policy says of principals is not looked
/// up. Without `human_channel` a person can be asked.
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
    /// Its name, given back in the answer.
    pub id: String,
    /// Who asks.
    pub principal: Principal,
    /// What is asked for.
    pub request: CapabilityRequest,
    /// The arguments, where they are known.
    pub arguments: Option<Value>,
    /// What is to happen.
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

    /// Reads one line of JSON. `now` is the time of a request that names none.
    ///
    /// # Errors
    /// [`RequestError`] for what is no strict JSON, an unknown or a missing field, or a value that
    /// does not fit, with the `id` where there is one.
    pub fn parse(line: &[u8], now: Timestamp) -> Result<Self, RequestError> {
        if line.len() > MAX_LINE {
            let message = format!("the line has more than {MAX_LINE} bytes");
            return Err(RequestError::new("request.too_large", message));
        }
        let value = canonical::parse(line, Profile::Foreign)
            .map_err(|error| RequestError::new("request.json", error.to_string()))?;
        Self::from_value(value, now)
    }

    /// Reads the same from a JSON value.
    ///
    /// # Errors
    /// [`RequestError`], as for [`RecordedRequest::parse`].
    pub fn from_value(value: Value, now: Timestamp) -> Result<Self, RequestError> {
        let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
        let wrong = |code, message: String| RequestError::new(code, message).of(id.as_deref());
        let form = RequestForm::deserialize(value)
            .map_err(|error| wrong("request.form", error.to_string()))?;
        let at = match &form.at {
            None => now,
            Some(text) => Timestamp::parse_rfc3339(text).ok_or_else(|| {
                let text = weaver_text::escape::line(text).chars().take(80).collect::<String>();
                wrong("request.time", format!("`at` is no time as RFC 3339 writes it: `{text}`"))
            })?,
        };
        Ok(Self::from_form(form, at))
    }

    fn from_form(form: RequestForm, at: Timestamp) -> Self {
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
            Label::of(
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

    /// The capability under these documents. It counts as what a server proposes: undeclared
    /// beyond what the contracts say, and the approved version where they pin one.
    ///
    /// # Errors
    /// [`RequestError`] where the contract cannot be applied, so that the capability would not be
    /// offered at all.
    pub fn capability(&self, set: &PolicySet) -> Result<Capability, RequestError> {
        proposed(set, &self.request.capability_id).map_err(|error| error.of(Some(&self.id)))
    }

    /// The query that this request is.
    #[must_use]
    pub fn query<'q>(&'q self, capability: &'q Capability) -> Query<'q> {
        Query {
            arguments: self.arguments.as_ref(),
            operation: self.operation,
            mode: self.mode,
            label: &self.label,
            now: self.at,
            human_channel: self.human_channel,
            run: self.run.as_ref(),
            ..Query::new(capability, &self.principal, &self.request)
        }
    }

    /// The request as [`RecordedRequest::parse`] reads it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let who = &self.principal;
        let mut principal = Map::new();
        principal.insert("id".to_owned(), json!(who.id));
        put(&mut principal, "roles", json!(who.roles), who.roles.is_empty());
        put(&mut principal, "attributes", json!(who.attributes), who.attributes.is_empty());
        put(&mut principal, "permissions", json!(who.permissions), who.permissions.is_empty());
        put(&mut principal, "agent", json!(who.agent), who.agent.is_none());
        let request = &self.request;
        let mut out = Map::new();
        out.insert("id".to_owned(), json!(self.id));
        out.insert("capability".to_owned(), json!(request.capability_id));
        out.insert("principal".to_owned(), Value::Object(principal));
        put(&mut out, "args", json!(self.arguments), self.arguments.is_none());
        put(&mut out, "operation", json!(self.operation), self.operation == Operation::Invoke);
        put(&mut out, "intent", json!(request.intent), request.intent.is_none());
        put(&mut out, "scope", json!(request.scope), request.scope.is_empty());
        let justification = &request.justification;
        put(&mut out, "justification", json!(justification), justification.is_none());
        let mut run = Map::new();
        put(&mut run, "id", json!(self.run), self.run.is_none());
        put(&mut run, "mode", json!(self.mode), self.mode == SafetyMode::Normal);
        let (confidentiality, integrity) = (self.label.confidentiality, self.label.integrity);
        let label = json!({ "confidentiality": confidentiality, "integrity": integrity });
        put(&mut run, "label", label, self.label == Label::clean());
        let bare = run.is_empty();
        put(&mut out, "run", Value::Object(run), bare);
        out.insert("at".to_owned(), json!(self.at.rfc3339()));
        put(&mut out, "human_channel", json!(self.human_channel), self.human_channel);
        Value::Object(out)
    }
}

fn put(map: &mut Map<String, Value>, name: &str, value: Value, leave_out: bool) {
    if !leave_out {
        map.insert(name.to_owned(), value);
    }
}

/// A capability of this id as a server would propose it, with its contract applied.
pub(crate) fn proposed(set: &PolicySet, id: &CapabilityId) -> Result<Capability, RequestError> {
    let wrong = |code, message: String| RequestError::new(code, message);
    let pinned = Pattern::parse(id.as_str())
        .ok()
        .and_then(|pattern| set.contracts().capabilities.get(&pattern)?.upstream_digest);
    let digest = pinned.unwrap_or_else(|| Digest::of(Tag::CODE_POLICY, id.as_str().as_bytes()));
    let draft = CapabilityDraft {
        upstream_digest: Some(digest),
        ..CapabilityDraft::new(
            id.clone(),
            id.as_str().chars().take(64).collect::<String>(),
            Effects::UNDECLARED,
            Agents::Any,
        )
    };
    let proposal = draft.build().map_err(|error| wrong(error.code(), error.to_string()))?;
    set.effective(&proposal).map_err(|error| wrong(error.code(), error.to_string()))
}
