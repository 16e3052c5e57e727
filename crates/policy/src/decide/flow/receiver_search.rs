//! Finds whether a call names a receiver at all, by what its contract declares.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::values;
use weaver_types::{Impact, JsonPointer, SinkKind};

use crate::critical::{self, ArgumentRole, PathStep, SchemaMembership, schema_membership};
use crate::destination;
use crate::query::PolicyQuery;
use crate::value_search::any_text;

/// Whether the contract declares the receiver arguments and the call names nobody in them: an event
/// without guests stays in the user's own calendar. Arguments outside of the schema could name
/// somebody too, so there must be none.
pub(super) fn has_no_receiver(query: &PolicyQuery<'_>) -> bool {
    let spec = query.capability.spec();
    let Some(Value::Object(arguments)) = query.arguments else { return false };
    if spec.sends_to.is_empty() || query.capability.sink() != SinkKind::ExternalSend {
        return false;
    }
    let Some(schema) = &spec.input_schema else { return false };
    let call = ReceiverSearch { schema, sends_to: &spec.sends_to };
    // What a reader takes for a file may be an address all the same.
    let asks_address = spec.effects.impact == Impact::Read
        && arguments.values().any(|value| any_text(value, is_address));
    !asks_address
        && arguments.iter().all(|(name, value)| {
            let mut at = vec![PathStep::member(name)];
            schema_membership(schema, &at) == SchemaMembership::Declared
                && call.names_nobody(value, &mut at)
        })
}

/// Searches the arguments for receivers, at the pointers that the contract declares.
struct ReceiverSearch<'a> {
    schema: &'a Value,
    sends_to: &'a BTreeSet<JsonPointer>,
}

impl ReceiverSearch<'_> {
    fn names_nobody<'v>(&self, value: &'v Value, at: &mut Vec<PathStep<'v>>) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.iter().enumerate().all(|(index, item)| {
                at.push(PathStep::item(index));
                let nobody = self.names_nobody(item, at);
                at.pop();
                nobody
            }),
            Value::Object(members) => members.iter().all(|(name, member)| {
                at.push(PathStep::member(name));
                // A member name that is neither in the schema nor the name of a field may itself name a
                // receiver.
                let is_declared = schema_membership(self.schema, at) == SchemaMembership::Declared;
                let is_field = is_declared || critical::is_field_name(name);
                let may_address = !is_declared && addresses_somebody(name) && !is_empty(member);
                let nobody = !may_address
                    && (is_field || !self.is_receiver(at))
                    && self.names_nobody(member, at);
                at.pop();
                nobody
            }),
            leaf => is_empty(leaf) || !self.is_receiver(at),
        }
    }

    fn is_receiver(&self, at: &[PathStep<'_>]) -> bool {
        self.sends_to.iter().any(|declared| critical::covers(declared, at))
    }
}

/// Whether a member of this name that no schema declares may say who gets the call.
fn addresses_somebody(name: &str) -> bool {
    matches!(
        critical::argument_role(name),
        ArgumentRole::Recipient
            | ArgumentRole::Email
            | ArgumentRole::Network
            | ArgumentRole::Account
    )
}

/// Whether a text could be read as an address. Names of files look like hosts, so an absolute path is one
/// only with an authority.
fn is_address(text: &str) -> bool {
    if destination::is_local_file(text) {
        return false;
    }
    let has_authority =
        text.contains("://") || text.contains('\\') || text.trim_start().starts_with("//");
    if has_authority || text.contains(char::is_control) {
        return true;
    }
    let (found, complete) = values::destinations(text);
    let is_path = ["/", "~/", "./", "../"].iter().any(|start| text.starts_with(start));
    !(is_path || found.is_empty() && complete)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}
