//! The launcher's side: confine this process, report, and become another program.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::cover_refresh::{CoverRequest, HELPER_ARGUMENT};
use super::launcher_protocol::{read_request, write_report};
use super::{ConfineError, Confinement, EnforcedConfinement};

/// Exit code of a launcher that started nothing.
const FAILURE_EXIT_CODE: u8 = 125;
/// How much of `PATH` an error shows, in characters.
const MAX_SHOWN_PATH: usize = 400;

/// Runs this process as a launcher: `arguments` are the request, then the program and its
/// arguments; without a program it only reports.
///
/// Must be called before anything else, while the process has one thread and needs no open
/// descriptor: all except the three standard ones are closed. Returns only if nothing was started.
#[must_use]
pub fn launch(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let request = arguments.next();
    let argv: Vec<OsString> = arguments.collect();
    if request.as_deref().is_some_and(|request| request == HELPER_ARGUMENT) {
        return help_covering(argv.first());
    }
    match prepare(request, &argv) {
        Ok(PreparedLaunch::Probed(enforced)) => {
            send_report(Ok(&enforced));
            ExitCode::SUCCESS
        }
        Ok(PreparedLaunch::Ready { enforced, program, variables }) => {
            send_report(Ok(&enforced));
            let reason = become_program(&program, &argv, variables);
            send_report(Err(&ConfineError::Program { program: program_name(&argv), reason }));
            ExitCode::from(FAILURE_EXIT_CODE)
        }
        Err(error) => {
            send_report(Err(&error));
            ExitCode::from(FAILURE_EXIT_CODE)
        }
    }
}

/// Covers files in the namespaces of a running child, and starts nothing.
fn help_covering(request: Option<&OsString>) -> ExitCode {
    let missing = || ConfineError::Form { reason: "the request is missing".to_owned() };
    let text = request.and_then(|request| request.to_str()).ok_or_else(missing);
    let covered = text.and_then(CoverRequest::read).and_then(|request| cover(&request));
    send_report(covered.as_ref());
    match covered {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(FAILURE_EXIT_CODE),
    }
}

#[cfg(target_os = "linux")]
fn cover(request: &CoverRequest) -> Result<EnforcedConfinement, ConfineError> {
    super::linux::help_covering(request)
}

/// Mounts hide nothing on this system.
#[cfg(not(target_os = "linux"))]
fn cover(_request: &CoverRequest) -> Result<EnforcedConfinement, ConfineError> {
    Err(ConfineError::Form { reason: "only linux covers files".to_owned() })
}

enum PreparedLaunch {
    /// Only a report of what would be enforced was requested.
    Probed(EnforcedConfinement),
    /// This process is confined and ready to become the program.
    Ready {
        enforced: EnforcedConfinement,
        /// The file of the program.
        program: PathBuf,
        /// Environment variables to override.
        variables: Vec<(&'static str, String)>,
    },
}

fn prepare(request: Option<OsString>, argv: &[OsString]) -> Result<PreparedLaunch, ConfineError> {
    let text = request.and_then(|request| request.into_string().ok());
    let missing = || ConfineError::Form { reason: "the request is missing".to_owned() };
    let confinement = read_request(&text.ok_or_else(missing)?)?;
    let program = match argv.first() {
        Some(name) => Some(find_program(name).ok_or_else(|| ConfineError::Program {
            program: program_name(argv),
            reason: not_found_reason(name),
        })?),
        None => None,
    };
    let (enforced, variables) = confine(&confinement, program.as_deref())?;
    Ok(match program {
        Some(program) => PreparedLaunch::Ready { enforced, program, variables },
        None => PreparedLaunch::Probed(enforced),
    })
}

/// What is in force, and environment variables to override.
pub(super) type ConfinedEnvironment = (EnforcedConfinement, Vec<(&'static str, String)>);

#[cfg(target_os = "linux")]
fn confine(
    confinement: &Confinement,
    program: Option<&std::path::Path>,
) -> Result<ConfinedEnvironment, ConfineError> {
    super::linux::confine(confinement, program)
}

/// No confinement exists for this system.
#[cfg(not(target_os = "linux"))]
fn confine(
    confinement: &Confinement,
    _program: Option<&std::path::Path>,
) -> Result<ConfinedEnvironment, ConfineError> {
    let lacking = confinement.required_protections();
    if confinement.enforcement_mode == super::EnforcementMode::Strict {
        let reason = "only linux can confine a child".to_owned();
        return Err(ConfineError::Lacking { lacking, reason });
    }
    Ok((EnforcedConfinement { lacking, ..EnforcedConfinement::default() }, Vec::new()))
}

/// The file of a program: a path as given, or a bare name looked up in `PATH`.
fn find_program(name: &OsString) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    if path.components().count() > 1 || path.is_absolute() {
        return with_ends(&path).find(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .flat_map(|folder| with_ends(&folder.join(&path)).collect::<Vec<_>>())
        .find(|file| is_executable(file))
}

/// The path, and those that it stands for where programs are named without the end of their file.
fn with_ends(path: &std::path::Path) -> impl Iterator<Item = PathBuf> {
    let ends: &[&str] = if cfg!(windows) { &["exe", "cmd", "bat"] } else { &[] };
    let named = ends.iter().map(|end| path.with_added_extension(end)).collect::<Vec<_>>();
    std::iter::once(path.to_path_buf()).chain(named)
}

/// Why a program was not found, and where it was looked up.
fn not_found_reason(name: &OsString) -> String {
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
fn is_executable(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &std::path::Path) -> bool {
    file.is_file()
}

/// Becomes the program, with `argv[0]` as configured. Returns only on failure, with the reason.
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

/// Runs the program with the streams of this process, and ends as it ends: no process becomes another
/// one there. Whoever ends this process ends the job that both are in.
#[cfg(not(unix))]
fn become_program(
    program: &std::path::Path,
    argv: &[OsString],
    variables: Vec<(&str, String)>,
) -> String {
    let mut command = std::process::Command::new(program);
    command.envs(variables).args(argv.iter().skip(1));
    match command.status() {
        Ok(ended) => std::process::exit(ended.code().unwrap_or(1)),
        Err(error) => error.to_string(),
    }
}

/// Only the name, because arguments may be secret.
fn program_name(argv: &[OsString]) -> String {
    argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn send_report(outcome: Result<&EnforcedConfinement, &ConfineError>) {
    let line = write_report(outcome);
    // A caller that cannot read the report refuses the child.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
