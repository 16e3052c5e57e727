//! Hydration: all details of one chosen item, which its card leaves out.
//!
//! A model that has chosen an item asks for its schema. The result also has examples, constraints, a
//! fuller description, and arguments suggested from the host's own context. Nothing is executed:
//! suggestions are only proposals, and only trusted values are suggested. Data from tool results or
//! server texts never becomes an argument here.
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

use crate::card::EffectsNotice;
use crate::catalog::SelectableItem;

/// The most parameters that the description lists.
const MAX_LISTED_PARAMETERS: usize = 24;

/// A named value from the host's context.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextValue {
    /// The name, for example `user_timezone`.
    pub name: String,
    /// The value.
    pub value: Value,
    /// The source in the host's words, for example `session` or `fact:42`.
    pub source: String,
    /// The label: integrity and confidentiality.
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

/// A proposed value for an argument. The caller decides whether to use it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// The value.
    pub value: Value,
    /// The source of the value.
    pub source: String,
}

/// All details of one item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HydrationResult {
    /// The item.
    pub item: CapabilityId,
    /// The JSON Schema of its arguments.
    pub schema: Option<Value>,
    /// The JSON Schema of its result.
    pub output_schema: Option<Value>,
    /// Example requests that the item answers.
    pub examples: Vec<String>,
    /// Constraints on the arguments beyond the schema.
    pub constraints: Map<String, Value>,
    /// The description, effects, dependencies and parameters of the item.
    pub description: String,
    /// Suggested values, by argument name.
    pub suggested: BTreeMap<String, Suggestion>,
    /// All sources of this result: `catalog`, and the distinct sources of the suggestions.
    pub sources: Vec<String>,
    /// The names of values that match an argument but were not suggested because they are untrusted.
    pub untrusted: Vec<String>,
}

/// A call with suggested values filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HydratedCall {
    /// The item that is called.
    pub item: CapabilityId,
    /// All arguments, given and filled in.
    pub arguments: Map<String, Value>,
    /// The source of each argument that was filled in, by argument name.
    pub filled: BTreeMap<String, String>,
}

impl HydrationResult {
    /// The call with these arguments, and with suggestions for arguments that are not given. Given
    /// arguments are never replaced.
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

/// All details of an item, with suggestions for its arguments from the context.
///
/// A value matches a top-level argument if both have the same name (`userId`, `user_id` and `user-id`
/// are the same), and the value has a type that the schema allows and is one of the values that it
/// lists. If several values match, the last one counts. An untrusted value is never suggested.
///
/// # Security
/// The texts come from the item's source, so a caller has to redact them before showing them to a
/// model.
#[must_use]
pub fn hydrate(item: &SelectableItem, context: &[ContextValue]) -> HydrationResult {
    let (mut suggested, mut untrusted) = (BTreeMap::new(), Vec::new());
    if let Some(schema) = item.schema.as_deref() {
        for value in context {
            for argument in suggest::matching_arguments(schema, value) {
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
        description: full_description(item),
        suggested,
        sources,
        untrusted,
    }
}

fn full_description(item: &SelectableItem) -> String {
    let mut out = item.description.trim().to_owned();
    // Writing to a string cannot fail.
    let _ = write!(out, "\nEffects: {}.", EffectsNotice::from_effects(item.effects).as_str());
    let dependencies: Vec<&str> = item.depends_on.iter().map(CapabilityId::as_str).collect();
    if !dependencies.is_empty() {
        let _ = write!(out, "\nUsed first: {}.", dependencies.join(", "));
    }
    for (what, words) in [("Requires", &item.requires), ("Provides", &item.provides)] {
        if !words.is_empty() {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let _ = write!(out, "\n{what}: {}.", words.join(", "));
        }
    }
    for parameter in item.parameters.iter().take(MAX_LISTED_PARAMETERS) {
        let _ = write!(out, "\n- {}", parameter.name);
        if !parameter.description.is_empty() {
            let _ = write!(out, ": {}", parameter.description);
        }
    }
    out.trim().to_owned()
}
