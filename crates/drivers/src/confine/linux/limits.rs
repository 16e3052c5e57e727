//! Limits on resources.

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use super::Progress;
use super::error::ProtectionError;
use crate::confine::{Limits, Protection};

/// Whether the kernel counts no processes for this user: the real root.
pub(super) fn exempt() -> bool {
    // A user namespace that maps all users is the first one, or stands for it.
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole = map.split_whitespace().eq(["0", "0", "4294967295"]);
    getuid().is_root() && (whole || map.is_empty())
}

/// Sets what is to be limited, never higher than it is already.
pub(super) fn set(limits: &Limits, exempt: bool, progress: &mut Progress) {
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
        if exempt && protection == Protection::Processes {
            progress.step(protection, Err(ProtectionError::UncountedProcesses));
            continue;
        }
        let most = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
        let wanted = Rlimit { current: Some(most), maximum: Some(most) };
        progress.step(protection, setrlimit(resource, wanted).map_err(ProtectionError::from));
    }
}
