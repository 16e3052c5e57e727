//! Contracts proposed from what a tool says of itself: its name, its description, its schema.
//!
//! A proposal is a beginning for an operator to read through, never in force by itself. It knows
//! what English verbs and nouns say in general, and no tool in particular. Where the words leave it
//! open, it proposes the stricter; where they say nothing, the strictest. A tool of which any word
//! says that it writes is never proposed as one that reads.

mod act;
mod lexicon;
mod output;
mod own;
mod page;
mod phrase;
mod verb;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_types::{Confidentiality, Effects, Impact, Integrity, Pointer, SinkKind};

use crate::contract::OutputLabel;
use crate::critical::{self, Role};
use act::{Found, Kind};
pub use page::{contracts, terms};
use phrase::Phrase;

/// What a tool says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Described<'a> {
    /// Its name, without that of its server.
    pub name: &'a str,
    /// What it does, in words; may be empty.
    pub description: &'a str,
    /// The JSON Schema of its arguments.
    pub input: Option<&'a Value>,
}

/// What is proposed for a tool.
///
/// ```
/// use weaver_policy::propose::{Described, propose};
/// use weaver_types::{Effects, SinkKind};
///
/// let send = Described { name: "send_fax", description: "Sends a fax.", input: None };
/// assert_eq!(propose(&send).sink, Some(SinkKind::ExternalSend));
/// let list = Described { name: "list_faxes", description: "Lists faxes.", input: None };
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
    let found = act::of(&phrase);
    let (effects, sink, because) = found.meaning(&phrase, tool.input);
    let mut reasons = BTreeMap::from([("effects", found.why.clone()), ("sink", because)]);
    let counted = sink.unwrap_or_else(|| effects.strictest_sink());
    let critical_arguments = critical_arguments(tool.input, effects, counted, &mut reasons);
    let (output, why) = output::of(&phrase, tool.input, effects);
    reasons.insert("output", why);
    let tags = lexicon::tags(&phrase.nouns());
    Proposal { effects, sink, tags, critical_arguments, output, reasons }
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
        schema: Option<&Value>,
    ) -> (Effects, Option<SinkKind>, String) {
        let said = |text: &str| text.to_owned();
        match self.kind {
            Kind::Read => match output::egress(phrase, schema) {
                Some(why) => (Effects::READ_OPEN, Some(SinkKind::ExternalSend), why),
                None if own::is_own(phrase) => {
                    (Effects::READ_LOCAL, Some(SinkKind::None), said("it only looks"))
                }
                None => (Effects::READ_OPEN, Some(SinkKind::None), said("it only looks")),
            },
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
