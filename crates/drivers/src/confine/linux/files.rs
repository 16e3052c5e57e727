//! The Landlock ruleset of one confinement.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreated, RulesetError, Scope,
};

use super::cover::CoverMethod;
use super::error::ProtectionError;
use super::path_rules::PathRules;
use super::{ConfinementSteps, denied_paths};
use crate::confine::{
    AllowedPaths, ConfineError, Confinement, EnforcementMode, FileAccess, NetworkAccess, Protection,
};

/// The newest Landlock version that was tested. Newer kernels enforce its rules too.
pub(super) const NEWEST_TESTED_ABI: ABI = ABI::V7;

/// What most programs need to read and execute.
const SYSTEM_EXECUTE: [&str; 8] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/// What most programs need to read.
const SYSTEM_READ: [&str; 24] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/timezone",
    "/dev/random",
    "/dev/urandom",
    "/proc",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];
/// What most programs need to read and write.
const SYSTEM_WRITE: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// Restricts files, sockets and signals of this process.
pub(super) fn restrict(
    confinement: &Confinement,
    program: Option<&Path>,
    cover_method: CoverMethod,
    steps: &mut ConfinementSteps,
) -> Result<(), ConfineError> {
    let only_named = matches!(confinement.files, FileAccess::Only(_));
    let offline = confinement.network == NetworkAccess::None;
    let separation =
        Separation { offline, scoped_sockets: confinement.isolated || only_named || offline };
    let mut rules = match create_ruleset(separation) {
        Ok(created) => PathRules::new(
            created,
            denied_paths::with_resolved_links(&confinement.denied),
            cover_method,
        ),
        Err(error) => {
            steps.record(Protection::Files, Err(error.into()));
            return Ok(());
        }
    };
    if let Err(error) = allow(confinement, program, &mut rules) {
        // No path was named that could be wrong: something just cannot be excluded, for example
        // because this process is confined itself and may not list the folders above it.
        if only_named || confinement.enforcement_mode == EnforcementMode::Strict {
            return Err(error);
        }
        steps.record(Protection::Files, Err(error.into()));
        return Ok(());
    }
    match rules.into_inner().restrict_self() {
        Ok(status) => record_status(&status, separation, steps),
        Err(error) => steps.record(Protection::Files, Err(error.into())),
    }
    Ok(())
}

/// What a process is separated from, other than files.
#[derive(Clone, Copy)]
struct Separation {
    /// From the network.
    offline: bool,
    /// From abstract sockets of other processes.
    scoped_sockets: bool,
}

fn create_ruleset(separation: Separation) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST_TESTED_ABI))?;
    if separation.offline {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST_TESTED_ABI))?;
    }
    ruleset = ruleset.scope(Scope::Signal)?;
    if separation.scoped_sockets {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    ruleset.create()
}

fn allow(
    confinement: &Confinement,
    program: Option<&Path>,
    rules: &mut PathRules,
) -> Result<(), ConfineError> {
    let all = AccessFs::from_all(NEWEST_TESTED_ABI);
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = read | AccessFs::Execute;
    let write = all & !BitFlags::from(AccessFs::Execute);
    let FileAccess::Only(only) = &confinement.files else {
        return rules.allow(Path::new("/"), all);
    };
    let AllowedPaths { read: to_read, write: to_write, execute: to_execute, system } = only;
    if *system {
        let files =
            [(&SYSTEM_EXECUTE[..], execute), (&SYSTEM_READ[..], read), (&SYSTEM_WRITE[..], write)];
        for (paths, access) in files {
            for path in paths.iter().map(Path::new).filter(|path| path.exists()) {
                rules.allow(path, access)?;
            }
        }
    }
    let program = program.map(Path::to_path_buf);
    for (paths, access) in [(to_read, read), (to_write, write), (to_execute, execute)] {
        for path in paths {
            rules.allow(path, access)?;
        }
    }
    program.map_or(Ok(()), |program| rules.allow(&program, execute))
}

/// Records what the kernel's Landlock version enforces.
fn record_status(status: &RestrictionStatus, separation: Separation, steps: &mut ConfinementSteps) {
    let LandlockStatus::Available { effective_abi, kernel_abi } = status.landlock else {
        steps.record(Protection::Files, Err(ProtectionError::NoLandlock));
        return;
    };
    let known = effective_abi as u32;
    steps.enforced.landlock = kernel_abi.and_then(|abi| u32::try_from(abi).ok()).unwrap_or(known);
    let since = [
        (1, true, Protection::Files),
        (3, true, Protection::Truncate),
        (4, separation.offline, Protection::Tcp),
        (5, true, Protection::DeviceCommands),
        (6, true, Protection::Signals),
        (6, separation.scoped_sockets, Protection::AbstractSockets),
    ];
    for (version, wanted, protection) in since {
        if wanted && known >= version {
            steps.record(protection, Ok(()));
        }
    }
}
