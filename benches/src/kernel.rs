//! A kernel in memory with one tool that gives rows: five of three fields, or those of the caller.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Call, Caller, FnDriver, Grant, Invocation, Kernel, KeyRing, Registry, Token, block_on,
};
use weaver_firewall::HandleQuery;
use weaver_policy::{Contracts, Policy, PolicySet};
use weaver_trace_store::{MemoryBlobs, MemoryLedger};
use weaver_types::ledger::Ledger;
use weaver_types::{
    BufferedRandom, CapabilityId, CapabilityRequest, Clock, Effects, HandleId, LogId, OsRandom,
    Principal, PrincipalId, Random, RawResult, ResponseMode, RunBudget, RunContext, RunSettings,
    SystemClock, Timestamp, ToolSpec,
};

use crate::Failure;

/// The time, which goes on by two seconds with each call, so that the limits of the baseline
/// count about thirty calls and stop none.
#[derive(Debug, Default)]
struct SteppingClock {
    real: SystemClock,
    calls: AtomicU64,
}

impl SteppingClock {
    fn ahead(&self) -> Duration {
        Duration::from_secs(2 * self.calls.load(Ordering::Relaxed))
    }
}

impl Clock for SteppingClock {
    fn now(&self) -> Timestamp {
        self.real.now().after(self.ahead())
    }

    fn monotonic(&self) -> Duration {
        self.real.monotonic() + self.ahead()
    }
}

/// What the tool gives. Results can be laid out before a measurement, so that the time of making
/// them is no part of it: the tool of the peer hands out one object again and again.
struct Rows {
    each: Value,
    laid_out: Mutex<Vec<Value>>,
}

impl Rows {
    fn laid_out(&self) -> std::sync::MutexGuard<'_, Vec<Value>> {
        self.laid_out.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn take(&self) -> Value {
        let next = self.laid_out().pop();
        next.unwrap_or_else(|| self.each.clone())
    }
}

/// A kernel, a run and a request.
pub struct Desk {
    clock: Arc<SteppingClock>,
    rows: Arc<Rows>,
    kernel: Kernel,
    run: RunContext,
    principal: Principal,
    request: CapabilityRequest,
    arguments: Value,
}

/// Five rows of three fields.
#[must_use]
pub fn few() -> Value {
    (0..5).map(|n| json!({ "id": n, "name": format!("Person {n}"), "team": "north" })).collect()
}

impl Desk {
    /// A fresh one, with an empty ledger and a run without caps.
    ///
    /// # Errors
    /// When a part cannot be made.
    pub fn new() -> Result<Self, Failure> {
        Self::with_rows(few())
    }

    /// The same, whose tool gives these rows.
    ///
    /// # Errors
    /// When a part cannot be made.
    pub fn with_rows(rows: Value) -> Result<Self, Failure> {
        let random = Arc::new(BufferedRandom::new(OsRandom));
        let ledger = MemoryLedger::new(LogId::random(&OsRandom)?, random);
        Self::on(Arc::new(ledger), rows)
    }

    /// The same on a ledger of the caller's.
    ///
    /// # Errors
    /// When a part cannot be made.
    pub fn on(ledger: Arc<dyn Ledger>, rows: Value) -> Result<Self, Failure> {
        let registry = Registry::new();
        let spec = ToolSpec::new("people.list", "List people")
            .with_effects(Effects::READ_LOCAL)
            .arg("team", "string", true);
        let rows = Arc::new(Rows { each: rows, laid_out: Mutex::default() });
        let given = Arc::clone(&rows);
        let driver = FnDriver::inline(move |_| Ok(RawResult::json(given.take())));
        registry.register(spec.build()?, Arc::new(driver))?;
        let clock = Arc::new(SteppingClock::default());
        let random: Arc<dyn Random> = Arc::new(BufferedRandom::new(OsRandom));
        let policy = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
        let kernel = Kernel::builder(registry, policy)
            .with_store(ledger, Arc::new(MemoryBlobs::new([7; 32])))
            .with_clock(Arc::clone(&clock) as Arc<dyn Clock>)
            .with_random(random)
            .open()?;
        let settings = RunSettings { budget: RunBudget::unlimited(), ..RunSettings::default() };
        Ok(Self {
            kernel,
            run: RunContext::create(settings, clock.as_ref(), &OsRandom)?,
            clock,
            rows,
            principal: Principal::new(PrincipalId::parse("ana")?).with_roles(["reader"]),
            request: CapabilityRequest::new(CapabilityId::parse("people.list")?, "who is there?"),
            arguments: json!({ "team": "north" }),
        })
    }

    /// Prepares the results of the given number of calls.
    pub fn lay_out(&self, calls: usize) {
        self.rows.laid_out().resize(calls, self.rows.each.clone());
    }

    fn caller(&self) -> Caller<'_> {
        Caller { run: &self.run, principal: &self.principal }
    }

    /// Decides and mints a token.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.granted(ResponseMode::Summary)
    }

    fn granted(&self, mode: ResponseMode) -> Grant {
        self.clock.calls.fetch_add(1, Ordering::Relaxed);
        let call = Call { request: &self.request, arguments: Some(&self.arguments), mode };
        block_on(self.kernel.grant(self.caller(), call))
    }

    /// Grants and invokes; `None` when the grant was refused.
    #[must_use]
    pub fn grant_and_invoke(&self) -> Option<Invocation> {
        self.invoke(ResponseMode::Summary)
    }

    /// The same, in this mode.
    #[must_use]
    pub fn invoke(&self, mode: ResponseMode) -> Option<Invocation> {
        let token = self.granted(mode).token?;
        Some(block_on(self.kernel.invoke(self.caller(), &token, &self.arguments, mode)))
    }

    /// Invokes what was granted.
    #[must_use]
    pub fn use_up(&self, token: &Token) -> Invocation {
        block_on(self.kernel.invoke(self.caller(), token, &self.arguments, ResponseMode::Summary))
    }

    /// The keys of its tokens.
    #[must_use]
    pub fn keys(&self) -> Arc<KeyRing> {
        self.kernel.keys()
    }

    /// Asks for a part of a stored result.
    #[must_use]
    pub fn expand(&self, handle: &HandleId, query: &HandleQuery) -> Invocation {
        block_on(self.kernel.expand(self.caller(), handle, query))
    }
}

#[cfg(test)]
mod tests {
    use super::Desk;

    #[test]
    fn the_call_succeeds_and_gives_facts() {
        let done = Desk::new().unwrap().grant_and_invoke().unwrap();
        let frame = done.result.and_then(|result| result.data).unwrap();
        assert!(!frame.facts.is_empty() && frame.handle.is_some());
    }
}
