//! The stable codes of errors, and what they say.

use std::time::Duration;

use weaver_agent_kernel::{
    ApprovalResolverError, AttenuationError, DriverError, KernelError, KeyRingError, PlanError,
    PreconditionError, RegistryError, RunFault,
};
use weaver_types::ledger::LedgerError;
use weaver_types::{AgentId, CapabilityId, Digest, RandomError};

#[test]
fn every_error_of_the_registry_has_its_code() {
    let id = || CapabilityId::parse("a.b").unwrap();
    let prefix = || "a".to_owned();
    for (error, code) in [
        (RegistryError::Duplicate { id: id() }, "registry.duplicate"),
        (RegistryError::Confusable { id: id(), other: id() }, "registry.confusable"),
        (RegistryError::InvalidNamespace { namespace: prefix() }, "registry.prefix"),
        (RegistryError::NamespaceTaken { namespace: prefix() }, "registry.namespace_taken"),
        (RegistryError::UnknownNamespace { namespace: prefix() }, "registry.unknown_namespace"),
        (
            RegistryError::LoaderFailed { namespace: prefix(), problem: String::new() },
            "registry.namespace",
        ),
        (RegistryError::OutsidePrefix { id: id(), prefix: prefix() }, "registry.misplaced"),
        (
            RegistryError::Schema { id: id(), which: "input", problem: String::new() },
            "registry.schema",
        ),
        (RegistryError::Unknown { id: id() }, "registry.unknown"),
        (
            RegistryError::VersionChanged { id: id(), live: Digest::from_bytes([1; 32]) },
            "registry.moved",
        ),
        (RegistryError::TooManyRemoved { namespace: prefix(), limit: 1 }, "registry.restless"),
        (RegistryError::Full { limit: 1 }, "registry.full"),
        (RegistryError::Poisoned, "registry.poisoned"),
    ] {
        assert_eq!(error.code(), code);
        assert!(error.to_string().len() > 10, "{error}");
    }
}

#[test]
fn every_error_of_a_driver_says_whether_it_may_have_acted_and_whether_to_try_again() {
    let said = || "why".to_owned();
    let pause = Some(Duration::from_secs(3));
    for (error, code, transient, ambiguous, wait) in [
        (DriverError::NotFound(said()), "driver.not_found", false, false, None),
        (DriverError::Invalid(said()), "driver.invalid", false, false, None),
        (DriverError::Timeout(Duration::from_millis(7)), "driver.timeout", true, true, None),
        (DriverError::Network(said()), "driver.network", true, true, None),
        (
            DriverError::RateLimited { said: said(), wait: pause },
            "driver.rate_limited",
            true,
            false,
            pause,
        ),
        (DriverError::Unavailable(said()), "driver.unavailable", true, false, None),
        (DriverError::Lost(said()), "driver.lost", true, true, None),
        (DriverError::Unreadable(said()), "driver.unreadable", false, true, None),
        (DriverError::Failed(said()), "driver.failed", false, false, None),
    ] {
        assert_eq!(error.code(), code);
        assert_eq!((error.is_transient(), error.is_ambiguous()), (transient, ambiguous), "{code}");
        assert_eq!(error.retry_after(), wait, "{code}");
    }
    let late = DriverError::Timeout(Duration::from_millis(7));
    assert_eq!(late.to_string(), "timed out after 7 ms");
}

#[test]
fn every_other_error_has_its_code() {
    let said = || "why".to_owned();
    for (found, code) in [
        (KernelError::from(LedgerError::Closed).code(), LedgerError::Closed.code()),
        (KernelError::from(RandomError).code(), "random.failed"),
        (KernelError::StoredRecord { what: "a run", problem: said() }.code(), "kernel.stored"),
        (
            KernelError::UnprovenRun { fault: RunFault::Pruned, problem: said() }.code(),
            "kernel.stored",
        ),
        (AttenuationError::Malformed.code(), "token.malformed"),
        (AttenuationError::Depth { limit: 8 }.code(), "token.depth"),
        (AttenuationError::TooLarge { limit: 8 }.code(), "token.too_large"),
        (AttenuationError::Arguments(said()).code(), "token.arguments"),
        (KeyRingError::Malformed { problem: said() }.code(), "token_keys.malformed"),
        (KeyRingError::Newer { found: 2, known: 1 }.code(), "token_keys.newer"),
        (PlanError::NoWay(said()).code(), "plan.no_way"),
        (PlanError::Failed(said()).code(), "plan.failed"),
        (PlanError::TooLong { steps: 2, limit: 1 }.code(), "plan.too_long"),
        (
            PlanError::MissingPack { agent: AgentId::parse("a").unwrap(), pack: said() }.code(),
            "plan.missing_pack",
        ),
        (ApprovalResolverError(said()).code(), "approval.resolver"),
        (PreconditionError::Argument { pointer: said() }.code(), "precondition.argument"),
        (
            PreconditionError::Unreadable { what: said(), problem: said() }.code(),
            "precondition.unreadable",
        ),
        (PreconditionError::TooLarge { what: said(), limit: 1 }.code(), "precondition.too_large"),
        (PreconditionError::Unsupported { check: "x" }.code(), "precondition.unsupported"),
    ] {
        assert_eq!(found, code);
    }
}
