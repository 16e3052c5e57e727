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

use super::address_role::AddressRole;
use super::network_address;
use super::provenance_check::{is_void, json_pointer, shortened};
use super::provenance_gap::ProvenanceGap;
use super::{fetched_text, outward_operation};
use crate::argument::is_listed;
use crate::critical::{self, ArgumentRole, PathStep, ToolWords};
use crate::destination::TrustedDestination;
use crate::provenance::{RequiredTokens, ValueOrigins, argument_name};
use crate::query::PolicyQuery;
use crate::value_search::{ValueText, find_in_texts};

/// Words of arguments of writes that hold what is stored, besides those of texts.
const STORED_WORDS: &str = "\
    name names observation observations fact facts values row rows record records cell cells \
    field fields tag tags label labels bookmark thought task";

/// Where the schema of a reading of resources lists the schemes of templates whose host is a variable; `*`
/// stands for every scheme.
const OPEN_AUTHORITIES: &str = "/properties/uri/x-open-authorities";

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
        method: id.split_once('.').map_or("", |(_, method)| method),
        reads: query.capability.spec().effects.impact == Impact::Read,
        schema: query.capability.spec().input_schema.as_deref(),
        origins: query.origins,
        destinations,
    };
    let mut find = |text: ValueText<'_>, at: &[PathStep<'_>]| call.find_gap(text, at);
    find_in_texts(arguments, &mut Vec::new(), &mut find).map_or(Ok(()), Err)
}

struct AddressCheck<'a> {
    tool: ToolWords,
    /// The method of the protocol, where it is no call of a tool.
    method: &'a str,
    reads: bool,
    schema: Option<&'a Value>,
    origins: Option<&'a dyn ValueOrigins>,
    destinations: &'a BTreeSet<TrustedDestination>,
}

impl AddressCheck<'_> {
    fn find_gap(&self, text: ValueText<'_>, at: &[PathStep<'_>]) -> Option<ProvenanceGap> {
        // Of a completion, `ref` is a prompt or a template of the server.
        if self.method == "completion/complete"
            && at.first().is_some_and(|step| step.as_ref() == "ref")
        {
            return None;
        }
        match text {
            // A member may be named by an address that is to be fetched, or as a parameter is.
            ValueText::Name(name, member) => {
                let says_where = || outward_operation::is_parameter(name) && !is_void(member);
                let is_gap = self.is_address(name, AddressRole::Other, false) || says_where();
                is_gap.then(|| gap(at))
            }
            ValueText::Text(text) => self.check_text(text, at).err(),
        }
    }

    fn check_text(&self, text: &str, at: &[PathStep<'_>]) -> Result<(), ProvenanceGap> {
        let name = argument_name(at);
        // A resource is one that the server lists, has a template for, or is allowed to be asked for.
        if self.method == "resources/read" {
            let may_lead_away =
                network_address::has_address_within(text) || self.chooses_authority(text);
            let is_address = may_lead_away && !self.is_vouched(text);
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
        if outward_operation::reaches_out(&self.tool, name, text) && !self.is_vouched(text) {
            return Err(ProvenanceGap::Operation { place: shortened(&json_pointer(at)) });
        }
        Ok(())
    }

    /// Whether the host of a URI is one that its template leaves open. The schema of a request lists the
    /// schemes of such templates.
    fn chooses_authority(&self, uri: &str) -> bool {
        let listed = self.schema.and_then(|schema| schema.pointer(OPEN_AUTHORITIES)?.as_array());
        let (scheme, rest) = uri.split_once(':').unwrap_or(("", uri));
        let is_open = |known: &Value| known == "*" || known == &scheme.to_ascii_lowercase();
        listed.is_some_and(|all| all.iter().any(is_open)) && network_address::begins_with_host(rest)
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
        || words.last().is_some_and(|last| is_listed(last, &[STORED_WORDS]))
}

fn gap(at: &[PathStep<'_>]) -> ProvenanceGap {
    ProvenanceGap::Address { place: shortened(&json_pointer(at)) }
}
