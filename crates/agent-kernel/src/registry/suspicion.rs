//! Suspicious passages in the description of a server's tool.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::Capability;

/// What a person has to see of a tool before a model does, each as `kind in place`: what whoever took
/// it in found, and words in the capability itself that speak to a model. Empty for what host code
/// describes. The places hold names of the server's choosing: show them to operators alone.
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

/// Their kinds alone, which a model may read: `hidden_text, instruction_like`.
pub(crate) fn kinds(suspicions: &BTreeSet<String>) -> String {
    let kinds: BTreeSet<&str> =
        suspicions.iter().map(|one| one.split(' ').next().unwrap_or_default()).collect();
    kinds.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_told_once_each_and_never_the_places() {
        let found = |all: &[&str]| kinds(&all.iter().map(|one| (*one).to_owned()).collect());
        assert_eq!(found(&[]), "");
        assert_eq!(found(&["hidden_text in title"]), "hidden_text");
        let many = ["hidden_text in name", "instruction_like in title", "hidden_text in title"];
        assert_eq!(found(&many), "hidden_text, instruction_like");
    }
}
