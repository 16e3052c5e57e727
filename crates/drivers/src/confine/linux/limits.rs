//! Limits on resources.

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use super::Progress;
use super::error::ProtectionError;
use crate::confine::{Limits, Protection};

/// Whether the kernel counts the processes of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessCounting {
    Counted,
    /// For the real root they are not.
    Uncounted,
}

/// How the kernel treats this user.
pub(super) fn process_counting() -> ProcessCounting {
    // A user namespace that maps all users is the first one, or stands for it.
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole = map.split_whitespace().eq(["0", "0", "4294967295"]);
    let is_exempt = getuid().is_root() && (whole || map.is_empty());
    if is_exempt { ProcessCounting::Uncounted } else { ProcessCounting::Counted }
}

/// Sets what is to be limited, never higher than it is already.
pub(super) fn set(limits: &Limits, counting: ProcessCounting, progress: &mut Progress) {
    let all = [
        (Protection::CpuTime, Resource::Cpu, limits.cpu_seconds),
        (Protection::OpenFiles, Resource::Nofile, limits.open_files),
        (Protection::Processes, Resource::Nproc, limits.processes),
        (Protection::FileSize, Resource::Fsize, limits.file_size),
        // The last, because this process has a need of memory too.
        (Protection::AddressSpace, Resource::As, limits.address_space),
    ];
    for (protection, resource, limit) in all {
        let Some(limit) = limit else { continue };
        if counting == ProcessCounting::Uncounted && protection == Protection::Processes {
            progress.step(protection, Err(ProtectionError::UncountedProcesses));
            continue;
        }
        let most = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
        let wanted = Rlimit { current: Some(most), maximum: Some(most) };
        progress.step(protection, setrlimit(resource, wanted).map_err(ProtectionError::from));
    }
}
