//! What a rule requires, in words. No decision reads them.

use std::collections::BTreeSet;

use weaver_types::{JustificationSource, Principal};

use crate::name_condition::NameCondition;

pub(crate) fn sources_in_words(sources: &BTreeSet<JustificationSource>) -> String {
    let word = |source: &JustificationSource| match source {
        JustificationSource::Human => "a human",
        JustificationSource::Host => "the host",
        JustificationSource::Model => "the model",
    };
    sources.iter().map(word).collect::<Vec<_>>().join(" or ")
}

pub(crate) fn missing_roles(roles: &NameCondition, principal: &Principal) -> String {
    let all: Vec<_> = roles.all.difference(&principal.roles).collect();
    if all.is_empty() {
        format!("the principal has none of the roles {}", quote_names(roles.any.iter().collect()))
    } else {
        format!("the principal lacks the roles {}", quote_names(all))
    }
}

pub(crate) fn quote_names(names: Vec<&String>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
