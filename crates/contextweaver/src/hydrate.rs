//! Everything that is known of one chosen item: what a card leaves out.
//!
//! A model that has chosen asks for the schema of this one item. Beside it stand examples,
//! constraints, a description that says more, and arguments that the host's own context suggests.
//! Nothing is executed: suggestions are values to look at, and only trusted values are suggested.
//! What a tool returned, or a server wrote, never becomes an argument here.
//!
//! ```
//! use contextweaver::catalog::SelectableItem;
//! use contextweaver::hydrate::{ContextValue, hydrate};
//! use serde_json::json;
//! use contextweaver::types::{CapabilityId, Label};
//!
//! let schema = json!({"type": "object", "properties": {"user_id": {"type": "string"}}});
//! let item = SelectableItem::new(CapabilityId::parse("tickets.list")?, "list", "List tickets")
//!     .with_schema(&schema);
//! let known = [ContextValue::new("userId", json!("u-7"), "session", Label::clean())];
//! let found = hydrate(&item, &known);
//! assert_eq!(found.suggested["user_id"].value, "u-7");
//! assert_eq!(found.suggested["user_id"].source, "session");
//! assert_eq!(found.call(&Default::default()).arguments["user_id"], "u-7");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod suggest;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};
use weaver_types::{CapabilityId, Integrity, Label};

use crate::card::Notice;
use crate::catalog::SelectableItem;

/// The most parameters that the description tells of.
const MAX_TOLD: usize = 24;

/// Something the host knows.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextValue {
    /// What it is called: `user_timezone`.
    pub name: String,
    /// The value.
    pub value: Value,
    /// Where it is from, in the host's words: `session`, `fact:42`.
    pub source: String,
    /// How far it can be trusted, and how confidential it is.
    pub label: Label,
}

impl ContextValue {
    /// A value with its name, its source and its label.
    pub fn new(
        name: impl Into<String>,
        value: Value,
        source: impl Into<String>,
        label: Label,
    ) -> Self {
        Self { name: name.into(), value, source: source.into(), label }
    }
}

/// A value for an argument. It is a proposal: whoever calls decides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// The value.
    pub value: Value,
    /// Where it is from.
    pub source: String,
}

/// One item in full.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HydrationResult {
    /// The item.
    pub item: CapabilityId,
    /// The JSON Schema of its arguments.
    pub schema: Option<Value>,
    /// The JSON Schema of its result.
    pub output_schema: Option<Value>,
    /// Requests that it answers.
    pub examples: Vec<String>,
    /// What its arguments must obey beyond the schema.
    pub constraints: Map<String, Value>,
    /// Its description, what it does to the world, what it needs first, and its parameters.
    pub description: String,
    /// Values for arguments, by the name of the argument.
    pub suggested: BTreeMap<String, Suggestion>,
    /// Where everything here is from: `catalog`, and the sources of the suggestions, each once.
    pub sources: Vec<String>,
    /// The names of values that would have fitted and were left out, because they are not trusted.
    pub untrusted: Vec<String>,
}

/// A call with what the context knew filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HydratedCall {
    /// What is called.
    pub item: CapabilityId,
    /// All arguments: those that were given, and those that were filled in.
    pub arguments: Map<String, Value>,
    /// Where each argument that was filled in is from, by its name.
    pub filled: BTreeMap<String, String>,
}

impl HydrationResult {
    /// The call that these arguments make, with the suggestions for those that were not given. What
    /// was given is never replaced.
    #[must_use]
    pub fn call(&self, given: &Map<String, Value>) -> HydratedCall {
        let mut out = HydratedCall {
            item: self.item.clone(),
            arguments: given.clone(),
            filled: BTreeMap::new(),
        };
        for (name, suggestion) in self.suggested.iter().filter(|(n, _)| !given.contains_key(*n)) {
            out.arguments.insert(name.clone(), suggestion.value.clone());
            out.filled.insert(name.clone(), suggestion.source.clone());
        }
        out
    }
}

/// Everything that is known of an item, with the values of `known` that fit its arguments.
///
/// A value fits an argument at the top of the schema when both have one name (`userId`, `user_id`
/// and `user-id` are one), it is of a type that the schema allows and among the values that it
/// lists. Of several that fit, the last counts. A value whose label is not trusted is never
/// suggested.
///
/// # Security
/// What it tells of the item is the item's own text: whoever shows it to a model redacts it first.
#[must_use]
pub fn hydrate(item: &SelectableItem, known: &[ContextValue]) -> HydrationResult {
    let (mut suggested, mut untrusted) = (BTreeMap::new(), Vec::new());
    if let Some(schema) = item.schema.as_deref() {
        for value in known {
            for argument in suggest::fitting(schema, value) {
                if value.label.integrity == Integrity::Trusted {
                    let (source, value) = (value.source.clone(), value.value.clone());
                    suggested.insert(argument.to_owned(), Suggestion { value, source });
                } else {
                    untrusted.push(value.name.clone());
                }
            }
        }
    }
    untrusted.sort();
    untrusted.dedup();
    let mut sources: Vec<String> =
        suggested.values().map(|one: &Suggestion| one.source.clone()).collect();
    sources.sort();
    sources.dedup();
    sources.insert(0, "catalog".to_owned());
    HydrationResult {
        item: item.id.clone(),
        schema: item.schema.as_deref().cloned(),
        output_schema: item.output_schema.as_deref().cloned(),
        examples: item.examples.clone(),
        constraints: item.constraints.clone(),
        description: description(item),
        suggested,
        sources,
        untrusted,
    }
}

fn description(item: &SelectableItem) -> String {
    let mut out = item.description.trim().to_owned();
    // Writing to a string cannot fail.
    let _ = write!(out, "\nEffects: {}.", Notice::of(item.effects).as_str());
    let first: Vec<&str> = item.depends_on.iter().map(CapabilityId::as_str).collect();
    if !first.is_empty() {
        let _ = write!(out, "\nUsed first: {}.", first.join(", "));
    }
    for (what, words) in [("Requires", &item.requires), ("Provides", &item.provides)] {
        if !words.is_empty() {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let _ = write!(out, "\n{what}: {}.", words.join(", "));
        }
    }
    for parameter in item.parameters.iter().take(MAX_TOLD) {
        let _ = write!(out, "\n- {}", parameter.name);
        if !parameter.description.is_empty() {
            let _ = write!(out, ": {}", parameter.description);
        }
    }
    out.trim().to_owned()
}
