//! `weaver policy edit`: opens the policy in an editor, reviews it at every save, and signs it at
//! the end.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use weaver_gateway::bounded_file;
use weaver_gateway::clients::{unified_diff, write_new_file};
use weaver_gateway::setup::PolicyRevision;
use weaver_policy::MAX_DOCUMENT_BYTES;
use weaver_policy_analysis::history::CallHistory;
use weaver_policy_analysis::{CapabilitySet, lint};
use weaver_text::escape;
use weaver_types::{Clock as _, OsRandom, SystemClock, Timestamp, random_text};

use super::args::Edit;
use super::{history, replay, signing};
use crate::init::questions;
use crate::{Exit, Failure, output};

/// How often to check for a save while the editor runs.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// How many drafts that were not signed are kept.
const MAX_KEPT_DRAFTS: usize = 100;
/// Editors that occupy the terminal: the review is printed after they end.
const TERMINAL_EDITORS: [&str; 12] =
    ["vi", "vim", "nvim", "nano", "pico", "emacs", "ed", "micro", "hx", "helix", "kak", "joe"];

pub(super) fn run(args: &Edit) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let file = args.config.resolve()?;
    let revision = PolicyRevision::open(&file, now)?;
    let history = history::read_ledger(&revision.config().store_path, args.since, now).ok();
    let draft = Draft::new(&revision, history, args.since)?;
    edit_until_signed(args, &draft, now).map_err(|failure| draft.keep_on_failure(failure))
}

/// Lets the user edit until the text is signed or given up. An error leaves the text as last saved.
fn edit_until_signed(args: &Edit, draft: &Draft<'_>, now: Timestamp) -> Result<Exit, Failure> {
    let revision = draft.revision;
    loop {
        draft.edit()?;
        let text = draft.text()?;
        if text == revision.text() {
            output::stderr("nothing was changed\n");
            return Ok(Exit::Ok);
        }
        let is_valid = draft.is_valid(&text);
        if !args.output.json || !is_valid {
            output::stderr(&draft.change_text(&text));
            output::stderr(&draft.review_text(&text));
        }
        if args.sign.yes || !questions::has_terminal() {
            if !is_valid {
                let message = "the policy has errors, and nothing was signed";
                return Err(Failure::new(Exit::Invalid, "policy.edit", message));
            }
            if !args.sign.yes {
                let kept = draft.keep()?;
                output::stderr(&format!("kept in {}; sign it with --yes\n", kept.display()));
                return Ok(Exit::Ok);
            }
        } else {
            let question =
                if is_valid { "[s]ign, [e]dit again, [q]uit? " } else { "[e]dit again, [q]uit? " };
            match questions::ask(question)?.as_str() {
                "s" | "sign" if is_valid => {}
                "q" | "quit" => return Ok(Exit::Ok),
                _ => continue,
            }
        }
        // The text that was shown, whatever the file says by now.
        let version = args.sign.sign(revision, &text, now)?;
        draft.is_signed.set(true);
        return signing::print_signed(revision, version, args.output.format());
    }
}

/// The text that is edited, in a temporary file. It is in a folder that servers are denied: they work
/// in that of the configuration, and would write in what the user signs.
struct Draft<'r> {
    revision: &'r PolicyRevision,
    history: Option<CallHistory>,
    span: Duration,
    path: PathBuf,
    is_signed: Cell<bool>,
}

impl<'r> Draft<'r> {
    fn new(
        revision: &'r PolicyRevision,
        history: Option<CallHistory>,
        span: Duration,
    ) -> Result<Self, Failure> {
        let name = random_text("policy-draft-", 6, &OsRandom)
            .map_err(|error| Failure::new(Exit::Internal, "policy.random", error))?;
        let path = revision.draft_folder()?.join(format!("{name}.toml"));
        write_new_file(&path, revision.text()).map_err(|error| unwritable(&path, &error))?;
        Ok(Self { revision, history, span, path, is_signed: Cell::new(false) })
    }

    fn text(&self) -> Result<String, Failure> {
        bounded_file::read_text(&self.path, MAX_DOCUMENT_BYTES).map_err(|error| {
            let message = format!("{}: {error}", self.path.display());
            Failure::new(Exit::Invalid, "policy.unreadable", message)
                .with_next_step("save the text under the name that it had")
        })
    }

