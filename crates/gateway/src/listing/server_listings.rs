//! Stores what the servers of a new gateway listed.

use weaver_policy::PolicySet;
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::UpstreamName;
use weaver_types::ledger::{Ledger as _, LedgerError};

use super::ListedFeature;
use crate::config::Config;
use crate::serve::{FeatureKind, StoredListing, StoredTool};

/// What servers listed while they were set up. Stored in the ledger, it lets the gateway name their
/// tools before they are up, from its first start on.
#[derive(Debug)]
pub struct ServerListings(Vec<(UpstreamName, StoredListing)>);

impl ServerListings {
    /// The listings of servers that answered.
    #[must_use]
    pub fn new<'l>(
        listed: impl IntoIterator<Item = (&'l UpstreamName, &'l [ListedFeature])>,
    ) -> Self {
        let listed = listed.into_iter();
        Self(listed.map(|(name, features)| (name.clone(), stored_listing(features))).collect())
    }

    /// Stores them in the gateway's ledger, which is made where there is none. The gateway must not
    /// run.
    ///
    /// # Errors
    /// [`LedgerError`]; [`LedgerError::Locked`] while a gateway runs, which lists its servers itself.
    pub fn save(&self, config: &Config, policy: &PolicySet) -> Result<(), LedgerError> {
        let Some(principal) = policy.principal(&config.principal) else { return Ok(()) };
        let holder = format!("the setup of {}", config.file.display());
        let options = OpenOptions { holder, ..OpenOptions::default() };
        let ledger = SqliteLedger::open(&config.store_path, options)?;
        for (server, listing) in &self.0 {
            if let Some(batch) = listing.to_batch(&principal.tenant, server) {
                ledger.commit(batch).wait()?;
            }
        }
        Ok(())
    }
}

fn stored_listing(features: &[ListedFeature]) -> StoredListing {
    let has = |kind: FeatureKind| features.iter().any(|one| one.kind == kind);
    let tools = features.iter().filter(|one| one.kind == FeatureKind::Tool);
    let tools = tools.filter_map(|tool| {
        let name = tool.definition.get("name")?.as_str()?.to_owned();
        let instructions = tool.instructions.as_deref().map(str::to_owned);
        Some((name, StoredTool { definition: tool.definition.to_string(), instructions }))
    });
    StoredListing {
        has_prompts: has(FeatureKind::Prompt),
        has_resources: has(FeatureKind::ResourceReading),
        tools: tools.collect(),
    }
}
