//! Reads the baselines of the gateway's ledger, and writes new ones while the gateway lends it.

use weaver_agent_kernel::{BaselineApproval, Baselines};
use weaver_gateway::config::Config;
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Ledger as _, MAX_PAGE, Namespace};
use weaver_types::{Capability, Tenant};

use crate::{Exit, Failure, ledger_clock};

/// The baselines in the ledger; none if there is no ledger yet.
pub(super) fn read_baselines(config: &Config) -> Result<Baselines, Failure> {
    if !config.store_path.exists() {
        return Ok(Baselines::default());
    }
    let reader =
        Reader::open(&config.store_path).map_err(|e| Failure::store(&config.store_path, &e))?;
    let tenant = Tenant::default();
    Ok(Baselines::read(|after| reader.records(&tenant, Namespace::Baseline, after, MAX_PAGE)))
}

/// Approves these versions. With `surface`, the tools are all that the surface has.
pub(super) fn approve(
    config: &Config,
    tools: &[&Capability],
    surface: Option<&str>,
    by: &str,
) -> Result<(), Failure> {
    #[cfg(unix)]
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
