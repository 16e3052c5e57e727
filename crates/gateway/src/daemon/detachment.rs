//! Separates a daemon from the process that started it, and ties its servers to it.

use std::process::Command;

use super::error::DaemonError;

/// Prepares the start of a daemon that outlives this process, and holds none of its files.
#[cfg(unix)]
pub(super) fn detach_child(_command: &mut Command) {
    // Files are not inherited by default, and the daemon leaves the session by itself.
}

#[cfg(windows)]
pub(super) fn detach_child(command: &mut Command) {
    use std::os::windows::process::CommandExt as _;

    /// No console, also none of its own, and no key of one.
    const DETACHED_PROCESS: u32 = 0x0000_0008;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;

    weaver_windows::keep_standard_streams();
    command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
}

/// Detaches standard output from the starting process, which may wait for its end.
///
/// # Errors
/// [`DaemonError::Connection`], if the null device cannot be opened.
#[cfg(unix)]
pub fn detach_output() -> Result<(), DaemonError> {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
    let null = null.map_err(DaemonError::connection)?;
    rustix::stdio::dup2_stdout(null).map_err(DaemonError::connection)
}

/// The starting process reads one line and closes its end; nothing else is written there.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn detach_output() -> Result<(), DaemonError> {
    Ok(())
}

/// Leaves the session of the starting process, so that closing it, or a key on its terminal, does
/// not affect the daemon.
pub fn leave_session() {
    // Fails for a process group leader, which has no terminal to leave.
    #[cfg(unix)]
    let _ = rustix::process::setsid();
}

/// Makes the servers that this process starts end with it, however it ends. Elsewhere than on
/// Windows, servers see the end of their input.
///
/// # Errors
/// [`DaemonError::Connection`], if the system refuses.
pub fn end_servers_with_process() -> Result<(), DaemonError> {
    #[cfg(windows)]
    {
        /// Closed by the system at the end of the process, which ends the job.
        static JOB: std::sync::OnceLock<weaver_windows::ProcessJob> = std::sync::OnceLock::new();

        if JOB.get().is_none() {
            let job = weaver_windows::ProcessJob::new().map_err(DaemonError::connection)?;
            job.add(std::process::id()).map_err(DaemonError::connection)?;
            let _ = JOB.set(job);
        }
    }
    Ok(())
}
