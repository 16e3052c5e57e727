//! Suspicious passages in the description of a server's tool.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::Capability;

/// The passages of a tool that a person has to read before a model does, each as `kind in place`:
/// those that its importer found, and texts of the capability that address a model. Empty for tools
/// that host code describes. The places contain names that the server chose: show them only to
/// operators.
#[must_use]
pub fn suspicions(capability: &Capability) -> BTreeSet<String> {
    let spec = capability.spec();
    if spec.upstream_digest.is_none() {
        return BTreeSet::new();
    }
    let text = |text: &str| Value::String(text.to_owned());
    let parts = [
        ("name", Some(text(&spec.name))),
        ("title", spec.title.as_deref().map(text)),
        ("description", Some(text(&spec.description))),
    ];
    let schemas = [("inputSchema", &spec.input_schema), ("outputSchema", &spec.output_schema)];
    let words = parts.iter().filter_map(|(place, value)| Some((*place, value.as_ref()?)));
    let schemas = schemas.into_iter().filter_map(|(place, value)| Some((place, value.as_deref()?)));
    words
        .chain(schemas)
        .flat_map(|(place, value)| weaver_firewall::suspicions(place, value))
        .map(|suspicion| suspicion.to_string())
        .chain(spec.suspicions.iter().cloned())
        .collect()
}

/// Only the kinds, which a model may read: `hidden_text, instruction_like`.
pub(crate) fn suspicion_kinds(suspicions: &BTreeSet<String>) -> String {
    let kinds: BTreeSet<&str> =
        suspicions.iter().map(|one| one.split(' ').next().unwrap_or_default()).collect();
    kinds.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_told_once_each_and_never_the_places() {
        let found =
            |all: &[&str]| suspicion_kinds(&all.iter().map(|one| (*one).to_owned()).collect());
        assert_eq!(found(&[]), "");
        assert_eq!(found(&["hidden_text in title"]), "hidden_text");
        let many = ["hidden_text in name", "instruction_like in title", "hidden_text in title"];
        assert_eq!(found(&many), "hidden_text, instruction_like");
    }
}
