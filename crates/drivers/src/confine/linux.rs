//! Confines this process on Linux, in the order that the steps depend on each other.

mod cover;
mod cover_refresh;
pub(super) mod denied_paths;
mod descriptors;
mod error;
mod files;
mod filter_context;
mod kernel_files;
mod limits;
mod namespace;
mod network;
pub(super) mod open_files;
mod path_rules;
mod privileges;
mod seccomp;
pub(super) mod server_processes;
mod user;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::launch::ConfinedEnvironment;
use super::{
    ConfineError, Confinement, EnforcedConfinement, EnforcementMode, NetworkAccess, Protection,
    SiblingAccess,
};
use cover::CoverMethod;
pub(super) use cover_refresh::help as help_covering;
use error::ProtectionError;
use filter_context::FilterContext;
use user::Account;

/// The result of the steps: what is in force, and why the rest is not.
#[derive(Default)]
struct ConfinementSteps {
    enforced: EnforcedConfinement,
    failures: Vec<(Protection, ProtectionError)>,
}

impl ConfinementSteps {
    /// Records a protection as in force, or why its step failed.
    fn record(&mut self, protection: Protection, outcome: Result<(), ProtectionError>) {
        match outcome {
            Ok(()) => drop(self.enforced.protections.insert(protection)),
            Err(error) => self.failures.push((protection, error)),
        }
    }
}

/// Confines this process, which has one thread and is about to become `program`. Returns what is in
/// force, and the environment variables to override.
pub(super) fn confine(
    confinement: &Confinement,
    program: Option<&Path>,
) -> Result<ConfinedEnvironment, ConfineError> {
    let required = confinement.required_protections();
    let mut steps = ConfinementSteps::default();
    descriptors::close_inherited().map_err(|error| lacking(&required, error.to_string()))?;
    let counting = limits::process_counting();
    let denied = denied_paths::with_resolved_links(&confinement.denied);
    let account = confinement.user.as_deref().map(Account::look_up).transpose();
    let account =
        account.map_err(|error| lacking(&BTreeSet::from([Protection::User]), error.to_string()))?;
    let is_covered = cover_denied(&denied, &mut steps);
    // If siblings need not stay accessible, Landlock rules are the stricter way.
    let cover_method = match confinement.sibling_access {
        SiblingAccess::Open if is_covered => CoverMethod::Mounts,
        SiblingAccess::Open | SiblingAccess::Closed => CoverMethod::None,
    };
    if cover_method == CoverMethod::Mounts {
        steps.record(Protection::Mounts, Ok(()));
    }
    if confinement.network == NetworkAccess::None {
        steps.record(Protection::Network, network::leave());
    }
    steps.record(Protection::NoNewPrivileges, privileges::forbid_new_privileges());
    steps.record(Protection::Capabilities, privileges::drop_capabilities());
    files::restrict(confinement, program, cover_method, &mut steps)?;
    if let Some(account) = &account {
        steps.record(Protection::User, account.switch_to());
    }
    limits::set(&confinement.limits, counting, &mut steps);
    filter_calls(&denied, is_covered, &mut steps);

    let ConfinementSteps { mut enforced, failures } = steps;
    enforced.lacking = required.difference(&enforced.protections).copied().collect();
    if enforced.is_complete() || confinement.enforcement_mode == EnforcementMode::BestEffort {
        let variables = account.iter().flat_map(Account::environment).collect();
        return Ok((enforced, variables));
    }
    let reasons: Vec<String> =
        failures.iter().map(|(protection, error)| format!("{protection}: {error}")).collect();
    let version = format!("landlock version {}", enforced.landlock);
    let reason = if reasons.is_empty() { version } else { reasons.join("; ") };
    Err(lacking(&enforced.lacking, reason))
}

/// Covers the denied paths, and makes kernel files read-only in the same mount namespace. If this
/// fails, Landlock rules and the system call filter must protect them.
fn cover_denied(denied: &BTreeSet<PathBuf>, steps: &mut ConfinementSteps) -> bool {
    if denied.is_empty() {
        return false;
    }
    match cover::cover(denied) {
        Ok(()) => {
            steps.record(Protection::KernelFiles, kernel_files::make_read_only());
            true
        }
        Err(error) => {
            steps.record(Protection::Mounts, Err(error));
            false
        }
    }
}

/// The last step, because the filter blocks calls that earlier steps need.
fn filter_calls(denied: &BTreeSet<PathBuf>, is_covered: bool, steps: &mut ConfinementSteps) {
    let process = rustix::process::getpid();
    let landlock_limits_tracing = steps.enforced.protections.contains(&Protection::Files);
    let context = FilterContext {
        process_id: process.as_raw_nonzero().get().unsigned_abs(),
        leads_process_group: leads_process_group(process),
        landlock_limits_tracing,
        state_is_protected: denied.is_empty() || is_covered || !owns_any(denied),
    };
    let outcome = adopt_orphans(process).and_then(|()| seccomp::restrict(context));
    if context.state_is_protected || outcome.is_ok() {
        steps.record(Protection::Metadata, Ok(()));
    }
    steps.record(Protection::SystemCalls, outcome);
}

/// Makes this process, and so the program that it becomes, the parent of its descendants whose own
/// parents have ended. Otherwise nothing would tell any more whose they are. The filter keeps it so.
fn adopt_orphans(process: rustix::process::Pid) -> Result<(), ProtectionError> {
    Ok(rustix::process::set_child_subreaper(Some(process))?)
}

/// Whether a process leads its own process group. Read from the file system, because the group has no
/// number in a PID namespace that its leader is outside of, for which rustix has no value.
fn leads_process_group(process: rustix::process::Pid) -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, which may contain anything, is in the last parentheses.
    let group = stat.rsplit(')').next().and_then(|fields| fields.split_whitespace().nth(2));
    group == Some(process.as_raw_nonzero().to_string().as_str())
}

/// Whether this user may change modes and owners of denied paths.
fn owns_any(denied: &BTreeSet<PathBuf>) -> bool {
    let user = rustix::process::geteuid();
    let own = |path: &PathBuf| {
        // A path that cannot be examined cannot be changed either; a missing one may be created
        // later.
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
