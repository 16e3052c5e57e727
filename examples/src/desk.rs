//! A host with a kernel.

use std::sync::Arc;

use weaver_stack::kernel::{Caller, Kernel, Registry};
use weaver_stack::policy::PolicySet;
use weaver_stack::trace::{MemoryBlobs, MemoryLedger};
use weaver_stack::types::{
    ManualClock, Principal, PrincipalId, Random, RunContext, RunSettings, SeededRandom, Timestamp,
};

use crate::Failure;

/// A kernel on a ledger in memory, with one run of one principal.
pub struct Desk {
    /// The kernel.
    pub kernel: Kernel,
    /// Its ledger.
    pub ledger: Arc<MemoryLedger>,
    /// Who calls.
    pub principal: Principal,
    /// The run.
    pub run: RunContext,
}

impl Desk {
    /// Opens the kernel. The clock stands still and the randomness is a fixed stream, so that an
    /// example prints the same each time. A real host leaves both as they are by default.
    ///
    /// # Errors
    /// When a part cannot be made.
    pub fn open(
        registry: Registry,
        policy: PolicySet,
        who: &str,
        roles: &[&str],
    ) -> Result<Self, Failure> {
        let now = Timestamp::parse_rfc3339("2026-01-05T09:00:00Z").ok_or("no time")?;
        let random: Arc<dyn Random> = Arc::new(SeededRandom::new(1));
        let ledger = Arc::new(MemoryLedger::fresh(Arc::clone(&random))?);
        let kernel = Kernel::builder(registry, policy)
            .with_store(ledger.clone(), Arc::new(MemoryBlobs::new([7; 32])))
            .with_clock(Arc::new(ManualClock::new(now)))
            .with_random(random)
            .open()?;
        let run = kernel.start_run(RunSettings::default())?;
        let principal = Principal::new(PrincipalId::parse(who)?).with_roles(roles.iter().copied());
        Ok(Self { kernel, ledger, principal, run })
    }

    /// Who calls, and in which run.
    #[must_use]
    pub fn caller(&self) -> Caller<'_> {
        Caller { run: &self.run, principal: &self.principal }
    }
}
