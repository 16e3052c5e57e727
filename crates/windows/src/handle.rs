//! Handles that are closed when dropped.

use std::io;
use std::os::windows::io::{FromRawHandle as _, OwnedHandle};

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_ACCESS_RIGHTS};

/// Takes over a handle that a call returned.
///
/// # Errors
/// That of the call, if there is no handle.
///
/// # Safety
/// The handle is null or open, and nothing else closes it.
pub(crate) unsafe fn own(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller states that it is open and that nobody else closes it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Opens a process.
///
/// # Errors
/// Those of the system.
pub(crate) fn open_process(process: u32, rights: PROCESS_ACCESS_RIGHTS) -> io::Result<OwnedHandle> {
    // SAFETY: the call has no pointers; the handle that it returns is a new one.
    unsafe { own(OpenProcess(rights, 0, process)) }
}

/// The error of a call that returned zero.
pub(crate) fn check(succeeded: i32) -> io::Result<()> {
    match succeeded {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
