//! Shows the progress of a long command on a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use weaver_types::{Clock as _, SystemClock};

/// How long to wait before the first line, and between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Shows the progress on a terminal, if a command takes long.
pub(super) struct Progress {
    clock: SystemClock,
    verb: &'static str,
    last_shown: Option<Duration>,
    is_terminal: bool,
}

impl Progress {
    /// `verb` says what is done with events, such as `verified`.
    pub(super) fn new(verb: &'static str) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { clock: SystemClock::default(), verb, last_shown: None, is_terminal }
    }

    pub(super) fn at(&mut self, done: u64, all: u64) {
        let now = self.clock.monotonic();
        if self.is_terminal && now.saturating_sub(self.last_shown.unwrap_or_default()) >= INTERVAL {
            self.last_shown = Some(now);
            // A failure to show progress does not stop the command.
            let _ = write!(io::stderr(), "\r{} {done} of {all} events", self.verb);
        }
    }

    pub(super) fn end(&self) {
        if self.last_shown.is_some() {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
