//! The caller's side: a command that starts a confined child.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::launcher_protocol::{MAX_REPORT_BYTES, read_report, write_request};
use super::{ConfineError, Confinement, EnforcedConfinement};

/// A program that confines itself and then becomes another.
///
/// It is `weaver launch`, the `weaver-launch` of this crate, or any program that calls
/// [`launch`](super::launch) before it does anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    program: PathBuf,
    verb: Option<String>,
}

impl Launcher {
    /// A launcher that is a program of its own.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), verb: None }
    }

    /// A program that acts as launcher when its first argument is `verb`.
    #[must_use]
    pub fn with_verb(program: impl Into<PathBuf>, verb: impl Into<String>) -> Self {
        Self { program: program.into(), verb: Some(verb.into()) }
    }

    /// The running program, which acts as launcher when its first argument is `verb`.
    ///
    /// On Linux this is exactly the running file, even if another file has replaced it at its path.
    #[must_use]
    pub fn this_program(verb: impl Into<String>) -> Self {
        #[cfg(target_os = "linux")]
        let program = PathBuf::from("/proc/self/exe");
        // If the path is unknown, starting fails.
        #[cfg(not(target_os = "linux"))]
        let program = std::env::current_exe().unwrap_or_default();
        Self::with_verb(program, verb)
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command that starts `argv`, the program and its arguments, confined.
    ///
    /// Environment and working directory set on the command are the child's. The first line of its
    /// standard error comes from the launcher, not from the child: the [`EnforcedConfinement`], or
    /// why there is no child.
    ///
    /// # Errors
    /// [`ConfineError::Form`], if there is no program to start or a path is not UTF-8.
    pub fn command<S: AsRef<OsStr>>(
        &self,
        argv: &[S],
        confinement: &Confinement,
    ) -> Result<Command, ConfineError> {
        if argv.is_empty() {
            return Err(ConfineError::Form { reason: "there is no program to start".to_owned() });
        }
        let mut command = self.own_command()?;
        command.arg(write_request(confinement)?).args(argv);
        Ok(command)
    }

    /// The command that starts this launcher, without its arguments.
    pub(super) fn own_command(&self) -> Result<Command, ConfineError> {
        self.check_not_launching(std::env::args_os().nth(1).as_deref())?;
        let mut command = Command::new(&self.program);
        command.args(&self.verb);
        Ok(command)
    }

    /// Fails if this process was itself started with the verb and should have acted as launcher;
    /// otherwise it would start itself endlessly.
    fn check_not_launching(&self, first: Option<&OsStr>) -> Result<(), ConfineError> {
        match (&self.verb, first) {
            (Some(verb), Some(first)) if first == verb.as_str() => {
                let reason = format!(
                    "this process was started as a launcher and did not launch; a program whose \
                     first argument is `{verb}` has to call `confine::launch` before all else"
                );
                Err(ConfineError::Form { reason })
            }
            _ => Ok(()),
        }
    }

    /// What would be enforced on this system: starts a launcher that confines itself and runs
    /// nothing.
    ///
    /// # Errors
    /// [`ConfineError`], as for a child.
    pub fn probe(&self, confinement: &Confinement) -> Result<EnforcedConfinement, ConfineError> {
        let silent = || ConfineError::NoReport { launcher: self.program.display().to_string() };
        let mut command = self.own_command()?;
        command.arg(write_request(confinement)?).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        #[cfg(target_os = "linux")]
        let child = crate::adopted::start(|| command.spawn(), |child| Some(child.id()));
        #[cfg(not(target_os = "linux"))]
        let child = command.spawn();
        let mut child = child.map_err(|_| silent())?;
        let mut line = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            stderr.take(MAX_REPORT_BYTES).read_to_end(&mut line).map_err(|_| silent())?;
        }
        let ended = child.wait();
        #[cfg(target_os = "linux")]
        crate::adopted::forget(child.id());
        ended.map_err(|_| silent())?;
        read_report(&line, &self.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_that_did_not_launch_starts_no_other() {
        let launcher = Launcher::this_program("launch");
        assert!(launcher.check_not_launching(Some(OsStr::new("launch"))).is_err());
        assert!(launcher.check_not_launching(Some(OsStr::new("serve"))).is_ok());
        assert!(launcher.check_not_launching(None).is_ok());
        assert!(
            Launcher::new("weaver-launch").check_not_launching(Some(OsStr::new("launch"))).is_ok()
        );
    }
}
