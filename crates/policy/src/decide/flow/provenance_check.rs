//! Whether a call may go on after untrusted input: where its values came from.
//!
//! After a run has read untrusted text, a model may be following that text and not its user. So a call
//! to a sink goes on only if every value that decides where it goes was said by the user, or stands in
//! trusted results where the sink admits those. This is a whitelist on purpose: what is found in
//! untrusted output, nowhere, or cannot be read is one case, since an attacker chooses which of them
//! it is.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::values;
use weaver_types::{Impact, Pointer, SinkKind};

use crate::critical::{self, Declaration, Role, declaration};
use crate::destination::TrustedDestination;
use crate::provenance::{RequiredTokens, ValueOrigin, ValueOrigins, argument_name};
use crate::query::Query;

/// The longest name of a place in a reason, in characters.
const SHOWN: usize = 80;

/// Why the values of a call do not release it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProvenanceGap {
    #[error("the arguments are not known yet")]
    NoArguments,
    #[error("nobody knows where the arguments come from")]
    NoOrigins,
    /// No argument decides where the call goes.
    #[error("no argument says where the call goes")]
    NoSubject,
    #[error("`{place}` is too long or too deeply encoded to be read")]
    Unreadable { place: String },
    /// A text carries a value that only the user sends on.
    #[error("the {kind} in `{place}` is not found in the user's words")]
    Carried { kind: String, place: String },
    #[error("the {kind} at `{place}` is not found in the user's words")]
    NotFromUser { kind: &'static str, place: String },
    #[error("the {kind} at `{place}` is not found in the user's words or in trusted results")]
    NotVouchedFor { kind: &'static str, place: String },
}

/// Whether the values of the call release it; otherwise what stands in the way.
pub(super) fn check(
    query: &Query<'_>,
    destinations: &BTreeSet<TrustedDestination>,
) -> Result<(), ProvenanceGap> {
    let Some(arguments) = query.arguments else {
        return Err(ProvenanceGap::NoArguments);
    };
    let Some(origins) = query.origins else {
        return Err(ProvenanceGap::NoOrigins);
    };
    let mut call = ProvenanceCheck::new(query, origins, destinations);
    call.walk(arguments, &mut Vec::new())?;
    if call.decides {
        return Ok(());
    }
    if call.strict {
        return Err(ProvenanceGap::NoSubject);
    }
    // Where no argument says to whom, all that the call says must have been said before.
    call.whole = true;
    call.walk(arguments, &mut Vec::new())?;
    if call.decides { Ok(()) } else { Err(ProvenanceGap::NoSubject) }
}

/// Whether the contract says who gets something, and the call names nobody: an event without
/// guests stays in one's own calendar. An argument outside of the schema may name somebody too.
pub(super) fn goes_nowhere(query: &Query<'_>) -> bool {
    let spec = query.capability.spec();
    let Some(Value::Object(arguments)) = query.arguments else { return false };
    if spec.sends_to.is_empty() || query.capability.sink() != SinkKind::ExternalSend {
        return false;
    }
    let Some(schema) = &spec.input_schema else { return false };
    let call = ReceiverSearch { schema, sends_to: &spec.sends_to };
    arguments.iter().all(|(name, value)| {
        let mut at = vec![Cow::Borrowed(name.as_str())];
        declaration(schema, &at) == Declaration::Named && call.names_nobody(value, &mut at)
    })
}

/// Looks for somebody where the contract says that receivers stand.
struct ReceiverSearch<'a> {
    schema: &'a Value,
    sends_to: &'a BTreeSet<Pointer>,
}

