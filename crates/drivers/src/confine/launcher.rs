//! The caller's side: a command that starts a child confined.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::form::{MAX_REPORT, read_report, write_request};
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

    /// A program that launches when its first argument is this word.
    #[must_use]
    pub fn verb(program: impl Into<PathBuf>, verb: impl Into<String>) -> Self {
        Self { program: program.into(), verb: Some(verb.into()) }
    }

    /// The program that this process runs, which launches when its first argument is this word.
    ///
    /// On Linux that is the very file that runs, also when another took its place meanwhile.
    #[must_use]
    pub fn this_program(verb: impl Into<String>) -> Self {
        #[cfg(target_os = "linux")]
        let program = PathBuf::from("/proc/self/exe");
        // Without a name for it, starting fails.
        #[cfg(not(target_os = "linux"))]
        let program = std::env::current_exe().unwrap_or_default();
        Self::verb(program, verb)
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command that starts `argv`, the program and its arguments, confined.
    ///
    /// Variables and folder that are set on it are the child's. Its standard error begins with a
    /// line of the launcher, which is no word of the child: [`EnforcedConfinement`] or why there is no child.
    ///
    /// # Errors
    /// [`ConfineError::Form`], when there is no program to start or a path is not UTF-8.
    pub fn command<S: AsRef<OsStr>>(
        &self,
        argv: &[S],
        confinement: &Confinement,
    ) -> Result<Command, ConfineError> {
        if argv.is_empty() {
            return Err(ConfineError::Form { reason: "there is no program to start".to_owned() });
        }
        self.is_no_launcher(std::env::args_os().nth(1).as_deref())?;
        let mut command = Command::new(&self.program);
        command.args(&self.verb).arg(write_request(confinement)?).args(argv);
        Ok(command)
    }

    /// A process that was started with the verb should have launched. One that starts launchers
    /// instead would start itself over and over.
    fn is_no_launcher(&self, first: Option<&OsStr>) -> Result<(), ConfineError> {
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

    /// What would be enforced on this system: a launcher confines itself and starts nothing.
    ///
    /// # Errors
    /// [`ConfineError`] as a child would have it.
    pub fn probe(&self, confinement: &Confinement) -> Result<EnforcedConfinement, ConfineError> {
        self.is_no_launcher(std::env::args_os().nth(1).as_deref())?;
        let silent = || ConfineError::Silent { launcher: self.program.display().to_string() };
        let mut command = Command::new(&self.program);
        command.args(&self.verb).arg(write_request(confinement)?).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|_| silent())?;
        let mut line = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            stderr.take(MAX_REPORT).read_to_end(&mut line).map_err(|_| silent())?;
        }
        child.wait().map_err(|_| silent())?;
        read_report(&line, &self.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_that_did_not_launch_starts_no_other() {
        let launcher = Launcher::this_program("launch");
        assert!(launcher.is_no_launcher(Some(OsStr::new("launch"))).is_err());
        assert!(launcher.is_no_launcher(Some(OsStr::new("serve"))).is_ok());
        assert!(launcher.is_no_launcher(None).is_ok());
        assert!(Launcher::new("weaver-launch").is_no_launcher(Some(OsStr::new("launch"))).is_ok());
    }
}
