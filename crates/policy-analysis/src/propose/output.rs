//! Proposes the label of a tool's output: who may have written it, and how confidential it is.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_policy::OutputLabel;
use weaver_policy::critical::{self, ArgumentRole};
use weaver_types::{Confidentiality, Effects, Impact, Integrity, SensitivityTag};

use super::tool_text::{self, ToolText};
use super::{lexicon, own_data, untrusted_output};

/// A proposed output label with its reason.
pub(super) struct LabelProposal {
    pub(super) label: OutputLabel,
    pub(super) why: String,
}

impl LabelProposal {
    fn new(label: OutputLabel, why: impl Into<String>) -> Self {
        Self { label, why: why.into() }
    }
}

/// Proposes the label of the output.
pub(super) fn propose_label(
    text: &ToolText,
    schema: Option<&Value>,
    effects: Effects,
) -> LabelProposal {
    let trusted = |confidentiality| OutputLabel {
        confidentiality: Some(confidentiality),
        integrity: Some(Integrity::Trusted),
    };
    if effects.impact != Impact::Read {
        let why = "what a writer answers may repeat what others wrote";
        return LabelProposal::new(untrusted_output(Confidentiality::Internal), why);
    }
    if lexicon::is_secret(text) {
        let why = "it may answer with a secret";
        return LabelProposal::new(untrusted_output(Confidentiality::Restricted), why);
    }
    if own_data::is_address_book(text) {
        return LabelProposal::new(
            trusted(Confidentiality::Internal),
            "the user's own address book",
        );
    }
    if let Some(noun) = lexicon::written_by_others(text) {
        let why = format!("others write what stands in it: `{noun}`");
        return LabelProposal::new(untrusted_output(Confidentiality::Internal), why);
    }
    if own_data::tells_only_time(text) && !takes_free_text(schema) {
        return LabelProposal::new(trusted(Confidentiality::Public), "the clock: nobody writes it");
    }
    if own_data::is_own_account(text) && !takes_free_text(schema) {
        return LabelProposal::new(
            trusted(Confidentiality::Internal),
            "the user's own account, and nothing else",
        );
    }
    let why = "nothing says that nobody else writes it";
    LabelProposal::new(untrusted_output(Confidentiality::Internal), why)
}

/// Proposes the kinds of sensitive data in the output.
pub(super) fn propose_sensitivity(text: &ToolText, label: OutputLabel) -> BTreeSet<SensitivityTag> {
    const PEOPLE: [&str; 14] = [
        "email", "mail", "inbox", "contact", "user", "profile", "member", "person", "customer",
        "employee", "attendee", "participant", "patient", "addressbook",
    ];
    let mut out = BTreeSet::new();
    if text.is_named(&PEOPLE) {
        out.insert(SensitivityTag::Pii);
    }
    if label.confidentiality == Some(Confidentiality::Restricted) {
        out.insert(SensitivityTag::Secrets);
    }
    out
}

/// Whether the tool takes free text from the caller, which the answer could repeat.
fn takes_free_text(schema: Option<&Value>) -> bool {
    if schema.is_none() {
        return true;
    }
    tool_text::argument_names(schema).iter().any(|name| {
        let of = schema.and_then(|schema| schema.get("properties")?.get(name));
        let kind = of.and_then(|member| member.get("type")).and_then(Value::as_str);
        let listed = of.is_some_and(|member| member.get("enum").is_some());
        let plain = matches!(kind, Some("integer" | "number" | "boolean"));
        !plain
            && !listed
            && !matches!(critical::argument_role(name), ArgumentRole::Time | ArgumentRole::Setting)
            && !name.to_ascii_lowercase().contains("timezone")
    })
}

/// Why a read can carry data to an address that the caller chooses, if it can: an argument, at
/// whatever depth, has a name for addresses or one of the others given.
pub(super) fn egress_reason(
    text: &ToolText,
    schema: Option<&Value>,
    other_names: &[&str],
) -> Option<String> {
    let names = tool_text::all_property_names(schema);
    let arguments = tool_text::all_arguments(schema);
    // `include_links` says what is shown; `is_url` says that another argument is an address.
    let only_shows = |name: &str| {
        let mut called_so = arguments.iter().filter(|argument| argument.name == name).peekable();
        called_so.peek().is_some()
            && called_so.all(|argument| argument.is_boolean() && !argument.says_address())
    };
    let place = names.iter().find(|name| {
        let words = weaver_text::split::identifier(name);
        let last = words.last().map(|word| lexicon::singular(word));
        last.is_some_and(|word| {
            lexicon::ADDRESS_ARGUMENTS.contains(&word) || other_names.contains(&word)
        }) && !only_shows(name)
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
    let fetches = text.is_named(&["fetch", "browse", "crawl", "scrape", "navigate", "visit"]);
    (names.is_empty()
        && schema.is_none()
        && fetches
        && text.is_about(&["url", "web", "webpage", "website", "page", "site"]))
    .then(|| "it asks an address of the caller's, which can carry data out".to_owned())
}
