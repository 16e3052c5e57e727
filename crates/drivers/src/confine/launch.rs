//! The launcher's side: confine this process, report, become another program.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::form::{read_request, write_report};
use super::{ConfineError, Confinement, EnforcedConfinement};

/// How a launcher ends that started nothing.
const FAILED: u8 = 125;
/// How much of `PATH` an error repeats, in characters.
const MAX_SHOWN_PATH: usize = 400;

/// Runs this process as a launcher: `arguments` are the request and then the program with its
/// arguments; without a program it reports and ends.
///
/// Must be called first of all, while the process has one thread and nothing open that it needs:
/// every descriptor but the three standard ones is closed. Returns only when nothing was started.
#[must_use]
pub fn launch(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let request = arguments.next();
    let argv: Vec<OsString> = arguments.collect();
    match prepare(request, &argv) {
        Ok(PreparedLaunch::Probed(enforced)) => {
            report(Ok(&enforced));
            ExitCode::SUCCESS
        }
        Ok(PreparedLaunch::Ready { enforced, program, variables }) => {
            report(Ok(&enforced));
            let reason = become_program(&program, &argv, variables);
            report(Err(&ConfineError::Program { program: shown(&argv), reason }));
            ExitCode::from(FAILED)
        }
        Err(error) => {
            report(Err(&error));
            ExitCode::from(FAILED)
        }
    }
}

enum PreparedLaunch {
    /// Only what would be enforced was asked.
    Probed(EnforcedConfinement),
    /// This process is confined.
    Ready {
        enforced: EnforcedConfinement,
        /// The file of the program.
        program: PathBuf,
        /// What it gets in place of variables that are set.
        variables: Vec<(&'static str, String)>,
    },
}

fn prepare(request: Option<OsString>, argv: &[OsString]) -> Result<PreparedLaunch, ConfineError> {
    let text = request.and_then(|request| request.into_string().ok());
    let missing = || ConfineError::Form { reason: "the request is missing".to_owned() };
    let confinement = read_request(&text.ok_or_else(missing)?)?;
    let program =
        match argv.first() {
            Some(name) => Some(find(name).ok_or_else(|| ConfineError::Program {
                program: shown(argv),
                reason: absent(name),
            })?),
            None => None,
        };
    let (enforced, variables) = confine(&confinement, program.as_deref())?;
    Ok(match program {
        Some(program) => PreparedLaunch::Ready { enforced, program, variables },
        None => PreparedLaunch::Probed(enforced),
    })
}

/// What is in force, and variables for the program.
pub(super) type ConfinedEnvironment = (EnforcedConfinement, Vec<(&'static str, String)>);

#[cfg(target_os = "linux")]
fn confine(
    confinement: &Confinement,
    program: Option<&std::path::Path>,
) -> Result<ConfinedEnvironment, ConfineError> {
    super::linux::confine(confinement, program)
}

/// Nothing is known to confine with here.
#[cfg(not(target_os = "linux"))]
fn confine(
    confinement: &Confinement,
    _program: Option<&std::path::Path>,
) -> Result<ConfinedEnvironment, ConfineError> {
    let lacking = confinement.asked();
    if confinement.demand == super::Demand::Strict {
        let reason = "only linux can confine a child".to_owned();
        return Err(ConfineError::Lacking { lacking, reason });
    }
    Ok((EnforcedConfinement { lacking, ..EnforcedConfinement::default() }, Vec::new()))
}

/// The file of a program: a path as it is, a bare name from `PATH`.
fn find(name: &OsString) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    if path.components().count() > 1 || path.is_absolute() {
        return path.is_file().then_some(path);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(&path)).find(|file| executable(file))
}

/// Why a program was not found, and where it was looked for.
fn absent(name: &OsString) -> String {
    if PathBuf::from(name).components().count() > 1 {
        return "there is no such file".to_owned();
    }
    match std::env::var_os("PATH") {
        Some(folders) => {
            let folders: String = folders.to_string_lossy().chars().take(MAX_SHOWN_PATH).collect();
            format!("no folder of its PATH has such a program; PATH is `{folders}`")
        }
        None => "its environment has no PATH to look in".to_owned(),
    }
}

#[cfg(unix)]
fn executable(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn executable(file: &std::path::Path) -> bool {
    file.is_file()
}

/// Becomes the program, under the name by which it was asked for. Comes back with a reason only.
#[cfg(unix)]
fn become_program(
    program: &std::path::Path,
    argv: &[OsString],
    variables: Vec<(&str, String)>,
) -> String {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new(program);
    if let Some(name) = argv.first() {
        command.arg0(name);
    }
    command.envs(variables);
    command.args(argv.iter().skip(1)).exec().to_string()
}

#[cfg(not(unix))]
fn become_program(
    _program: &std::path::Path,
    _argv: &[OsString],
    _variables: Vec<(&str, String)>,
) -> String {
    "a process cannot become another one on this system".to_owned()
}

/// Only the name: arguments may be secret.
fn shown(argv: &[OsString]) -> String {
    argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn report(outcome: Result<&EnforcedConfinement, &ConfineError>) {
    let line = write_report(outcome);
    // Whoever does not listen finds no report, and refuses the child.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
