//! Contracts proposed from what a tool says of itself: its name, its description, its schema.
//!
//! A rule-based classifier over a small lexicon of English verbs and nouns. It is no learned model on
//! purpose: each field of a proposal names the words that it rests on, so that an operator can check
//! it, and the same text always gives the same proposal.
//!
//! A proposal is a beginning for an operator to read through, never in force by itself. It knows
//! what English verbs and nouns say in general, and no tool in particular. Where the words leave it
//! open, it proposes the stricter; where they say nothing, the strictest. A tool of which any word
//! says that it writes is never proposed as one that reads.

mod action;
mod document;
mod effects;
mod feature;
mod hints;
mod lexicon;
mod local_write;
mod output;
mod own_data;
mod reach;
mod tool_text;
mod verb;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_policy::OutputLabel;
use weaver_policy::critical::{self, Role};
use weaver_types::{
    Confidentiality, Digest, Effects, Impact, Integrity, Pointer, SensitivityTag, SinkKind,
};

use action::Action;
pub use document::{contracts_document, standing_terms};
use effects::EffectsProposal;
pub use feature::{completion, prompt, resource_reading};
pub use hints::Hints;
pub use local_write::{LocalWrite, local_write, option_injection};
use tool_text::ToolText;

/// What a tool says of itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolDescription<'a> {
    /// Its name, without that of its server.
    pub name: &'a str,
    /// Its title; may be empty.
    pub title: &'a str,
    /// What it does, in words; may be empty.
    pub description: &'a str,
    /// The JSON Schema of its arguments.
    pub input: Option<&'a Value>,
    /// What its server hints.
    pub hints: Hints,
}

impl<'a> ToolDescription<'a> {
    /// Reads a tool as a server lists it, or as a provider's tool format writes it.
    #[must_use]
    pub fn of(tool: &'a Value) -> Self {
        let text = |key: &str| tool.get(key).and_then(Value::as_str);
        let annotations = tool.get("annotations");
        let title = text("title").or_else(|| annotations?.get("title")?.as_str());
        let schemas = ["inputSchema", "parameters", "input_schema", "schema"];
        let input = schemas.iter().find_map(|key| tool.get(key));
        Self {
            name: text("name").unwrap_or_default(),
            title: title.unwrap_or_default(),
            description: text("description").unwrap_or_default(),
            input: input.filter(|schema| schema.is_object()),
            hints: Hints::of(annotations),
        }
    }
}

/// What is proposed for a tool.
///
/// ```
/// use weaver_policy_analysis::propose::{ToolDescription, propose};
/// use weaver_types::{Effects, SinkKind};
///
/// let send = ToolDescription { name: "send_fax", description: "Sends a fax.", ..ToolDescription::default() };
/// assert_eq!(propose(&send).sink, Some(SinkKind::ExternalSend));
/// let list = ToolDescription { name: "list_faxes", description: "Lists faxes.", ..ToolDescription::default() };
/// assert_eq!(propose(&list).effects, Effects::READ_LOCAL);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// What it can do.
    pub effects: Effects,
    /// The kind of sink; `None` for the strictest that its effects allow.
    pub sink: Option<SinkKind>,
    /// What it is about.
    pub tags: BTreeSet<String>,
    /// The critical arguments; empty where nothing leaves, and where no schema tells any.
    pub critical_arguments: BTreeSet<Pointer>,
    /// Sensitive data in its output.
    pub sensitivity: BTreeSet<SensitivityTag>,
    /// Whether its server says that calling it twice is calling it once, and nothing speaks
    /// against it.
    pub idempotent: bool,
    /// What its server says of it, where the caller has told it: the document pins it.
    pub upstream_digest: Option<Digest>,
    /// The label of its output.
    pub output: OutputLabel,
    /// Why, by the field of the contract.
    pub reasons: BTreeMap<&'static str, String>,
}

impl Proposal {
    /// The sink that it counts as.
    #[must_use]
    pub fn counted_sink(&self) -> SinkKind {
        self.sink.unwrap_or_else(|| self.effects.strictest_sink())
    }
}

/// Proposes a contract.
#[must_use]
pub fn propose(tool: &ToolDescription<'_>) -> Proposal {
    let text = ToolText::of(tool);
    let found = action::classify(&text, tool.hints);
    let reach = reach::of(&text, tool.hints);
    let EffectsProposal { mut effects, sink, why } =
        effects::propose(found.action, &reach, &text, tool);
    if tool.hints.destructive == Some(true) {
        effects = Effects::UNDECLARED;
    }
    // Only where the reach makes a difference is it a reason.
    let by_reach = matches!(found.action, Action::Read | Action::AddOwn | Action::Write);
    let because =
        if by_reach { format!("{}; {}", found.why, reach.why) } else { found.why.clone() };
    let mut reasons = BTreeMap::from([("effects", because), ("sink", why)]);
    let counted = sink.unwrap_or_else(|| effects.strictest_sink());
    let critical_arguments = critical_arguments(tool.input, effects, counted, &mut reasons);
    let output = output::label(&text, tool.input, effects);
    reasons.insert("output", output.why);
    let output = output.label;
    let tags = lexicon::tags(&text.nouns());
    let sensitivity = output::sensitivity(&text, output);
    let repeatable =
        matches!(found.action, Action::Compute | Action::Read | Action::Write | Action::Destroy);
    let idempotent = repeatable && tool.hints.idempotent == Some(true);
    if idempotent {
        let why = "the server says that calling it twice is calling it once".to_owned();
        reasons.insert("idempotent", why);
    }
    Proposal {
        effects,
        sink,
        tags,
        critical_arguments,
        sensitivity,
        idempotent,
        upstream_digest: None,
        output,
        reasons,
    }
}

/// The defaults by schema and name. Where a call could be made without any of them, the titles that
/// it must have are critical too: a call without a receiver is known by what it is called.
fn critical_arguments(
    schema: Option<&Value>,
    effects: Effects,
    sink: SinkKind,
    reasons: &mut BTreeMap<&'static str, String>,
) -> BTreeSet<Pointer> {
    if sink == SinkKind::None || schema.is_none() {
        return BTreeSet::new();
    }
    let mut found = critical::arguments(schema, sink);
    if effects.impact == Impact::Read {
        found.retain(|at| role_of(at) == Role::Network);
    }
    let mut why = "by their names, as what says to whom, where, which and how much".to_owned();
    let required = tool_text::required(schema);
    let first = |at: &Pointer| at.as_str().split('/').nth(1).unwrap_or_default().to_owned();
    if !found.iter().any(|at| required.contains(&first(at))) {
        let texts = required.iter().filter(|name| critical::role(name) == Role::Text);
        let titles = texts.filter(|name| lexicon::is_title(name));
        let more: BTreeSet<Pointer> =
            titles.filter_map(|name| Pointer::parse(&format!("/{name}")).ok()).collect();
        if !more.is_empty() {
            why.push_str("; a call can go without people, so what it is called counts too");
            found.extend(more);
        }
    }
    if !found.is_empty() {
        reasons.insert("critical_arguments", why);
    }
    found
}

fn role_of(at: &Pointer) -> Role {
    let named = at.as_str().rsplit('/').find(|part| *part != "*");
    critical::role(named.unwrap_or_default())
}

/// The label of output that others may have written.
fn untrusted(confidentiality: Confidentiality) -> OutputLabel {
    OutputLabel { confidentiality: Some(confidentiality), integrity: Some(Integrity::Untrusted) }
}

#[cfg(test)]
mod tests;
