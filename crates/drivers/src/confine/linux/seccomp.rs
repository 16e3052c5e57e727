//! Blocks system calls that Landlock does not cover and with which a process could affect other
//! processes of its user, mounts, or the kernel.
//!
//! This is a deny list, like the default profiles of container engines: calls that are not listed
//! keep working. A process may still act on itself, recognised by its arguments: process 0, or its
//! own id. Threads and children count as other processes, because a filter cannot know to whom an
//! id belongs.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Compare,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use super::error::ProtectionError;
use super::filter_context::FilterContext;

/// Blocked regardless of the arguments.
const REFUSED: [libc::c_long; 40] = [
    // Mounts, so that the covers stay in place. Landlock blocks most of them too.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_setns,
    // Opening a file by handle bypasses the mounts.
    libc::SYS_open_by_handle_at,
    // Operations in an io_uring queue are not system calls, so no filter would see them.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The user's key rings, which other processes share.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Inspecting or delaying the kernel and other processes.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_lookup_dcookie,
    // Control of the machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_vhangup,
];
/// Blocked unless Landlock limits them to processes under the same rules.
const TRACING: [libc::c_long; 5] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
];
/// Changes of modes, owners, times and attributes by path. By descriptor they remain allowed: that
/// requires opening the file, which Landlock prevents.
const METADATA: [libc::c_long; 10] = [
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    FCHMODAT2,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
];
/// The same for calls that exist only on older architectures.
#[cfg(target_arch = "x86_64")]
const OLD_METADATA: [libc::c_long; 6] = [
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_METADATA: [libc::c_long; 0] = [];
// Newer calls, with the same numbers on all architectures.
const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const OPEN_TREE_ATTR: libc::c_long = 467;
const FILE_SETATTR: libc::c_long = 469;

/// Terminal commands that inject input.
const TERMINAL_INJECTION: [u32; 2] = [0x5412, 0x541C];
/// `PRIO_PGRP`, `PRIO_USER`.
const PRIORITY_GROUP: u32 = 1;
const PRIORITY_USER: u32 = 2;
/// `IOPRIO_WHO_PGRP`, `IOPRIO_WHO_USER`.
const IO_PRIORITY_GROUP: u32 = 2;
const IO_PRIORITY_USER: u32 = 3;

/// Installs the filter for this process and its descendants.
pub(super) fn restrict(context: FilterContext) -> Result<(), ProtectionError> {
    let arch: TargetArch =
        std::env::consts::ARCH.try_into().map_err(|_| ProtectionError::Processor)?;
    let rules = rules(context)?;
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)
        .and_then(BpfProgram::try_from)?;
    for program in [refuse_x32(), filter] {
        if !program.is_empty() {
            seccompiler::apply_filter(&program)?;
        }
    }
    Ok(())
}

/// All rules; a call is blocked if all conditions of one of its rules hold.
fn rules(
    context: FilterContext,
) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED {
        rules.insert(call, Vec::new());
    }
    #[cfg(target_arch = "x86_64")]
    for call in [libc::SYS_ioperm, libc::SYS_iopl] {
        rules.insert(call, Vec::new());
    }
    if !context.landlock_limits_tracing {
        rules.extend(TRACING.map(|call| (call, Vec::new())));
    }
    let set = condition(2, Compare::Ne, 0, Length::Qword)?;
    rules.insert(libc::SYS_prlimit64, vec![other_process(context, 0, Some(set))?]);
    for call in [
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_move_pages,
        libc::SYS_migrate_pages,
    ] {
        rules.insert(call, vec![other_process(context, 0, None)?]);
    }
    for (call, group, user) in [
        (libc::SYS_setpriority, PRIORITY_GROUP, PRIORITY_USER),
        (libc::SYS_ioprio_set, IO_PRIORITY_GROUP, IO_PRIORITY_USER),
    ] {
        let mut refused = vec![other_process(context, 1, None)?, argument_equals(0, user)?];
        if !context.leads_process_group {
            // Group 0 is the process group of the starting process.
            refused.push(argument_equals(0, group)?);
        }
        rules.insert(call, refused);
    }
    // Orphans stay with this process, so that the host finds them.
    let subreaper = u64::from(libc::PR_SET_CHILD_SUBREAPER.unsigned_abs());
    let disowning = vec![
        condition(0, Compare::Eq, subreaper, Length::Dword)?,
        condition(1, Compare::Eq, 0, Length::Qword)?,
    ];
    rules.insert(libc::SYS_prctl, vec![SeccompRule::new(disowning)?]);
    let injection: Result<Vec<_>, _> =
        TERMINAL_INJECTION.iter().map(|command| argument_equals(1, *command)).collect();
    rules.insert(libc::SYS_ioctl, injection?);
    if !context.state_is_protected {
        rules.extend(METADATA.iter().chain(&OLD_METADATA).map(|call| (*call, Vec::new())));
        // Without a path it applies to the descriptor's file.
        let by_path = condition(1, Compare::Ne, 0, Length::Qword)?;
        rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![by_path])?]);
    }
    Ok(rules)
}