    /// Runs the editor, and prints the review of each save.
    fn edit(&self) -> Result<(), Failure> {
        let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
        let editor = editor.filter(|editor| !editor.trim().is_empty());
        let editor = editor.unwrap_or_else(|| "vi".to_owned());
        let program = editor.split_whitespace().next().unwrap_or_default();
        let plain = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        let reports_saves = !TERMINAL_EDITORS.contains(&plain.as_ref());
        // The editor is a shell command line, as for git.
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&self.path);
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("the editor `{}` failed: {error}", escape::line(&editor));
            Failure::new(Exit::Invalid, "policy.editor", message).with_next_step(
                "set EDITOR to a command that edits a file and ends when you are done",
            )
        };
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let mut seen = self.saved_at();
        loop {
            match child.try_wait().map_err(|error| failed(&error))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(failed(&status)),
                None => thread::sleep(POLL_INTERVAL),
            }
            let saved = self.saved_at();
            if reports_saves && saved != seen {
                seen = saved;
                if let Ok(text) = self.text() {
                    output::stderr(&self.review_text(&text));
                }
            }
        }
    }

    fn saved_at(&self) -> Option<SystemTime> {
        std::fs::metadata(&self.path).and_then(|data| data.modified()).ok()
    }

    /// Whether the text is a valid policy.
    fn is_valid(&self, text: &str) -> bool {
        self.revision.draft(text, SystemClock::default().now()).is_ok()
    }

    /// What the text changes in the policy in force.
    fn change_text(&self, text: &str) -> String {
        let mut out = String::new();
        for line in unified_diff("policy.toml", self.revision.text(), text, &[]).lines() {
            out.push_str(&format!("{}\n", escape::line(line)));
        }
        out
    }

    /// The errors in the text; or what lint finds, and a replay of the recorded calls.
    fn review_text(&self, text: &str) -> String {
        let now = SystemClock::default().now();
        let line = |text: &str| escape::line(text).into_owned();
        let set = match self.revision.draft(text, now) {
            Ok(set) => set,
            Err(error) => {
                let findings = error.findings();
                let told = findings.iter().map(|one| {
                    let place = one.line.map(|line| format!(":{line}")).unwrap_or_default();
                    format!(
                        "policy.toml{place}: {}\n  → {}\n",
                        line(&one.message),
                        line(&one.remedy)
                    )
                });
                return told.collect();
            }
        };
        let mut out = String::new();
        for one in lint(&set, &CapabilitySet::from_documents(&set), now) {
            let (place, message) = (line(&one.place), line(&one.message));
            out.push_str(&format!("{place}: {message} [{}]\n", one.code.as_str()));
        }
        if let Some(history) = &self.history {
            let report = replay::replay_history(&set, history, self.span, now);
            out.push_str(&format!("{}\n", output::bold(&report.summary())));
        }
        out
    }

    /// Keeps the changed text after a failure, and adds to the failure where it is.
    fn keep_on_failure(&self, failure: Failure) -> Failure {
        let is_changed =
            std::fs::read(&self.path).is_ok_and(|bytes| bytes != self.revision.text().as_bytes());
        if self.is_signed.get() || !is_changed {
            return failure;
        }
        let kept = match self.keep() {
            Ok(kept) => format!("your text is kept in {}", kept.display()),
            Err(error) => format!("your text could not be kept: {}", error.message),
        };
        let next = match &failure.next {
            Some(next) => format!("{next}; {kept}"),
            None => kept,
        };
        failure.with_next_step(next)
    }

    /// Copies the text to a new file that is kept.
    fn keep(&self) -> Result<PathBuf, Failure> {
        let folder = self.revision.draft_folder()?;
        let text = self.text()?;
        let names = (2..MAX_KEPT_DRAFTS).map(|number| format!("policy-draft-{number}.toml"));
        let mut names = std::iter::once("policy-draft.toml".to_owned()).chain(names);
        let kept = names.find_map(|name| {
            let path = folder.join(name);
            let written = write_new_file(&path, &text);
            let is_there = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
            (!written.as_ref().is_err_and(is_there)).then_some((path, written))
        });
        let (path, written) = kept.ok_or_else(|| {
            let message =
                format!("{MAX_KEPT_DRAFTS} drafts are kept in {} already", folder.display());
            Failure::new(Exit::Invalid, "policy.drafts", message).with_next_step("remove old ones")
        })?;
        written.map_err(|error| unwritable(&path, &error))?;
        Ok(path)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // A text to be kept has been copied.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("{} cannot be written: {error}", path.display());
    Failure::new(Exit::Invalid, "policy.unwritable", message)
        .with_next_step("make the folder writable")
}