impl ReceiverSearch<'_> {
    fn names_nobody<'v>(&self, value: &'v Value, at: &mut Vec<Cow<'v, str>>) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.iter().enumerate().all(|(index, item)| {
                at.push(Cow::Owned(index.to_string()));
                let nobody = self.names_nobody(item, at);
                at.pop();
                nobody
            }),
            Value::Object(members) => members.iter().all(|(name, member)| {
                at.push(Cow::Borrowed(name));
                // A name that is neither of the schema nor a word for a field may be that of somebody.
                let is_field = declaration(self.schema, at) == Declaration::Named
                    || critical::role(name) != Role::Other;
                let nobody = (is_field || !self.is_receiver(at)) && self.names_nobody(member, at);
                at.pop();
                nobody
            }),
            leaf => {
                let empty = leaf.as_str().is_some_and(|text| text.trim().is_empty());
                empty || !self.is_receiver(at)
            }
        }
    }

    fn is_receiver(&self, at: &[Cow<'_, str>]) -> bool {
        self.sends_to.iter().any(|declared| critical::covers(declared, at))
    }
}

/// One pass over the values of a call.
struct ProvenanceCheck<'a> {
    query: &'a Query<'a>,
    origins: &'a dyn ValueOrigins,
    /// The hosts of the policy from which reads are free; for another call none.
    destinations: Option<&'a BTreeSet<TrustedDestination>>,
    /// Whether only the user's words count.
    strict: bool,
    /// Whether every value has to be vouched for.
    whole: bool,
    /// Whether a value that decides where the call goes was found, and vouched for.
    decides: bool,
}

impl<'a> ProvenanceCheck<'a> {
    fn new(
        query: &'a Query<'a>,
        origins: &'a dyn ValueOrigins,
        destinations: &'a BTreeSet<TrustedDestination>,
    ) -> Self {
        let strict = critical::is_strict(query.capability.sink());
        let reads = query.capability.spec().effects.impact == Impact::Read;
        let destinations = (reads && !strict).then_some(destinations);
        Self { query, origins, destinations, strict, whole: false, decides: false }
    }

