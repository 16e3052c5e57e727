//! The command as the first process of a container.
//!
//! The kernel hands every process whose parent has ended to process 1, which must wait for it;
//! otherwise it stays in the process table as a zombie. The servers of a gateway leave such
//! processes behind: shells, package runners, browsers. The command therefore starts itself once
//! more, as a child with the same arguments and open files. The first process only passes signals
//! on and waits for whatever ends, until that child has ended; its exit code is the child's.

use std::io;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use tokio::signal::unix::{SignalKind, signal};

use crate::{Exit, Failure};

/// Added to the number of a signal that ended the child, as shells do.
const SIGNAL_EXIT: i32 = 128;

/// Runs the command in a child if this is the first process; returns the exit code then. `None` for
/// any other process, and where the program cannot be found again: the command then runs here.
pub(super) fn run_in_child() -> Result<Option<u8>, Failure> {
    if !getpid().is_init() {
        return Ok(None);
    }
    let Ok(program) = std::env::current_exe() else { return Ok(None) };
    let failed = |error: io::Error| {
        let message = format!("the gateway cannot be started under process 1: {error}");
        Failure::new(Exit::Internal, "daemon.init", message)
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    runtime.block_on(supervise(command)).map(Some).map_err(failed)
}

/// Starts the child, and waits for all processes until it has ended.
async fn supervise(mut command: Command) -> io::Result<u8> {
    // Before the child is there, so that none of its signals is missed.
    let mut ended = signal(SignalKind::child())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let started = command.spawn()?.id();
    let child = i32::try_from(started).ok().and_then(Pid::from_raw);
    let child = child.ok_or_else(|| io::Error::other("the child has no number"))?;
    loop {
        let passed_on = tokio::select! {
            _ = ended.recv() => None,
            _ = terminate.recv() => Some(Signal::TERM),
            _ = interrupt.recv() => Some(Signal::INT),
            _ = hang_up.recv() => Some(Signal::HUP),
        };
        if let Some(signal) = passed_on {
            // It may have ended meanwhile; the next round finds out.
            let _ = kill_process(child, signal);
        }
        if let Some(code) = reap(child)? {
            return Ok(code);
        }
    }
}

/// Waits for every process that has ended; returns the exit code of the child once it has.
fn reap(child: Pid) -> io::Result<Option<u8>> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => {
                let signal = status.terminating_signal().map(|number| SIGNAL_EXIT + number);
                let code = status.exit_status().or(signal).unwrap_or(1);
                return Ok(Some(u8::try_from(code).unwrap_or(1)));
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}
