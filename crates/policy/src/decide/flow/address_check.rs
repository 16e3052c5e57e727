//! Checks the addresses in calls that are no sink: a tool that reads a file or a picture takes an
//! address in place of a path, under any name, and contacts whoever it names.
//!
//! A contract says what a tool is for, and not what its library does with `https://`. So after
//! untrusted input the value decides: an address of another machine that nobody vouches for waits at
//! every read. At a local write it waits where it could be a place to fetch from; a text that is
//! written is data there.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::Impact;

use super::fetched_text;
use super::network_address::{self, AddressRole};
use super::provenance_check::{json_pointer, shortened};
use super::provenance_gap::ProvenanceGap;
use crate::critical::{self, ArgumentRole, PathStep, ToolWords};
use crate::destination::TrustedDestination;
use crate::provenance::{RequiredTokens, ValueOrigins, argument_name};
use crate::query::PolicyQuery;

/// Words of arguments of writes that hold what is stored, besides those of texts.
const STORED_WORDS: [&str; 22] = [
    "name", "names", "observation", "observations", "fact", "facts", "values", "row", "rows",
    "record", "records", "cell", "cells", "field", "fields", "tag", "tags", "label", "labels",
    "bookmark", "thought", "task",
];

/// Finds the first address of another machine in the arguments of a call without a sink that neither
/// the user's words nor trusted results nor the policy's trusted destinations vouch for.
pub(super) fn check(
    query: &PolicyQuery<'_>,
    destinations: &BTreeSet<TrustedDestination>,
) -> Result<(), ProvenanceGap> {
    // Without arguments nothing is called yet.
    let Some(arguments) = query.arguments else { return Ok(()) };
    let id = query.capability.id().as_str();
    let call = AddressCheck {
        tool: ToolWords::of(id),
        request: ProtocolRequest::of(id),
        reads: query.capability.spec().effects.impact == Impact::Read,
        origins: query.origins,
        destinations,
    };
    call.check_value(arguments, &mut Vec::new())
}

/// A request of the protocol that is no call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProtocolRequest {
    /// Its `uri` is one that the server lists, has a template for, or is allowed to be asked for.
    ReadResource,
    /// Its `ref` is a prompt or a template of the server.
    Completion,
    /// Any other request, or a call of a tool.
    Other,
}

impl ProtocolRequest {
    fn of(id: &str) -> Self {
        match id.split_once('.') {
            Some((_, "resources/read")) => Self::ReadResource,
            Some((_, "completion/complete")) => Self::Completion,
            _ => Self::Other,
        }
    }
}

struct AddressCheck<'a> {
    tool: ToolWords,
    request: ProtocolRequest,
    reads: bool,
    origins: Option<&'a dyn ValueOrigins>,
    destinations: &'a BTreeSet<TrustedDestination>,
}

impl AddressCheck<'_> {
    fn check_value<'v>(
        &self,
        value: &'v Value,
        at: &mut Vec<PathStep<'v>>,
    ) -> Result<(), ProvenanceGap> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
            Value::String(text) => self.check_text(text, at),
            Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
                at.push(PathStep::item(index));
                let checked = self.check_value(item, at);
                at.pop();
                checked
            }),
            Value::Object(members) => members.iter().try_for_each(|(name, member)| {
                // A member may be named by an address that is to be fetched.
                if self.is_address(name, AddressRole::Other, false) {
                    return Err(gap(at));
                }
                at.push(PathStep::member(name));
                let checked = match self.request == ProtocolRequest::Completion
                    && at.len() == 1
                    && name == "ref"
                {
                    true => Ok(()),
                    false => self.check_value(member, at),
                };
                at.pop();
                checked
            }),
        }
    }

    fn check_text(&self, text: &str, at: &[PathStep<'_>]) -> Result<(), ProvenanceGap> {
        let name = argument_name(at);
        if self.request == ProtocolRequest::ReadResource {
            let is_address = network_address::has_address_within(text) && !self.is_vouched(text);
            return if is_address { Err(gap(at)) } else { Ok(()) };
        }
        let renders = self.tool.renders();
        if !self.reads && !renders && is_stored(name) {
            return Ok(());
        }
        let role = AddressRole::of(name, self.tool.all());
        let is_text = critical::argument_role(name) == ArgumentRole::Text;
        let is_fetched = |text: &str| {
            fetched_text::addresses(text).iter().any(|address| !self.is_vouched(address))
        };
        if self.is_address(text, role, is_text) || (self.reads || renders) && is_fetched(text) {
            return Err(gap(at));
        }
        Ok(())
    }

    /// Whether a text is an address of another machine that nobody vouches for.
    fn is_address(&self, text: &str, role: AddressRole, is_prose: bool) -> bool {
        network_address::is_remote(text, role, is_prose) && !self.is_vouched(text)
    }

    fn is_vouched(&self, address: &str) -> bool {
        if self.destinations.iter().any(|one| network_address::is_covered(address, one)) {
            return self.origins.is_none_or(|origins| origins.carried(address).is_empty());
        }
        let Some(origins) = self.origins else { return false };
        let value = Value::from(address);
        let required = ["url", "name"].map(|name| RequiredTokens::for_argument(name, &value));
        required.iter().any(|one| one.weakest_origin(&|token| origins.vouched(token)).is_some())
    }
}

/// Whether an argument of a write holds what is stored.
fn is_stored(name: &str) -> bool {
    let words = weaver_text::split::identifier(name);
    critical::names_content(name)
        || matches!(critical::argument_role(name), ArgumentRole::Time | ArgumentRole::Setting)
        || words.last().is_some_and(|last| STORED_WORDS.contains(&last.as_str()))
}

fn gap(at: &[PathStep<'_>]) -> ProvenanceGap {
    ProvenanceGap::Address { place: shortened(&json_pointer(at)) }
}
