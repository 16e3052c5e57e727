//! Protects this process from other processes of its user.

/// Makes root the owner of this process in `/proc` and for tracing, so that other processes of the
/// same user, such as confined children, can neither inspect it nor change its OOM score. It then
/// writes no core dumps, which would contain its secrets.
///
/// A host that starts confined children calls this once at startup. It has no effect on systems
/// other than Linux.
///
/// # Errors
/// The system's error if it refuses.
pub fn keep_process_private() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}
