//! Taking rights away from this process, step by step, in the order that the steps need.

mod cover;
mod denied_paths;
mod descriptors;
mod error;
mod files;
mod filter_context;
mod kernel_files;
mod limits;
mod namespace;
mod network;
mod privileges;
mod rules;
mod seccomp;
mod user;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::launch::ConfinedEnvironment;
use super::{
    ConfineError, Confinement, Demand, EnforcedConfinement, Neighbours, Network, Protection,
};
use cover::CoverMethod;
use error::ProtectionError;
use filter_context::FilterContext;
use user::Account;

/// What came of the steps: what is in force, and why the rest is not.
#[derive(Default)]
struct Progress {
    enforced: EnforcedConfinement,
    failures: Vec<(Protection, ProtectionError)>,
}

impl Progress {
    /// Notes a protection as in force, unless its step failed.
    fn step(&mut self, protection: Protection, outcome: Result<(), ProtectionError>) {
        match outcome {
            Ok(()) => drop(self.enforced.protections.insert(protection)),
            Err(error) => self.failures.push((protection, error)),
        }
    }
}

/// Confines this process, which has one thread and is about to become `program`. Says what is in
/// force, and which variables the program gets in place of those that are set.
pub(super) fn confine(
    confinement: &Confinement,
    program: Option<&Path>,
) -> Result<ConfinedEnvironment, ConfineError> {
    let asked = confinement.asked();
    let mut progress = Progress::default();
    descriptors::close().map_err(|error| lacking(&asked, error.to_string()))?;
    let counting = limits::process_counting();
    let denied = denied_paths::places(&confinement.denied);
    let account = confinement.user.as_deref().map(Account::find).transpose();
    let account =
        account.map_err(|error| lacking(&BTreeSet::from([Protection::User]), error.to_string()))?;
    let covered = cover(&denied, &mut progress);
    // Without neighbours to context, the rules for files are the narrower way.
    let covering = match confinement.neighbours {
        Neighbours::Open if covered => CoverMethod::Mounts,
        Neighbours::Open | Neighbours::Closed => CoverMethod::None,
    };
    if covering == CoverMethod::Mounts {
        progress.step(Protection::Mounts, Ok(()));
    }
    if confinement.network == Network::None {
        progress.step(Protection::Network, network::leave());
    }
    progress.step(Protection::NoNewPrivileges, privileges::forbid_new_privileges());
    progress.step(Protection::Capabilities, privileges::drop_capabilities());
    files::restrict(confinement, program, covering, &mut progress)?;
    if let Some(account) = &account {
        progress.step(Protection::User, account.assume());
    }
    limits::set(&confinement.limits, counting, &mut progress);
    filter_calls(&denied, covered, &mut progress);

    let Progress { mut enforced, failures } = progress;
    enforced.lacking = asked.difference(&enforced.protections).copied().collect();
    if enforced.is_whole() || confinement.demand == Demand::BestEffort {
        let variables = account.iter().flat_map(Account::variables).collect();
        return Ok((enforced, variables));
    }
    let reasons: Vec<String> =
        failures.iter().map(|(protection, error)| format!("{protection}: {error}")).collect();
    let version = format!("landlock version {}", enforced.landlock);
    let reason = if reasons.is_empty() { version } else { reasons.join("; ") };
    Err(lacking(&enforced.lacking, reason))
}

/// Covers what is denied, and closes files of the kernel in the same namespace of mounts. Where it
/// cannot be done, rules for files and the filter for system calls have to do.
fn cover(denied: &BTreeSet<PathBuf>, progress: &mut Progress) -> bool {
    if denied.is_empty() {
        return false;
    }
    match cover::cover(denied) {
        Ok(()) => {
            progress.step(Protection::KernelFiles, kernel_files::close());
            true
        }
        Err(error) => {
            progress.step(Protection::Mounts, Err(error));
            false
        }
    }
}

/// The last step, for it refuses some of what the others do.
fn filter_calls(denied: &BTreeSet<PathBuf>, covered: bool, progress: &mut Progress) {
    let process = rustix::process::getpid();
    let traced_by_rules = progress.enforced.protections.contains(&Protection::Files);
    let context = FilterContext {
        process: process.as_raw_nonzero().get().unsigned_abs(),
        own_group: rustix::process::getpgrp() == process,
        traced_by_rules,
        state_covered: denied.is_empty() || covered || !owns_any(denied),
    };
    let outcome = seccomp::restrict(context);
    if context.state_covered || outcome.is_ok() {
        progress.step(Protection::Metadata, Ok(()));
    }
    progress.step(Protection::SystemCalls, outcome);
}

/// Whether this user may change modes and owners of what is denied.
fn owns_any(denied: &BTreeSet<PathBuf>) -> bool {
    let user = rustix::process::geteuid();
    let own = |path: &PathBuf| {
        // What cannot be looked at cannot be changed either; what is not there may come.
        path.symlink_metadata().map_or_else(
            |error| error.kind() == std::io::ErrorKind::NotFound,
            |about| about.uid() == user.as_raw(),
        )
    };
    user.is_root() || denied.iter().any(own)
}

fn lacking(which: &BTreeSet<Protection>, reason: String) -> ConfineError {
    ConfineError::Lacking { lacking: which.clone(), reason }
}
