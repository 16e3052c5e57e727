//! Reads the baselines of the gateway's ledger, and writes new ones while the gateway lends it.

use std::collections::BTreeMap;

use weaver_agent_kernel::{BaselineApproval, Baselines};
use weaver_gateway::config::Config;
use weaver_gateway::serve;
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Ledger as _, LedgerError, MAX_PAGE, Namespace, RecordKey};
use weaver_types::{Capability, CapabilityId, Digest, Tenant};

use crate::{Exit, Failure, ledger_clock};

/// What the ledger has of approved tools.
#[derive(Default)]
pub(super) struct ApprovedVersions {
    /// The versions that were approved in the ledger.
    pub(super) baselines: Baselines,
    /// The versions that the gateway saw with the digests of signed contracts.
    listed: BTreeMap<CapabilityId, Capability>,
}

impl ApprovedVersions {
    /// The version of a tool with this digest, if the ledger has it.
    pub(super) fn with_digest(&self, id: &CapabilityId, digest: Digest) -> Option<&Capability> {
        let baseline = self.baselines.get(id).and_then(|baseline| baseline.contract.as_deref());
        let versions = baseline.into_iter().chain(self.listed.get(id));
        versions.into_iter().find(|version| version.spec().upstream_digest == Some(digest))
    }
}

/// What the ledger has of approved tools; nothing if there is no ledger yet.
pub(super) fn read_approved(config: &Config) -> Result<ApprovedVersions, Failure> {
    if !config.store_path.exists() {
        return Ok(ApprovedVersions::default());
    }
    let failure = |error: LedgerError| Failure::store(&config.store_path, &error);
    let reader = Reader::open(&config.store_path).map_err(failure)?;
    let tenant = Tenant::default();
    let baselines =
        Baselines::read(|after| reader.records(&tenant, Namespace::Baseline, after, MAX_PAGE));
    let mut listed = BTreeMap::new();
    for server in &config.upstreams {
        let key = RecordKey::new(tenant.clone(), Namespace::Listing, server.name.as_str());
        let record = reader.record(&key).map_err(failure)?;
        let tools = record.map(|record| serve::read_stored_tools(&server.name, &record.value));
        let tools = tools.unwrap_or_default().into_iter();
        listed.extend(tools.map(|tool| (tool.id().clone(), tool)));
    }
    Ok(ApprovedVersions { baselines, listed })
}

/// Approves these versions. With `surface`, the tools are all that the surface has.
pub(super) fn approve(
    config: &Config,
    tools: &[&Capability],
    surface: Option<&str>,
    by: &str,
) -> Result<(), Failure> {
    let _loan = crate::daemon::borrow_store(config)?;
    let holder = "weaver contracts".to_owned();
    let options = OpenOptions { holder, ..OpenOptions::default() };
    let ledger = SqliteLedger::open(&config.store_path, options).map_err(|error| {
        let failure = Failure::store(&config.store_path, &error);
        match failure.next {
            Some(_) => failure,
            None => failure.with_next_step("stop whoever holds the ledger, then approve again"),
        }
    })?;
    let tenant = Tenant::default();
    let baselines =
        Baselines::read(|after| ledger.list(&tenant, Namespace::Baseline, after, MAX_PAGE));
    let approval = BaselineApproval {
        tenant: &tenant,
        tool_surface: surface,
        by,
        at: ledger_clock::now(&config.store_path, &ledger)?,
    };
    let batches = baselines
        .approval_batches(tools, approval)
        .map_err(|error| Failure::new(Exit::Usage, error.code(), error))?;
    for batch in batches {
        ledger.commit(batch).wait().map_err(|error| Failure::store(&config.store_path, &error))?;
    }
    Ok(())
}
