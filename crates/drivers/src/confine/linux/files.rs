//! The rules of Landlock for one confinement.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreated, RulesetError, Scope,
};

use super::cover::CoverMethod;
use super::error::ProtectionError;
use super::rules::Rules;
use super::{Progress, denied_paths};
use crate::confine::{AllowedFiles, ConfineError, Confinement, Demand, Files, Network, Protection};

/// The newest version whose rules were tried. A newer kernel enforces these.
pub(super) const KNOWN: ABI = ABI::V7;

/// What most programs need to start, to read and execute.
const PROGRAMS: [&str; 8] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/// The same, to read.
const READ: [&str; 24] = [
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
/// The same, to read and write.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// Puts this process under rules for files, sockets and signals.
pub(super) fn restrict(
    confinement: &Confinement,
    program: Option<&Path>,
    covering: CoverMethod,
    progress: &mut Progress,
) -> Result<(), ConfineError> {
    let named = matches!(confinement.files, Files::Only(_));
    let offline = confinement.network == Network::None;
    let separation = Separation { offline, apart: confinement.isolated || named || offline };
    let mut rules = match created(separation) {
        Ok(created) => Rules::new(created, denied_paths::places(&confinement.denied), covering),
        Err(error) => {
            progress.step(Protection::Files, Err(error.into()));
            return Ok(());
        }
    };
    if let Err(error) = allow(confinement, program, &mut rules) {
        // Nothing was named that could be wrong: this place just cannot be left out, for example
        // because we are confined ourselves and may not list the folders above it.
        if named || confinement.demand == Demand::Strict {
            return Err(error);
        }
        progress.step(Protection::Files, Err(error.into()));
        return Ok(());
    }
    match rules.into_inner().restrict_self() {
        Ok(status) => note(&status, separation, progress),
        Err(error) => progress.step(Protection::Files, Err(error.into())),
    }
    Ok(())
}

/// What a process is kept from beside files.
#[derive(Clone, Copy)]
struct Separation {
    /// From the network.
    offline: bool,
    /// From sockets that other processes named.
    apart: bool,
}

fn created(separation: Separation) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?;
    if separation.offline {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    ruleset = ruleset.scope(Scope::Signal)?;
    if separation.apart {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    ruleset.create()
}

fn allow(
    confinement: &Confinement,
    program: Option<&Path>,
    rules: &mut Rules,
) -> Result<(), ConfineError> {
    let all = AccessFs::from_all(KNOWN);
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = read | AccessFs::Execute;
    let write = all & !BitFlags::from(AccessFs::Execute);
    let Files::Only(only) = &confinement.files else {
        return rules.allow(Path::new("/"), all);
    };
    let AllowedFiles { read: to_read, write: to_write, execute: to_execute, system } = only;
    if *system {
        let files = [(&PROGRAMS[..], execute), (&READ[..], read), (&DEVICES[..], write)];
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

/// Notes what the kernel can do of it.
fn note(status: &RestrictionStatus, separation: Separation, progress: &mut Progress) {
    let LandlockStatus::Available { effective_abi, kernel_abi } = status.landlock else {
        progress.step(Protection::Files, Err(ProtectionError::NoLandlock));
        return;
    };
    let known = effective_abi as u32;
    progress.enforced.landlock =
        kernel_abi.and_then(|abi| u32::try_from(abi).ok()).unwrap_or(known);
    let since = [
        (1, true, Protection::Files),
        (3, true, Protection::Truncate),
        (4, separation.offline, Protection::Tcp),
        (5, true, Protection::DeviceCommands),
        (6, true, Protection::Signals),
        (6, separation.apart, Protection::AbstractSockets),
    ];
    for (version, wanted, protection) in since {
        if wanted && known >= version {
            progress.step(protection, Ok(()));
        }
    }
}
