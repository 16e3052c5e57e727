//! What comes back: who may have written it, and how confidential it is.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::{Confidentiality, Effects, Impact, Integrity, SensitivityTag};

use super::phrase::{self, Phrase};
use super::{lexicon, own, untrusted};
use crate::contract::OutputLabel;
use crate::critical::{self, Role};

/// The label of the output, and why.
pub(super) fn of(
    phrase: &Phrase,
    schema: Option<&Value>,
    effects: Effects,
) -> (OutputLabel, String) {
    let trusted = |confidentiality| OutputLabel {
        confidentiality: Some(confidentiality),
        integrity: Some(Integrity::Trusted),
    };
    let said = |text: &str| text.to_owned();
    if effects.impact != Impact::Read {
        let why = "what a writer answers may repeat what others wrote";
        return (untrusted(Confidentiality::Internal), said(why));
    }
    if lexicon::is_secret(phrase) {
        let why = "it may answer with a secret";
        return (untrusted(Confidentiality::Restricted), said(why));
    }
    if own::is_address_book(phrase) {
        return (trusted(Confidentiality::Internal), said("the user's own address book"));
    }
    if let Some(noun) = lexicon::written_by_others(phrase) {
        let why = format!("others write what stands in it: `{noun}`");
        return (untrusted(Confidentiality::Internal), why);
    }
    if own::is_clock(phrase) && !takes_text(schema) {
        return (trusted(Confidentiality::Public), said("the clock: nobody writes it"));
    }
    if own::is_own_account(phrase) && !takes_text(schema) {
        return (
            trusted(Confidentiality::Internal),
            said("the user's own account, and nothing else"),
        );
    }
    let why = "nothing says that nobody else writes it";
    (untrusted(Confidentiality::Internal), said(why))
}

/// The kinds of sensitive data in what comes back.
pub(super) fn sensitivity(phrase: &Phrase, label: OutputLabel) -> BTreeSet<SensitivityTag> {
    const PEOPLE: [&str; 14] = [
        "email",
        "mail",
        "inbox",
        "contact",
        "user",
        "profile",
        "member",
        "person",
        "customer",
        "employee",
        "attendee",
        "participant",
        "patient",
        "addressbook",
    ];
    let mut out = BTreeSet::new();
    if phrase.is_named(&PEOPLE) {
        out.insert(SensitivityTag::Pii);
    }
    if label.confidentiality == Some(Confidentiality::Restricted) {
        out.insert(SensitivityTag::Secrets);
    }
    out
}

/// Whether what is asked carries a text of the caller's, which an answer could repeat.
fn takes_text(schema: Option<&Value>) -> bool {
    if schema.is_none() {
        return true;
    }
    phrase::names(schema).iter().any(|name| {
        let of = schema.and_then(|schema| schema.get("properties")?.get(name));
        let kind = of.and_then(|member| member.get("type")).and_then(Value::as_str);
        let listed = of.is_some_and(|member| member.get("enum").is_some());
        let plain = matches!(kind, Some("integer" | "number" | "boolean"));
        !plain
            && !listed
            && !matches!(critical::role(name), Role::Moment | Role::Switch)
            && !name.to_ascii_lowercase().contains("timezone")
    })
}

/// Why a read carries data to an address that the caller names.
pub(super) fn egress(phrase: &Phrase, schema: Option<&Value>) -> Option<String> {
    let names = phrase::names(schema);
    let place = names.iter().find(|name| {
        let words = weaver_text::split::identifier(name);
        let last = words.last().map(|word| lexicon::singular(word));
        last.is_some_and(|word| lexicon::ADDRESSES.contains(&word))
    });
    if let Some(name) = place {
        let shown = weaver_text::escape::line(name);
        return Some(format!("it asks an address that `{shown}` names, which can carry data out"));
    }
    let described = || {
        let properties = schema?.get("properties")?.as_object()?;
        let names_address = |member: &Value| {
            let text = member.get("description").and_then(Value::as_str).unwrap_or_default();
            let begins = weaver_text::split::words(text);
            member.get("format").and_then(Value::as_str) == Some("uri")
                || begins.first().is_some_and(|word| matches!(word.as_str(), "url" | "uri"))
        };
        let (name, _) = properties.iter().find(|(_, member)| names_address(member))?;
        Some(format!(
            "`{}` is an address of the caller's, which can carry data out",
            weaver_text::escape::line(name)
        ))
    };
    if let Some(why) = described() {
        return Some(why);
    }
    let fetches = phrase.is_named(&["fetch", "browse", "crawl", "scrape", "navigate", "visit"]);
    (names.is_empty()
        && schema.is_none()
        && fetches
        && phrase.is_about(&["url", "web", "webpage", "website", "page", "site"]))
    .then(|| "it asks an address of the caller's, which can carry data out".to_owned())
}
