//! A kernel in memory with one tool that gives rows: five of three fields, or those of the caller.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Call, Caller, FnDriver, Grant, Invocation, Kernel, KernelParts, KeyRing, Ports, Registry,
    Settings, ThreadTimer, Token, block_on,
};
use weaver_firewall::HandleQuery;
use weaver_policy::{Contracts, Policy, PolicySet};
use weaver_trace_store::{MemoryBlobs, MemoryLedger};
use weaver_types::ledger::Ledger;
use weaver_types::{
    CapabilityId, CapabilityRequest, Clock, Effects, HandleId, LogId, OsRandom, Principal,
    PrincipalId, RawResult, ResponseMode, RunBudget, RunContext, RunSettings, SystemClock,
    ToolSpec,
};

use crate::Failure;

/// A kernel, a run and a request.
pub struct Desk {
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
        let ledger = MemoryLedger::new(LogId::random(&OsRandom)?, Arc::new(OsRandom));
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
        let driver = FnDriver::inline(move |_| Ok(RawResult::json(rows.clone())));
        registry.register(spec.build()?, Arc::new(driver))?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let policy = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
        let kernel = Kernel::open(KernelParts {
            registry: Arc::new(registry),
            policy: Arc::new(policy),
            ledger,
            blobs: Arc::new(MemoryBlobs::new([7; 32])),
            clock: Arc::clone(&clock),
            random: Arc::new(OsRandom),
            timer: Arc::new(ThreadTimer),
            keys: KeyRing::fresh(&OsRandom)?,
            settings: Settings::default(),
            ports: Ports::default(),
        })?;
        let settings = RunSettings { budget: RunBudget::unlimited(), ..RunSettings::default() };
        Ok(Self {
            kernel,
            run: RunContext::create(settings, clock.as_ref(), &OsRandom)?,
            principal: Principal::new(PrincipalId::parse("ana")?).with_roles(["reader"]),
            request: CapabilityRequest::new(CapabilityId::parse("people.list")?, "who is there?"),
            arguments: json!({ "team": "north" }),
        })
    }

    fn caller(&self) -> Caller<'_> {
        Caller { run: &self.run, principal: &self.principal }
    }

    /// Decides and mints a token.
    #[must_use]
    pub fn grant(&self) -> Grant {
        let mode = ResponseMode::Summary;
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
        let call = Call { request: &self.request, arguments: Some(&self.arguments), mode };
        let token = block_on(self.kernel.grant(self.caller(), call)).token?;
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
