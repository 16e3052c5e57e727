//! Resource limits.

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use super::ConfinementSteps;
use super::error::ProtectionError;
use crate::confine::{Protection, ResourceLimits};

/// Whether the kernel counts the processes of this user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessCounting {
    Counted,
    /// It does not for root in the initial user namespace.
    Uncounted,
}

/// Determines whether the processes of this user are counted.
pub(super) fn process_counting() -> ProcessCounting {
    // A user namespace that maps all users is the initial one or equivalent to it.
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let maps_all_users = map.split_whitespace().eq(["0", "0", "4294967295"]);
    let is_exempt = getuid().is_root() && (maps_all_users || map.is_empty());
    if is_exempt { ProcessCounting::Uncounted } else { ProcessCounting::Counted }
}

/// Sets the limits, never above the existing ones.
pub(super) fn set(
    limits: &ResourceLimits,
    counting: ProcessCounting,
    steps: &mut ConfinementSteps,
) {
    let all = [
        (Protection::CpuTime, Resource::Cpu, limits.cpu_seconds),
        (Protection::OpenFiles, Resource::Nofile, limits.open_files),
        (Protection::Processes, Resource::Nproc, limits.processes),
        (Protection::FileSize, Resource::Fsize, limits.file_size),
        // Last, because this process needs memory too.
        (Protection::AddressSpace, Resource::As, limits.address_space),
    ];
    for (protection, resource, limit) in all {
        let Some(limit) = limit else { continue };
        if counting == ProcessCounting::Uncounted && protection == Protection::Processes {
            steps.record(protection, Err(ProtectionError::UncountedProcesses));
            continue;
        }
        let maximum = getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
        let wanted = Rlimit { current: Some(maximum), maximum: Some(maximum) };
        steps.record(protection, setrlimit(resource, wanted).map_err(ProtectionError::from));
    }
}