    /// Looks at everything below a place.
    fn walk<'v>(
        &mut self,
        value: &'v Value,
        at: &mut Vec<Cow<'v, str>>,
    ) -> Result<(), ProvenanceGap> {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    at.push(Cow::Owned(index.to_string()));
                    self.walk(item, at)?;
                    at.pop();
                }
                Ok(())
            }
            Value::Object(members) => {
                for (name, member) in members {
                    at.push(Cow::Borrowed(name));
                    if name.contains(['.', '@']) {
                        self.text(name, at)?;
                    }
                    self.walk(member, at)?;
                    at.pop();
                }
                Ok(())
            }
            leaf => self.leaf(leaf, at),
        }
    }

    fn leaf(&mut self, value: &Value, at: &[Cow<'_, str>]) -> Result<(), ProvenanceGap> {
        let empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
        if empty {
            return Ok(());
        }
        let name = argument_name(at);
        if self.is_critical(at, name) {
            return self.critical(value, at, name);
        }
        if let Value::String(text) = value {
            self.text(text, at)?;
            if critical::role(name) == Role::Other && is_handle(text) {
                return self.critical(value, at, name);
            }
        }
        if self.whole { self.content(value, at, name) } else { Ok(()) }
    }

    /// A value that decides where the call goes.
    fn critical(
        &mut self,
        value: &Value,
        at: &[Cow<'_, str>],
        name: &str,
    ) -> Result<(), ProvenanceGap> {
        let at = place(at);
        let found = match Pointer::parse(&at) {
            Ok(pointer) => self.origins.origin(&pointer, value),
            Err(_) => None,
        };
        if !self.counts(found) && !self.goes_to_trusted_destination(value) {
            return Err(self.unvouched(&at, RequiredTokens::of_argument(name, value).kind()));
        }
        self.decides = true;
        Ok(())
    }

    /// Whether a value is a URL of a host from which the policy lets a tainted run read, and carries
    /// nothing that its owner loses by.
    fn goes_to_trusted_destination(&self, value: &Value) -> bool {
        let (Some(url), Some(destinations)) = (value.as_str(), self.destinations) else {
            return false;
        };
        destinations.iter().any(|one| one.covers(url)) && self.origins.carried(url).is_empty()
    }

    /// A text for people: the places that it could send somebody to decide too, and what it
    /// carries.
    fn text(&self, text: &str, at: &[Cow<'_, str>]) -> Result<(), ProvenanceGap> {
        let (found, complete) = values::destinations(text);
        if !complete {
            return Err(ProvenanceGap::Unreadable { place: shown(at) });
        }
        match found.iter().find(|token| !self.counts(self.origins.vouched(token))) {
            Some(token) => Err(self.unvouched(&place(at), token.class.name())),
            None => self.carried(text, at),
        }
    }

    /// What a text carries that only the user sends on. A mask says itself where it may go.
    fn carried(&self, text: &str, at: &[Cow<'_, str>]) -> Result<(), ProvenanceGap> {
        let at = place(at);
        let masked = |kind: &str| {
            let mut masked = self.query.masked.iter();
            masked.any(|value| value.kind == kind && value.place == at)
        };
        let users = |token| self.origins.vouched(token) == Some(ValueOrigin::User);
        let carried = self.origins.carried(text);
        match carried.iter().find(|value| !masked(&value.kind) && !value.tokens.iter().any(users)) {
            Some(value) => {
                let kind = value.kind.replace('_', " ");
                Err(ProvenanceGap::Carried { kind, place: shortened(&at) })
            }
            None => Ok(()),
        }
    }

    /// A value of a call that says to nobody where it goes.
    fn content(
        &mut self,
        value: &Value,
        at: &[Cow<'_, str>],
        name: &str,
    ) -> Result<(), ProvenanceGap> {
        let role = critical::role(name);
        let text = value.as_str().unwrap_or_default();
        let few = value.is_boolean() || role == Role::Switch && !text.trim().contains(' ');
        if few || role == Role::Moment && values::is_time(text) {
            return Ok(());
        }
        let required = RequiredTokens::of_content(value);
        if !self.counts(required.vouched_by(&|token| self.origins.vouched(token))) {
            return Err(self.unvouched(&place(at), required.kind()));
        }
        self.decides = true;
        Ok(())
    }

    fn counts(&self, found: Option<ValueOrigin>) -> bool {
        match found {
            Some(ValueOrigin::User) => true,
            Some(ValueOrigin::Trusted) => !self.strict,
            None => false,
        }
    }

    /// Whether the value here is declared critical, or may say to whom else it goes: an argument that
    /// the schema does not have, unless its name is that of a text, a moment or a switch; and a member
    /// that it does not have of an argument that it has, where its name is critical by itself.
    fn is_critical(&self, at: &[Cow<'_, str>], name: &str) -> bool {
        let spec = self.query.capability.spec();
        if spec.critical_arguments.iter().any(|declared| critical::covers(declared, at)) {
            return true;
        }
        let schema = spec.input_schema.as_ref();
        match schema.map(|schema| declaration(schema, at)) {
            None | Some(Declaration::Named) => false,
            Some(Declaration::Open) => critical::is_critical(name, self.query.capability.sink()),
            Some(Declaration::Unknown) => {
                !matches!(critical::role(name), Role::Text | Role::Moment | Role::Switch)
            }
        }
    }

    fn unvouched(&self, place: &str, kind: &'static str) -> ProvenanceGap {
        let place = shortened(place);
        match self.strict {
            true => ProvenanceGap::NotFromUser { kind, place },
            false => ProvenanceGap::NotVouchedFor { kind, place },
        }
    }
}

/// Whether a text is nothing but the name of a person, a room or a telephone somewhere.
fn is_handle(text: &str) -> bool {
    let text = text.trim();
    let name = text.strip_prefix(['@', '#']).filter(|name| !name.contains(char::is_whitespace));
    let number = text.strip_prefix('+').filter(|number| number.len() > 5);
    let digits = |number: &str| number.chars().all(|c| c.is_ascii_digit() || " -()./".contains(c));
    name.is_some_and(|name| name.chars().any(char::is_alphanumeric)) || number.is_some_and(digits)
}

/// The place as a pointer.
fn place(at: &[Cow<'_, str>]) -> String {
    let names = at.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1")));
    names.collect()
}

fn shown(at: &[Cow<'_, str>]) -> String {
    shortened(&place(at))
}

fn shortened(at: &str) -> String {
    at.escape_debug().take(SHOWN).collect()
}
