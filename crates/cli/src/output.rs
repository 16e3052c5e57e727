//! Writing to the terminal or to a script. Only terminals get colours.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use owo_colors::OwoColorize as _;
use serde_json::Value;
use weaver_policy::DocumentFinding;
use weaver_text::escape;

use super::failure::Failure;

/// The format in which a command prints its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OutputFormat {
    /// Text for people.
    #[default]
    Text,
    /// JSON for scripts.
    Json,
}

impl OutputFormat {
    /// The format that a flag such as `--json` selects.
    pub(crate) fn from_flag(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Set when the reader of standard output has gone.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Writes a text to standard output. A closed pipe is no error: the exit code still tells the
/// result.
pub(crate) fn text(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        done => done,
    }
}

/// Waits for one interval, in a command that runs until nobody reads its output any more. False if
/// the reader of standard output has gone, also while nothing was written.
pub(crate) fn wait_while_read(interval: Duration) -> bool {
    !CLOSED.load(Ordering::Relaxed) && wait_for_hang_up(interval)
}

#[cfg(unix)]
fn wait_for_hang_up(interval: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let out = io::stdout();
    // No event is requested, so only an error or a hang-up ends the wait early.
    let mut watched = [PollFd::new(&out, PollFlags::empty())];
    let pause = Timespec::try_from(interval).ok();
    match poll(&mut watched, pause.as_ref()) {
        Ok(0) => return true,
        Ok(_) => {
            let closed = PollFlags::ERR | PollFlags::HUP;
            if watched.iter().any(|out| out.revents().intersects(closed)) {
                return false;
            }
        }
        Err(_) => {}
    }
    // Standard output cannot be polled.
    std::thread::sleep(interval);
    true
}

#[cfg(not(unix))]
fn wait_for_hang_up(interval: Duration) -> bool {
    std::thread::sleep(interval);
    true
}

/// Writes one line to standard output.
pub(crate) fn line(line: &str) -> io::Result<()> {
    text(&format!("{line}\n"))
}

/// Writes one line of JSON to standard output.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    line(&value.to_string())
}

/// Writes a text to standard error.
pub(crate) fn stderr(text: &str) {
    // If this fails, there is nowhere left to report it.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Shows the names of the servers that the command still waits for: on a terminal in one line that
/// is written anew and goes away at the end, elsewhere in a line each time their number has halved.
pub(crate) fn print_waiting_for(names: &[String]) {
    const SHOWN: usize = 5;
    static LAST_PRINTED: AtomicUsize = AtomicUsize::new(usize::MAX);
    let is_terminal = io::stderr().is_terminal();
    if names.is_empty() {
        LAST_PRINTED.store(usize::MAX, Ordering::Relaxed);
        if is_terminal {
            stderr("\r\x1b[K");
        }
        return;
    }
    let more = names.len().saturating_sub(SHOWN);
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let line = format!("waiting for: {}{rest}", shown.join(", "));
    if is_terminal {
        stderr(&format!("\r\x1b[K{}", escape::truncate(&line, 78)));
    } else if names.len() <= LAST_PRINTED.load(Ordering::Relaxed) / 2 {
        LAST_PRINTED.store(names.len(), Ordering::Relaxed);
        stderr(&format!("{line}\n"));
    }
}

/// Writes a failure to standard error.
pub(crate) fn failure(failure: &Failure, format: OutputFormat) {
    let text = match format {
        OutputFormat::Text => failure_text(failure),
        OutputFormat::Json => format!("{}\n", failure.to_json()),
    };
    stderr(&text);
}

/// A number of things, as in `1 tool` and `2 tools`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Styles a word for success: bold green.
pub(crate) fn good(word: &str) -> String {
    word.green().bold().to_string()
}

/// Styles a word for a failure or a refusal: bold red.
pub(crate) fn bad(word: &str) -> String {
    word.red().bold().to_string()
}

pub(crate) fn dim(text: &str) -> String {
    text.dimmed().to_string()
}

pub(crate) fn bold(text: &str) -> String {
    text.bold().to_string()
}

fn failure_text(failure: &Failure) -> String {
    let mut out = String::new();
    for found in &failure.findings {
        out.push_str(&finding_text(found));
    }
    let message = escape::block(&failure.message).into_owned();
    // Findings print their own codes.
    let code = if failure.findings.is_empty() { code_text(failure.code) } else { String::new() };
    out.push_str(format!("{}: {message} {code}", bad("error")).trim_end());
    out.push('\n');
    if let Some(next) = &failure.next {
        out.push_str(&format!("  next: {next}\n"));
    }
    out
}

/// A finding in two lines: where it is and what is wrong, then the remedy.
pub(crate) fn finding_text(found: &DocumentFinding) -> String {
    let mut place = found.file.clone();
    if let (Some(line), Some(column)) = (found.line, found.column) {
        place.push_str(&format!(":{line}:{column}"));
    }
    let key = found.key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
    let message = escape::line(&found.message).into_owned();
    let (place, code) = (bold(&escape::line(&place)), code_text(found.code));
    format!("{place}: {key}{message} {code}\n  → {}\n", escape::line(&found.remedy))
}

fn code_text(code: &str) -> String {
    dim(&format!("[{code}]"))
}
