//! The time of events that a command writes to a ledger.

use std::path::Path;

use weaver_agent_kernel::{KernelError, trusted_time};
use weaver_types::ledger::Ledger;
use weaver_types::{SystemClock, Tenant, Timestamp};

use crate::{Exit, Failure};

/// The current time for a ledger. A clock that a gateway would not trust is refused: the time of
/// the log never falls again, and what is pruned by a wrong clock does not come back.
pub(crate) fn now(store: &Path, ledger: &dyn Ledger) -> Result<Timestamp, Failure> {
    match trusted_time(&Tenant::default(), ledger, &SystemClock::default()) {
        Ok(Some(now)) => Ok(now),
        Ok(None) => {
            let problem = "the clock is over 30 days ahead of the last event of the ledger";
            Err(Failure::new(Exit::Store, "clock_jump", problem).with_next_step(
                "set the clock right; if it is right, start the gateway and confirm it with \
                 `weaver approve clock`",
            ))
        }
        Err(KernelError::Ledger(error)) => Err(Failure::store(store, &error)),
        Err(error) => Err(Failure::new(Exit::Store, error.code(), error)),
    }
}
