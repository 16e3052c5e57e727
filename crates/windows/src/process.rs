//! When a process was started, and by which one.

use std::io;
use std::os::windows::io::AsRawHandle as _;

use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, FILETIME, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Threading::{GetProcessTimes, PROCESS_QUERY_LIMITED_INFORMATION};

use crate::handle::{check, open_process, own};

/// When the running process with this id was started, in units of 100 ns since 1601; `None` if there
/// is none. Together with the id it names one process of this machine.
///
/// # Errors
/// Those of the system: it may not be asked.
pub fn process_start(process: u32) -> io::Result<Option<u64>> {
    let process = match open_process(process, PROCESS_QUERY_LIMITED_INFORMATION) {
        Ok(process) => process,
        Err(error) if is_code(&error, ERROR_INVALID_PARAMETER) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut times = [FILETIME::default(); 4];
    let [started, ended, kernel, user] = &mut times;
    // SAFETY: the process is open; the times are written to variables of ours.
    check(unsafe { GetProcessTimes(process.as_raw_handle(), started, ended, kernel, user) })?;
    let count =
        |time: &FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    // A process that has ended is there as long as somebody holds it open.
    Ok((count(ended) == 0).then(|| count(started)))
}

/// The id of the process that started the one with this id; `None` if there is no such process. The
/// starter may have ended, and its id may be that of another process by now.
///
/// # Errors
/// Those of the system.
pub fn process_parent(process: u32) -> io::Result<Option<u32>> {
    // SAFETY: the call has no pointers.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so this is a new handle.
    let snapshot = unsafe { own(snapshot) }?;
    let mut entry = PROCESSENTRY32W {
        dwSize: u32::try_from(size_of::<PROCESSENTRY32W>()).unwrap_or_default(),
        ..PROCESSENTRY32W::default()
    };
    // SAFETY: the snapshot is open, and the entry says how long it is.
    let mut found = unsafe { Process32FirstW(snapshot.as_raw_handle(), &raw mut entry) } != 0;
    while found {
        if entry.th32ProcessID == process {
            return Ok(Some(entry.th32ParentProcessID));
        }
        // SAFETY: as above.
        found = unsafe { Process32NextW(snapshot.as_raw_handle(), &raw mut entry) } != 0;
    }
    Ok(None)
}

fn is_code(error: &io::Error, code: u32) -> bool {
    error.raw_os_error().and_then(|found| u32::try_from(found).ok()) == Some(code)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_names_its_parent_and_has_no_start_once_it_has_ended() {
        let own = std::process::id();
        let started = process_start(own).unwrap().unwrap();
        let mut command = Command::new("cmd");
        command.args(["/c", "pause"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        assert_eq!(process_parent(child.id()).unwrap(), Some(own));
        assert!(process_start(child.id()).unwrap().unwrap() >= started);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(process_start(child.id()).unwrap(), None, "ended, and still held open");
        assert_eq!(process_start(0xffff_fffc).unwrap(), None);
    }
}
