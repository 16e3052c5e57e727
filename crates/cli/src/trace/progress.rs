//! Shows the progress of a long command on a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use weaver_types::{Clock as _, SystemClock};

/// How long nothing is said, and then how often.
const QUIET: Duration = Duration::from_secs(1);

/// Says on a terminal how far it is, if it takes longer than a moment.
pub(super) struct Progress {
    clock: SystemClock,
    did: &'static str,
    said: Option<Duration>,
    terminal: bool,
}

impl Progress {
    /// `did` is the word for what is done with events, such as `verified`.
    pub(super) fn new(did: &'static str) -> Self {
        let terminal = io::stderr().is_terminal();
        Self { clock: SystemClock::default(), did, said: None, terminal }
    }

    pub(super) fn at(&mut self, done: u64, all: u64) {
        let now = self.clock.monotonic();
        if self.terminal && now.saturating_sub(self.said.unwrap_or_default()) >= QUIET {
            self.said = Some(now);
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(io::stderr(), "\r{} {done} of {all} events", self.did);
        }
    }

    pub(super) fn end(&self) {
        if self.said.is_some() {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
