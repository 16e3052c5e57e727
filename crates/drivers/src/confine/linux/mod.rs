//! Taking rights away from this process, step by step, in the order that the steps need.

mod cover;
mod denied;
mod descriptors;
mod files;
mod limits;
mod namespace;
mod network;
mod privileges;
mod rules;

use std::collections::BTreeSet;
use std::path::Path;

use super::{ConfineError, Confinement, Demand, Enforced, Neighbours, Network, Protection};
use cover::Covering;

/// What came of one step: what is in force, or why it is not.
struct Progress {
    enforced: Enforced,
    reasons: Vec<String>,
}

impl Progress {
    /// Notes a protection as in force, unless its step failed.
    fn step(&mut self, protection: Protection, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => drop(self.enforced.protections.insert(protection)),
            Err(reason) => self.reasons.push(format!("{protection}: {reason}")),
        }
    }
}

/// Confines this process, which has one thread and is about to become `program`.
pub(super) fn confine(
    confinement: &Confinement,
    program: Option<&Path>,
) -> Result<Enforced, ConfineError> {
    let asked = confinement.asked();
    let mut progress = Progress { enforced: Enforced::default(), reasons: Vec::new() };
    descriptors::close().map_err(|reason| lacking(&asked, reason))?;
    let exempt = limits::exempt();
    let covering = cover(confinement, &mut progress);
    if confinement.network == Network::None {
        progress.step(Protection::Network, network::leave());
    }
    progress.step(Protection::NoNewPrivileges, privileges::seal());
    progress.step(Protection::Capabilities, privileges::trim());
    files::restrict(confinement, program, covering, &mut progress)?;
    limits::set(&confinement.limits, exempt, &mut progress);

    let Progress { mut enforced, reasons } = progress;
    enforced.lacking = asked.difference(&enforced.protections).copied().collect();
    if enforced.is_whole() || confinement.demand == Demand::BestEffort {
        return Ok(enforced);
    }
    let version = format!("landlock version {}", enforced.landlock);
    let reason = if reasons.is_empty() { version } else { reasons.join("; ") };
    Err(lacking(&enforced.lacking, reason))
}

/// Covers what is denied, where that is wanted. Where it cannot be done, the rules for files leave
/// the denied paths out, and what is made beside them is out of reach.
fn cover(confinement: &Confinement, progress: &mut Progress) -> Covering {
    let denied = denied::places(&confinement.denied);
    if confinement.neighbours == Neighbours::Closed || denied.is_empty() {
        return Covering::None;
    }
    let outcome = cover::cover(&denied);
    let covering = if outcome.is_ok() { Covering::Mounts } else { Covering::None };
    progress.step(Protection::Mounts, outcome);
    covering
}

fn lacking(which: &BTreeSet<Protection>, reason: String) -> ConfineError {
    ConfineError::Lacking { lacking: which.clone(), reason }
}