/// Matches a process other than this one.
fn other_process(
    context: FilterContext,
    argument: u8,
    also: Option<SeccompCondition>,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let mut conditions = vec![
        condition(argument, Compare::Ne, 0, Length::Dword)?,
        condition(argument, Compare::Ne, u64::from(context.process_id), Length::Dword)?,
    ];
    conditions.extend(also);
    SeccompRule::new(conditions)
}

/// Matches this value. The kernel uses 32 bits of these arguments, and so does the comparison.
fn argument_equals(argument: u8, value: u32) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition(argument, Compare::Eq, u64::from(value), Length::Dword)?])
}

fn condition(
    argument: u8,
    compare: Compare,
    value: u64,
    length: Length,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, length, compare, value)
}

/// Blocks the x32 system call numbers, which reach the same calls under numbers that the main
/// filter does not know.
#[cfg(target_arch = "x86_64")]
fn refuse_x32() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_NOT_LESS: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const FIRST: u32 = 0x4000_0000;
    const REFUSE: u32 = 0x0005_0000 | libc::ENOSYS.unsigned_abs();
    const ALLOW: u32 = 0x7fff_0000;
    let instruction = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    vec![
        // The number is the first word of the filter's input.
        instruction(LOAD_WORD, 0, 0),
        instruction(JUMP_IF_NOT_LESS, 1, FIRST),
        instruction(RETURN, 0, ALLOW),
        instruction(RETURN, 0, REFUSE),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn refuse_x32() -> BpfProgram {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REACH: FilterContext = FilterContext {
        process_id: 7,
        leads_process_group: true,
        landlock_limits_tracing: true,
        state_is_protected: true,
    };

    #[test]
    fn what_is_not_covered_or_kept_by_rules_is_refused_by_number() {
        let usual = rules(REACH).unwrap();
        for call in METADATA.iter().chain(&OLD_METADATA).chain(&TRACING) {
            assert!(!usual.contains_key(call), "{call}");
        }
        let alone =
            FilterContext { landlock_limits_tracing: false, state_is_protected: false, ..REACH };
        let alone = rules(alone).unwrap();
        for call in METADATA.iter().chain(&OLD_METADATA).chain(&TRACING).chain(&REFUSED) {
            assert!(alone[call].is_empty(), "{call}");
        }
        assert_eq!(alone[&libc::SYS_utimensat].len(), 1);
    }

    /// The kernel takes no filter of more than 4096 instructions.
    #[test]
    fn the_filter_is_one_that_a_kernel_takes() {
        for arch in [TargetArch::x86_64, TargetArch::aarch64, TargetArch::riscv64] {
            let alone = FilterContext {
                leads_process_group: false,
                landlock_limits_tracing: false,
                ..REACH
            };
            let filter = SeccompFilter::new(
                rules(alone).unwrap(),
                SeccompAction::Allow,
                SeccompAction::Errno(1),
                arch,
            );
            assert!(BpfProgram::try_from(filter.unwrap()).unwrap().len() < 4096);
        }
    }
}
