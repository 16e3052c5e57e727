//! Writing to the terminal or to a script. Colours go to terminals alone.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use owo_colors::OwoColorize as _;
use serde_json::Value;
use weaver_policy::Finding;
use weaver_text::escape;

use super::failure::Failure;

/// The form in which a command prints what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OutputFormat {
    /// Text for people.
    #[default]
    Text,
    /// JSON for scripts.
    Json,
}

impl OutputFormat {
    /// What a flag such as `--json` asks for.
    pub(crate) fn from_flag(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Set once nobody reads the output any more.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Writes a text to standard output. Where nobody reads it any more, nothing is written and that is no
/// error: what the command found still shows in its exit code.
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

/// Whether nobody reads the output any more, for commands that go on until then.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Writes one line to standard output.
pub(crate) fn line(line: &str) -> io::Result<()> {
    text(&format!("{line}\n"))
}

/// Writes one line of JSON to standard output.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    line(&value.to_string())
}

/// Writes a text to standard error, beside what goes to standard output.
pub(crate) fn aside(text: &str) {
    // There is nowhere left to say that this failed.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Says who is waited for.
pub(crate) fn waiting(names: &[String]) {
    aside(&format!("waiting for: {}\n", names.join(", ")));
}

/// Writes a failure to standard error.
pub(crate) fn failure(failure: &Failure, format: OutputFormat) {
    let text = match format {
        OutputFormat::Text => rendered(failure),
        OutputFormat::Json => format!("{}\n", failure.to_json()),
    };
    aside(&text);
}

/// A word for what ran well, in green.
pub(crate) fn good(word: &str) -> String {
    word.green().bold().to_string()
}

/// A word for what went wrong or was refused, in red.
pub(crate) fn bad(word: &str) -> String {
    word.red().bold().to_string()
}

pub(crate) fn dim(text: &str) -> String {
    text.dimmed().to_string()
}

pub(crate) fn bold(text: &str) -> String {
    text.bold().to_string()
}

fn rendered(failure: &Failure) -> String {
    let mut out = String::new();
    for found in &failure.findings {
        out.push_str(&finding(found));
    }
    let message = escape::block(&failure.message).into_owned();
    // Each finding has said its own code.
    let code = if failure.findings.is_empty() { code(failure.code) } else { String::new() };
    out.push_str(format!("{}: {message} {code}", bad("error")).trim_end());
    out.push('\n');
    if let Some(next) = &failure.next {
        out.push_str(&format!("  next: {next}\n"));
    }
    out
}

/// A finding over two lines: place and what is wrong, then what to do.
pub(crate) fn finding(found: &Finding) -> String {
    let mut place = found.file.clone();
    if let (Some(line), Some(column)) = (found.line, found.column) {
        place.push_str(&format!(":{line}:{column}"));
    }
    let key = found.key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
    let message = escape::line(&found.message).into_owned();
    let (place, code) = (bold(&escape::line(&place)), code(found.code));
    format!("{place}: {key}{message} {code}\n  → {}\n", escape::line(&found.remedy))
}

fn code(code: &str) -> String {
    dim(&format!("[{code}]"))
}
