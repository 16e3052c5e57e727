//! The baselines of the gateway's ledger: read beside it, written in its place.

use weaver_agent_kernel::{BaselineApproval, Baselines};
use weaver_gateway::config::Config;
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Ledger as _, MAX_PAGE, Namespace};
use weaver_types::{Capability, Clock as _, SystemClock, Tenant};

use crate::{Exit, Failure};

/// What the ledger holds; nothing, where there is none yet.
pub(super) fn read(config: &Config) -> Result<Baselines, Failure> {
    if !config.store.exists() {
        return Ok(Baselines::default());
    }
    let reader = Reader::open(&config.store).map_err(|e| Failure::store(&config.store, &e))?;
    let tenant = Tenant::default();
    Ok(Baselines::read(|after| reader.records(&tenant, Namespace::Baseline, after, MAX_PAGE)))
}

/// Approves these versions; `surface` says that they are all there are of it.
pub(super) fn approve(
    config: &Config,
    tools: &[&Capability],
    surface: Option<&str>,
    by: &str,
) -> Result<(), Failure> {
    #[cfg(unix)]
    let _loan = crate::daemon::borrow(config)?;
    let holder = "weaver contracts".to_owned();
    let options = OpenOptions { holder, ..OpenOptions::default() };
    let ledger = SqliteLedger::open(&config.store, options).map_err(|error| {
        let failure = Failure::store(&config.store, &error);
        match failure.next {
            Some(_) => failure,
            None => failure.next("stop whoever holds the ledger, then approve again"),
        }
    })?;
    let tenant = Tenant::default();
    let known = Baselines::read(|after| ledger.list(&tenant, Namespace::Baseline, after, MAX_PAGE));
    let approval =
        BaselineApproval { tenant: &tenant, surface, by, at: SystemClock::default().now() };
    let batches = known
        .approve(tools, approval)
        .map_err(|error| Failure::new(Exit::Usage, error.code(), error))?;
    for batch in batches {
        ledger.commit(batch).wait().map_err(|error| Failure::store(&config.store, &error))?;
    }
    Ok(())
}
