//! Jobs: processes that end with another one, with everything that they have started.

use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::ptr::null;

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
    SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::{PROCESS_SET_QUOTA, PROCESS_TERMINATE};

use crate::handle::{check, open_process, own};

/// A job. When it is dropped, or this process ends in whatever way, the system ends the processes in
/// it. What these start is in it too.
#[derive(Debug)]
pub struct ProcessJob(OwnedHandle);

impl ProcessJob {
    /// An empty job.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new() -> io::Result<Self> {
        // SAFETY: both pointers may be null: no name, and a handle that no child inherits.
        let job = unsafe { own(CreateJobObjectW(null(), null())) }?;
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let bytes = u32::try_from(size_of_val(&limits)).unwrap_or_default();
        // SAFETY: the job is open, and the limits are of the class and length stated.
        check(unsafe {
            SetInformationJobObject(
                job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                bytes,
            )
        })?;
        Ok(Self(job))
    }

    /// Puts the running process with this id into the job. Its caller holds the process open, so
    /// that no other one has the id.
    ///
    /// # Errors
    /// Those of the system.
    pub fn add(&self, process: u32) -> io::Result<()> {
        let process = open_process(process, PROCESS_SET_QUOTA | PROCESS_TERMINATE)?;
        // SAFETY: both handles are open.
        check(unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process.as_raw_handle()) })
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_ends_with_its_job() {
        let mut command = Command::new("cmd");
        command.args(["/c", "pause"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let job = ProcessJob::new().unwrap();
        job.add(child.id()).unwrap();
        assert!(child.try_wait().unwrap().is_none());
        drop(job);
        // `wait` closes its input, at which it would end with success.
        while child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
