//! Keeping this process from others of its user.

/// Gives what the kernel shows of this process, in `/proc` and in traces, to root: others of the
/// same user, such as children that are confined, can neither look into it nor set how soon it is
/// ended when memory runs out. It leaves no core dumps then, which would hold its secrets.
///
/// A host that starts confined children calls it once, at its start. Nothing happens where the
/// system is not Linux.
///
/// # Errors
/// The system's, when it refuses.
pub fn keep_process_private() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}
