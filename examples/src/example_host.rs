//! The host of the examples.

use std::sync::Arc;

use weaver_stack::kernel::{Caller, Kernel, Registry};
use weaver_stack::policy::PolicySet;
use weaver_stack::trace::{MemoryBlobs, MemoryLedger};
use weaver_stack::types::{
    ManualClock, Principal, PrincipalId, Random, RunContext, RunSettings, SeededRandom, Timestamp,
};

use crate::Failure;

/// A kernel on a ledger in memory, with one run of one principal.
pub struct ExampleHost {
    /// The kernel.
    pub kernel: Kernel,
    /// Its ledger.
    pub ledger: Arc<MemoryLedger>,
    /// The principal that calls.
    pub principal: Principal,
    /// The run.
    pub run: RunContext,
}

impl ExampleHost {
    /// Opens the kernel. The clock stands still and the random numbers have a fixed seed, so that an
    /// example prints the same each time. A real host keeps the defaults of both.
    ///
    /// # Errors
    /// If a part cannot be created.
    pub fn open(
        registry: Registry,
        policy: PolicySet,
        who: &str,
        roles: &[&str],
    ) -> Result<Self, Failure> {
        let now = Timestamp::parse_rfc3339("2026-01-05T09:00:00Z").ok_or("no time")?;
        let random: Arc<dyn Random> = Arc::new(SeededRandom::new(1));
        let ledger = Arc::new(MemoryLedger::with_random_id(Arc::clone(&random))?);
        let kernel = Kernel::builder(registry, policy)
            .with_store(ledger.clone(), Arc::new(MemoryBlobs::new([7; 32])))
            .with_clock(Arc::new(ManualClock::new(now)))
            .with_random(random)
            .open()?;
        let run = kernel.start_run(RunSettings::default())?;
        let principal = Principal::new(PrincipalId::parse(who)?).with_roles(roles.iter().copied());
        Ok(Self { kernel, ledger, principal, run })
    }

    /// The caller of every tool: the principal in its run.
    #[must_use]
    pub fn caller(&self) -> Caller<'_> {
        Caller { run: &self.run, principal: &self.principal }
    }
}
