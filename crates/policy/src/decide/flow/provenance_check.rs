//! Decides by the provenance of its values whether a call may go on after untrusted input.
//!
//! After a run has read untrusted text, the model may be following that text and not its user. A
//! call to a sink therefore goes on only if every value that decides where it goes was said by the
//! user or, if the sink accepts those, occurs in trusted results. This is an allowlist on purpose.
//! Values that were found in untrusted output, were found nowhere, or cannot be read are all
//! treated alike, because an attacker can choose between these cases.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::values::{self, ValueToken};
use weaver_types::{Impact, JsonPointer};

use super::provenance_gap::ProvenanceGap;
use crate::critical::{
    self, ArgumentRole, PathStep, SchemaMembership, ToolWords, schema_membership,
};
use crate::destination::{self, TrustedDestination};
use crate::provenance::{RequiredTokens, SensitiveValue, ValueOrigin, ValueOrigins, argument_name};
use crate::query::PolicyQuery;

/// The maximum length of a pointer in a reason, in characters.
const MAX_SHOWN_CHARS: usize = 80;

/// Checks that the provenance of its values lets the call go on.
pub(super) fn check(
    query: &PolicyQuery<'_>,
    destinations: &BTreeSet<TrustedDestination>,
) -> Result<(), ProvenanceGap> {
    let Some(arguments) = query.arguments else {
        return Err(ProvenanceGap::NoArguments);
    };
    let Some(origins) = query.origins else {
        return Err(ProvenanceGap::NoOrigins);
    };
    let mut call = ProvenanceCheck::new(query, origins, destinations);
    call.check_value(arguments, &mut Vec::new())?;
    call.check_payment(arguments)?;
    if call.has_vouched_destination {
        return Ok(());
    }
    if call.user_words_only {
        return Err(ProvenanceGap::NoDestination);
    }
    // No argument names a receiver, so every value must be vouched for: the content alone decides
    // what the call does. Strict sinks never get here.
    call.checks_every_value = true;
    call.check_value(arguments, &mut Vec::new())?;
    if call.has_vouched_destination { Ok(()) } else { Err(ProvenanceGap::NoDestination) }
}

/// Whether a value holds nothing: `null`, a blank text, or a list or an object of nothing else.
pub(super) fn is_void(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_void),
        Value::Object(members) => members.values().all(is_void),
    }
}

/// Whether a name has digits and no letters, as the number of an account.
fn is_number_like(name: &str) -> bool {
    name.chars().any(char::is_numeric) && !name.chars().any(char::is_alphabetic)
}

/// One pass over the values of a call. The first gap ends it.
pub(super) struct ProvenanceCheck<'a> {
    pub(super) query: &'a PolicyQuery<'a>,
    pub(super) origins: &'a dyn ValueOrigins,
    /// The policy's trusted destinations; `None` unless the call is a read at a sink that is not
    /// strict.
    destinations: Option<&'a BTreeSet<TrustedDestination>>,
    /// The words of the tool's name.
    pub(super) tool: ToolWords,
    /// Whether only the user's words can vouch for values.
    pub(super) user_words_only: bool,
    /// Whether every value must be vouched for, not just critical ones.
    checks_every_value: bool,
    /// Whether a value that decides where the call goes was found and vouched for.
    has_vouched_destination: bool,
}

impl<'a> ProvenanceCheck<'a> {
    fn new(
        query: &'a PolicyQuery<'a>,
        origins: &'a dyn ValueOrigins,
        destinations: &'a BTreeSet<TrustedDestination>,
    ) -> Self {
        let user_words_only = critical::requires_user_words(query.capability.sink());
        let reads = query.capability.spec().effects.impact == Impact::Read;
        let destinations = (reads && !user_words_only).then_some(destinations);
        Self {
            query,
            origins,
            destinations,
            tool: ToolWords::of(query.capability.id().as_str()),
            user_words_only,
            checks_every_value: false,
            has_vouched_destination: false,
        }
    }

