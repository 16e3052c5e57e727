//! Contracts proposed from what a tool says of itself: its name, its description, its schema.
//!
//! A proposal is a beginning for an operator to read through, never in force by itself. It knows
//! what English verbs and nouns say in general, and no tool in particular. Where the words leave it
//! open, it proposes the stricter; where they say nothing, the strictest. A tool of which any word
//! says that it writes is never proposed as one that reads.

mod act;
mod hints;
mod lexicon;
mod output;
mod own;
mod page;
mod phrase;
mod reach;
mod verb;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_types::{
    Confidentiality, Digest, Effects, Impact, Integrity, Pointer, SensitivityTag, SinkKind,
};

use crate::contract::OutputLabel;
use crate::critical::{self, Role};
use act::{Found, Kind};
pub use hints::Hints;
pub use page::{contracts, terms};
use phrase::Phrase;

/// What a tool says of itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Described<'a> {
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

impl<'a> Described<'a> {
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
/// use weaver_policy::propose::{Described, propose};
/// use weaver_types::{Effects, SinkKind};
///
/// let send = Described { name: "send_fax", description: "Sends a fax.", ..Described::default() };
/// assert_eq!(propose(&send).sink, Some(SinkKind::ExternalSend));
/// let list = Described { name: "list_faxes", description: "Lists faxes.", ..Described::default() };
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
pub fn propose(tool: &Described<'_>) -> Proposal {
    let phrase = Phrase::of(tool);
    let found = act::of(&phrase, tool.hints);
    let (mut effects, sink, because) = found.meaning(&phrase, tool);
    if tool.hints.destructive == Some(true) {
        effects = Effects::UNDECLARED;
    }
    let far = reach::is_local(&phrase, tool.hints, own::is_own(&phrase)).1;
    let shown = matches!(found.kind, Kind::Read | Kind::Keep | Kind::Write);
    let why = if shown { format!("{}; {far}", found.why) } else { found.why.clone() };
    let mut reasons = BTreeMap::from([("effects", why), ("sink", because)]);
    let counted = sink.unwrap_or_else(|| effects.strictest_sink());
    let critical_arguments = critical_arguments(tool.input, effects, counted, &mut reasons);
    let (output, why) = output::of(&phrase, tool.input, effects);
    reasons.insert("output", why);
    let tags = lexicon::tags(&phrase.nouns());
    let sensitivity = output::sensitivity(&phrase, output);
    let idempotent = tool.hints.idempotent == Some(true)
        && matches!(found.kind, Kind::Compute | Kind::Read | Kind::Write | Kind::Destroy);
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

/// The defaults by schema and name. Where a call could be made without any of them, the texts that
/// it must have count too.
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
    let required = phrase::required(schema);
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

impl Found {
    /// Effects and sink, and why this sink.
    fn meaning(
        &self,
        phrase: &Phrase,
        tool: &Described<'_>,
    ) -> (Effects, Option<SinkKind>, String) {
        let said = |text: &str| text.to_owned();
        let (local, far) = reach::is_local(phrase, tool.hints, own::is_own(phrase));
        match self.kind {
            Kind::Read => match output::egress(phrase, tool.input) {
                Some(why) => (Effects::READ_OPEN, Some(SinkKind::ExternalSend), why),
                None if local => (Effects::READ_LOCAL, Some(SinkKind::None), said("it only looks")),
                None => (Effects::READ_OPEN, Some(SinkKind::None), said("it only looks")),
            },
            Kind::Compute
                if tool.hints.open_world == Some(true) || reach::speaks_of_world(phrase) =>
            {
                (Effects::READ_OPEN, Some(SinkKind::None), said("it only looks"))
            }
            Kind::Compute => (Effects::READ_LOCAL, Some(SinkKind::None), said("it only reckons")),
            Kind::Keep => {
                let why = "it adds to the user's own things, which tells nobody";
                (Effects::WRITE_LOCAL, Some(SinkKind::None), said(why))
            }
            Kind::Send => {
                let why = "it reaches somebody else";
                (Effects::WRITE_OPEN, Some(SinkKind::ExternalSend), said(why))
            }
            Kind::Pay => {
                (Effects::WRITE_OPEN, Some(SinkKind::Payment), said("it moves or commits money"))
            }
            Kind::Admit => {
                let why = "it gives or changes access";
                (Effects::WRITE_OPEN, Some(SinkKind::Credential), said(why))
            }
            Kind::Write if local => {
                let why = format!("what it changes stays here: {far}");
                (Effects::WRITE_LOCAL, Some(SinkKind::None), why)
            }
            Kind::Write if output::egress(phrase, tool.input).is_some() => {
                let why = "it asks an address of the caller's, which can carry data out";
                (Effects::WRITE_OPEN, Some(SinkKind::ExternalSend), said(why))
            }
            Kind::Write => {
                let why = "nothing says how far it reaches: the strictest for what writes";
                (Effects::WRITE_OPEN, None, said(why))
            }
            Kind::Destroy => {
                let why = "something may be lost";
                (Effects::UNDECLARED, Some(SinkKind::Destructive), said(why))
            }
            Kind::Unknown => {
                let why = "nothing says what it does: the strictest";
                (Effects::UNDECLARED, None, said(why))
            }
        }
    }
}

/// The label of output that others may have written.
fn untrusted(confidentiality: Confidentiality) -> OutputLabel {
    OutputLabel { confidentiality: Some(confidentiality), integrity: Some(Integrity::Untrusted) }
}

#[cfg(test)]
mod tests;
