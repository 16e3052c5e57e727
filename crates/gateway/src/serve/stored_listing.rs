//! The tools of a server whose definitions are those of the signed contracts, as it listed them last.
//!
//! They are kept in the ledger, so that a list can name them before the server is up, and so that a
//! person sees what an update of the server changed. Nobody has to trust the record: a definition
//! counts only where its digest is the one that the contract was signed with.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_agent_kernel::Kernel;
use weaver_policy::{ContractStatus, PolicySet};
use weaver_trace_store::MAX_VALUE;
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, RecordKey, RecordWrite};
use weaver_types::{Capability, Tenant, UpstreamName};

use super::tool_proposal::{self, ToolDefinition};
use crate::config::UpstreamSettings;

/// The version of the stored form.
const VERSION: u8 = 1;

/// What is stored of the lists of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredListing {
    /// Whether it listed prompts.
    pub(crate) has_prompts: bool,
    /// Whether it listed resources or templates.
    pub(crate) has_resources: bool,
    /// The tools by name, at most one version of each.
    pub(crate) tools: BTreeMap<String, StoredTool>,
}

/// A tool as its server listed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredTool {
    /// The JSON of its definition.
    pub(crate) definition: String,
    /// The instructions of the server, which the digest covers too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<String>,
}

impl StoredTool {
    /// The parsed definition.
    pub(crate) fn to_value(&self) -> Value {
        serde_json::from_str(&self.definition).unwrap_or_default()
    }

    /// The capability that it proposes to be, if the contracts are signed for exactly this
    /// definition.
    pub(crate) fn signed_capability(
        &self,
        name: &str,
        server: &UpstreamSettings,
        policy: &PolicySet,
    ) -> Option<Capability> {
        let definition = self.to_value();
        let tool = ToolDefinition { name, definition: &definition };
        let capability =
            tool_proposal::propose_listed(server, tool, self.instructions.as_deref()).ok()?;
        let is_signed = policy.is_pinned(capability.id())
            && policy.contract_status(&capability) == ContractStatus::Approved;
        is_signed.then_some(capability)
    }
}

/// The record of a listing.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListingRecord<'l> {
    listing: Cow<'l, StoredListing>,
    v: u8,
}

impl StoredListing {
    /// Reads a record. What cannot be read counts as nothing: the server is then waited for.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let record: ListingRecord<'_> = serde_json::from_slice(bytes).ok()?;
        (record.v == VERSION).then(|| record.listing.into_owned())
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        let record = ListingRecord { listing: Cow::Borrowed(self), v: VERSION };
        serde_json::to_vec(&record).ok().filter(|bytes| bytes.len() <= MAX_VALUE)
    }

    /// Reads what is stored of a server.
    pub(crate) fn load(kernel: &Kernel, tenant: &Tenant, server: &UpstreamName) -> Option<Self> {
        let record = kernel.ledger().read(&key(tenant, server)).ok()??;
        Self::from_bytes(&record.value)
    }

    /// Stores it. A listing that is too large is left out.
    pub(crate) async fn save(
        &self,
        kernel: &Kernel,
        tenant: &Tenant,
        server: &UpstreamName,
    ) -> Result<(), LedgerError> {
        let Some(batch) = self.to_batch(tenant, server) else { return Ok(()) };
        kernel.ledger().commit(batch).await.map(drop)
    }

    /// The write of it; `None` if it is too large.
    pub(crate) fn to_batch(&self, tenant: &Tenant, server: &UpstreamName) -> Option<Batch> {
        let value = self.to_bytes()?;
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(RecordWrite { key: key(tenant, server), value, expires_at: None });
        Some(batch)
    }
}

fn key(tenant: &Tenant, server: &UpstreamName) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Listing, server.as_str())
}

/// The tools in a stored record of [`Namespace::Listing`], each as the capability that it proposed to
/// be.
#[must_use]
pub fn read_stored_tools(server: &UpstreamName, record: &[u8]) -> Vec<Capability> {
    let listing = StoredListing::from_bytes(record).unwrap_or_default();
    let tools = listing.tools.iter().filter_map(|(name, tool)| {
        let definition = tool.to_value();
        let tool_definition = ToolDefinition { name, definition: &definition };
        let instructions = tool.instructions.as_deref();
        tool_proposal::propose_definition(server.as_str(), tool_definition, instructions).ok()
    });
    tools.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_listing_is_read_as_it_was_and_any_other_form_as_nothing() {
        let tool = StoredTool {
            definition: r#"{"name":"a","inputSchema":{"maximum":1e300}}"#.to_owned(),
            instructions: Some("be kind".to_owned()),
        };
        let listing = StoredListing {
            tools: BTreeMap::from([("a".to_owned(), tool)]),
            has_resources: true,
            has_prompts: false,
        };
        let bytes = listing.to_bytes().unwrap();
        assert_eq!(StoredListing::from_bytes(&bytes), Some(listing));
        let newer = String::from_utf8(bytes).unwrap().replace("\"v\":1", "\"v\":2");
        assert_eq!(StoredListing::from_bytes(newer.as_bytes()), None);
        assert_eq!(StoredListing::from_bytes(b"{}"), None);
    }

    #[test]
    fn a_listing_that_is_too_large_is_not_stored() {
        let tool = StoredTool { definition: "x".repeat(MAX_VALUE), instructions: None };
        let tools = BTreeMap::from([("a".to_owned(), tool)]);
        assert_eq!(StoredListing { tools, ..StoredListing::default() }.to_bytes(), None);
    }
}