    /// Checks everything below a path.
    fn check_value<'v>(
        &mut self,
        value: &'v Value,
        at: &mut Vec<PathStep<'v>>,
    ) -> Result<(), ProvenanceGap> {
        match value {
            Value::Array(items) => {
                self.check_list(items, at)?;
                for (index, item) in items.iter().enumerate() {
                    at.push(PathStep::item(index));
                    if is_void(item) {
                        self.check_empty(item, at)?;
                    }
                    self.check_value(item, at)?;
                    at.pop();
                }
                Ok(())
            }
            Value::Object(members) => {
                if !at.is_empty() && is_void(value) {
                    self.check_empty(value, at)?;
                }
                let in_map = self.may_map_receivers(at);
                for (name, member) in members {
                    // At a strict sink a number is a key, whatever the argument is called.
                    let is_key = in_map
                        || self.user_words_only
                            && is_number_like(name)
                            && self.is_critical(at, argument_name(at));
                    if is_key && !critical::is_field_name(name) && !self.declares(at, name) {
                        let receiver = Value::String(name.clone());
                        self.check_critical(&receiver, at, argument_name(at))?;
                    }
                    at.push(PathStep::member(name));
                    if name.contains(['.', '@']) {
                        self.check_text(name, at)?;
                    }
                    self.check_value(member, at)?;
                    at.pop();
                }
                Ok(())
            }
            leaf => self.check_leaf(leaf, at),
        }
    }

    /// Whether the members of an object at this path may have receivers as their names, as in a map
    /// from addresses to display names. Their values may then be empty, or vouched for elsewhere.
    fn may_map_receivers(&self, at: &[PathStep<'_>]) -> bool {
        let decides = |step: &PathStep<'_>| {
            matches!(
                critical::argument_role(step.as_ref()),
                ArgumentRole::Recipient
                    | ArgumentRole::Email
                    | ArgumentRole::Network
                    | ArgumentRole::Account
                    | ArgumentRole::Identifier
            )
        };
        let schema = self.query.capability.spec().input_schema.as_ref();
        let is_undeclared = || {
            let membership = schema.map(|schema| schema_membership(schema, at));
            membership == Some(SchemaMembership::Undeclared)
        };
        self.is_critical(at, argument_name(at)) && (at.iter().any(decides) || is_undeclared())
    }

    /// Whether the schema declares this member of the object at a path.
    fn declares(&self, at: &[PathStep<'_>], name: &str) -> bool {
        let path: Vec<PathStep<'_>> = at.iter().cloned().chain([PathStep::member(name)]).collect();
        let schema = self.query.capability.spec().input_schema.as_ref();
        schema.is_some_and(|schema| schema_membership(schema, &path) == SchemaMembership::Declared)
    }

    fn check_leaf(&mut self, value: &Value, at: &[PathStep<'_>]) -> Result<(), ProvenanceGap> {
        let name = argument_name(at);
        if value.is_null() {
            return Ok(());
        }
        if value.as_str().is_some_and(|text| text.trim().is_empty()) {
            return self.check_empty(value, at);
        }
        let holds_call =
            |text| self.opens_page() && critical::may_be_script(text) && !critical::names_url(name);
        let is_script =
            value.as_str().is_some_and(|text| critical::takes_script(name) || holds_call(text));
        if is_script || self.is_critical(at, name) {
            return self.check_critical(value, at, name);
        }
        if let Value::String(text) = value {
            self.check_text(text, at)?;
            if critical::argument_role(name) == ArgumentRole::Other && is_contact_handle(text) {
                return self.check_critical(value, at, name);
            }
        }
        if self.checks_every_value { self.check_content(value, at, name) } else { Ok(()) }
    }

    /// Checks a value that decides where the call goes.
    fn check_critical(
        &mut self,
        value: &Value,
        at: &[PathStep<'_>],
        name: &str,
    ) -> Result<(), ProvenanceGap> {
        let pointer = json_pointer(at);
        let sounds_free = matches!(
            critical::argument_role(name),
            ArgumentRole::Text | ArgumentRole::Time | ArgumentRole::Setting
        );
        let sink = self.query.capability.sink();
        let is_object = sounds_free && self.tool.names_object(name, sink);
        let found = match JsonPointer::parse(&pointer) {
            Ok(_) if is_object => self.origin_by(&RequiredTokens::for_object(name, value)),
            Ok(pointer) => self.origins.origin(&pointer, value),
            Err(_) => None,
        };
        if !self.is_sufficient(found) && !self.goes_to_trusted_destination(value, name) {
            if self.is_lone_item(value, name) {
                return Ok(());
            }
            if !self.is_vouched_by_context(value, at, name) {
                let kind = RequiredTokens::for_argument(name, value).kind();
                return Err(self.unvouched_gap(&pointer, kind));
            }
        }
        // A display name before an address receives nothing, but is shown.
        if let Some(text) = value.as_str().filter(|text| text.contains('<')) {
            self.check_text(text, at)?;
        }
        self.has_vouched_destination = true;
        Ok(())
    }

    /// Whether the call reads a page, by a browser or at a URL, where a text beside it may be run.
    fn opens_page(&self) -> bool {
        let reads = self.query.capability.spec().effects.impact == Impact::Read;
        let members = self.query.arguments.and_then(Value::as_object);
        let takes_url =
            || members.is_some_and(|all| all.keys().any(|key| critical::names_url(key)));
        self.tool.is_browser() || reads && takes_url()
    }

    /// Whether a value is a URL at a trusted destination, or goes to no host (a file of this machine, a path,
    /// a `data:` URL), and contains no sensitive value. In a browser a page may send anything anywhere, and
    /// a path may be taken for a host.
    fn goes_to_trusted_destination(&self, value: &Value, name: &str) -> bool {
        let (Some(url), Some(destinations)) = (value.as_str(), self.destinations) else {
            return false;
        };
        let is_for_urls = critical::names_url(name);
        let is_content =
            destination::is_local_file(url) || is_for_urls && destination::is_data(url);
        let is_trusted = if is_content {
            destination::is_inert(url) || self.tool.reads_documents()
        } else if is_for_urls && destination::is_absolute_path(url) {
            !self.tool.is_browser()
        } else {
            destinations.iter().any(|one| one.covers(url))
        };
        is_trusted && self.origins.carried(url).is_empty()
    }

    /// Checks a text for people: the addresses that it mentions, because a reader could follow
    /// them, and the sensitive values that it contains.
    fn check_text(&self, text: &str, at: &[PathStep<'_>]) -> Result<(), ProvenanceGap> {
        let (found, complete) = values::destinations(text);
        if !complete {
            return Err(ProvenanceGap::Unreadable { place: shown_pointer(at) });
        }
        let payees = values::payees(text);
        let mut destinations = found.iter().chain(&payees);
        match destinations.find(|token| !self.is_sufficient(self.origins.vouched(token))) {
            Some(token) => Err(self.unvouched_gap(&json_pointer(at), token.class.name())),
            None => self.check_sensitive_values(text, at),
        }
    }

    /// Checks the sensitive values in a text, which only the user may pass on. Values behind masks
    /// are exempt, because they have a check of their own.
    fn check_sensitive_values(&self, text: &str, at: &[PathStep<'_>]) -> Result<(), ProvenanceGap> {
        let at = json_pointer(at);
        let users = |token: &ValueToken| self.origins.vouched(token) == Some(ValueOrigin::User);
        let exempt = |value: &SensitiveValue| {
            value.tokens.iter().any(users) || self.is_masked_value(value, &at)
        };
        match self.origins.carried(text).iter().find(|value| !exempt(value)) {
            Some(value) => {
                let kind = value.kind.replace('_', " ");
                Err(ProvenanceGap::SensitiveValue { kind, place: shortened(&at) })
            }
            None => Ok(()),
        }
    }

    /// Whether a mask in the arguments stands for this very value. Another value of the same kind
    /// beside a mask is not exempt. The values of masks are in memory only: those of a held call
    /// may be gone when it is evaluated again. It was checked with its values when it was held, and
    /// a person sees them, so the kind and the place suffice then.
    fn is_masked_value(&self, value: &SensitiveValue, at: &str) -> bool {
        self.query.masked.iter().any(|masked| match self.origins.masked_tokens(masked) {
            Some(tokens) => value.tokens.iter().any(|token| tokens.contains(token)),
            None => masked.kind == value.kind && masked.place == at,
        })
    }

    /// Checks a value of a call that names no receiver.
    fn check_content(
        &mut self,
        value: &Value,
        at: &[PathStep<'_>],
        name: &str,
    ) -> Result<(), ProvenanceGap> {
        let role = critical::argument_role(name);
        let text = value.as_str().unwrap_or_default();
        let few = value.is_boolean() || role == ArgumentRole::Setting && !text.trim().contains(' ');
        if few || role == ArgumentRole::Time && values::is_time(text) {
            return Ok(());
        }
        let required = RequiredTokens::for_content(value);
        // A part of what the user only quoted or denied may say the opposite.
        let partial = required.is_merely_mentioned(&|token| self.origins.vouched(token))
            && self.origin_by(&RequiredTokens::for_whole_quotation(text)).is_none();
        if partial || !self.is_sufficient(self.origin_by(&required)) {
            return Err(self.unvouched_gap(&json_pointer(at), required.kind()));
        }
        self.has_vouched_destination = true;
        Ok(())
    }

    pub(super) fn is_sufficient(&self, found: Option<ValueOrigin>) -> bool {
        match found {
            Some(ValueOrigin::User) => true,
            Some(ValueOrigin::Trusted) => !self.user_words_only,
            None => false,
        }
    }

    /// Whether the value is critical. It is if it is declared so. Undeclared names could address
    /// further receivers, so two more cases count: an argument that is not in the schema, unless
    /// its name is that of a text, a time or a setting that decides nothing; and an undeclared member of a declared
    /// argument whose name is critical by itself.
    pub(super) fn is_critical(&self, at: &[PathStep<'_>], name: &str) -> bool {
        let spec = self.query.capability.spec();
        if spec.critical_arguments.iter().any(|declared| critical::covers(declared, at)) {
            return true;
        }
        let schema = spec.input_schema.as_ref();
        match schema.map(|schema| schema_membership(schema, at)) {
            None | Some(SchemaMembership::Declared) => false,
            Some(SchemaMembership::OpenMember) => {
                critical::is_critical(name, self.query.capability.sink())
            }
            Some(SchemaMembership::Undeclared) => {
                let sink = self.query.capability.sink();
                let decides = critical::lasts(name, sink) || critical::grants_access(name, sink);
                let is_free = matches!(
                    critical::argument_role(name),
                    ArgumentRole::Text | ArgumentRole::Time | ArgumentRole::Setting
                );
                decides || !is_free
            }
        }
    }

    pub(super) fn unvouched_gap(&self, place: &str, kind: &'static str) -> ProvenanceGap {
        let place = shortened(place);
        match self.user_words_only {
            true => ProvenanceGap::NotFromUser { kind, place },
            false => ProvenanceGap::NotVouchedFor { kind, place },
        }
    }
}

/// Whether the whole text is a contact handle: `@name`, `#room` or a telephone number.
fn is_contact_handle(text: &str) -> bool {
    let text = text.trim();
    let name = text.strip_prefix(['@', '#']).filter(|name| !name.contains(char::is_whitespace));
    let number = text.strip_prefix('+').filter(|number| number.len() > 5);
    let digits = |number: &str| number.chars().all(|c| c.is_ascii_digit() || " -()./".contains(c));
    name.is_some_and(|name| name.chars().any(char::is_alphanumeric)) || number.is_some_and(digits)
}

/// The path as a JSON pointer.
pub(super) fn json_pointer(at: &[PathStep<'_>]) -> String {
    let step = |step: &PathStep<'_>| format!("/{}", JsonPointer::escape_step(step.as_ref()));
    at.iter().map(step).collect()
}

fn shown_pointer(at: &[PathStep<'_>]) -> String {
    shortened(&json_pointer(at))
}

pub(super) fn shortened(at: &str) -> String {
    at.escape_debug().take(MAX_SHOWN_CHARS).collect()
}
