//! What outlives a gateway of its clients' sessions over HTTP.
//!
//! A gateway that follows another in the same process, for a changed configuration or after a
//! command has borrowed the store, knows no session of it, nor does one that takes its place after
//! an upgrade. A client that goes on with one would be told to initialize again, at which some give
//! up. So what a client has set up is kept apart from the gateway, in a file once the process ends,
//! and with the next request of the same caller its session is opened again. The file opens nothing
//! to whoever reads it: a session answers to the token of its caller alone.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::session_setup::{MAX_LOG_LEVEL_BYTES, MAX_SUBSCRIPTION_BYTES, SessionSetup};
use crate::{bounded_file, private_file};

/// The most sessions that are kept.
const MAX_SESSIONS: usize = 1_000;
/// A message with larger parameters is not kept; a session that was opened with one is not opened
/// again. Together with [`MAX_SUBSCRIPTION_BYTES`] and [`MAX_LOG_LEVEL_BYTES`], a session takes at
/// most 32 KiB.
const MAX_PARAMS_BYTES: usize = 15 * 1024;
const MAX_SESSION_BYTES: usize = MAX_PARAMS_BYTES + MAX_SUBSCRIPTION_BYTES + MAX_LOG_LEVEL_BYTES;
/// The largest file of sessions that is read: as many as are kept, each as large as it can be, where
/// every byte of their parameters is escaped, and their keys.
const MAX_FILE_BYTES: usize = MAX_SESSIONS * (2 * MAX_SESSION_BYTES + 1024);

/// The setup of sessions by id.
#[derive(Debug, Default)]
pub struct SessionArchive {
    by_id: Mutex<BTreeMap<String, ArchivedSession>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ArchivedSession {
    /// The session key of its caller.
    owner: String,
    setup: SessionSetup,
    #[serde(skip, default = "Instant::now")]
    last_used: Instant,
}

impl SessionArchive {
    /// Writes the sessions for the process that follows.
    pub(crate) fn save(&self, file: &Path) -> io::Result<()> {
        let all = self.lock();
        if all.is_empty() {
            return Ok(());
        }
        let mut options = private_file::file_options();
        let mut file = options.create(true).write(true).truncate(true).open(file)?;
        file.write_all(&serde_json::to_vec(&*all)?)
    }

    /// Takes over the sessions of the process before this one, unless it ended too long ago. What
    /// cannot be read is left out: clients then initialize again.
    pub(crate) fn load(&self, file: &Path) {
        let age = file.metadata().and_then(|about| about.modified()).map(|time| time.elapsed());
        let Ok(Ok(age)) = age else { return };
        let text = bounded_file::read_text(file, MAX_FILE_BYTES);
        let _ = std::fs::remove_file(file);
        if age > super::sessions::IDLE_TIMEOUT {
            return;
        }
        let sessions = text.map_err(io::Error::other);
        match sessions.and_then(|text| Ok(serde_json::from_str(&text)?)) {
            Ok(sessions) => *self.lock() = sessions,
            Err(error) => {
                tracing::warn!(%error, "clients over HTTP have to open their sessions again");
            }
        }
    }

    /// Records a message of a session.
    pub(super) fn record(&self, id: &str, owner: &str, message: &Value) {
        let method = message.get("method").and_then(Value::as_str);
        let written = || message.get("params").map(Value::to_string);
        let params = || written().filter(|params| params.len() <= MAX_PARAMS_BYTES);
        let mut all = self.lock();
        if method == Some("initialize") {
            let is_large = message.get("params").is_some() && params().is_none();
            if is_large || all.len() >= MAX_SESSIONS {
                all.remove(id);
                return;
            }
            let owner = owner.to_owned();
            let new = || ArchivedSession {
                owner,
                setup: SessionSetup::default(),
                last_used: Instant::now(),
            };
            all.entry(id.to_owned()).or_insert_with(new);
        }
        if let Some(session) = all.get_mut(id) {
            session.last_used = Instant::now();
            session.setup.record(method, params);
        }
    }

    /// What the caller with this session key has set up in a session.
    pub(super) fn setup(&self, id: &str, owner: &str) -> Option<SessionSetup> {
        let all = self.lock();
        all.get(id).filter(|session| session.owner == owner).map(|session| session.setup.clone())
    }

    /// Forgets a session that has ended.
    pub(super) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Forgets those that were not used for this long, and are none of the gateway's.
    pub(super) fn remove_idle(&self, limit: Duration, is_open: impl Fn(&str) -> bool) {
        self.lock().retain(|id, session| session.last_used.elapsed() <= limit || is_open(id));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, ArchivedSession>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_its_caller_finds_a_session_again() {
        let archive = SessionArchive::default();
        archive.record("ses_1", "ana", &json!({ "method": "initialize", "params": {} }));
        assert!(archive.setup("ses_1", "eve").is_none());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sessions.json");
        archive.save(&file).unwrap();
        let next = SessionArchive::default();
        next.load(&file);
        assert!(next.setup("ses_1", "ana").is_some() && next.setup("ses_1", "eve").is_none());
        assert!(!file.exists(), "they are taken over once");
        std::fs::write(&file, "{").unwrap();
        next.load(&file);
        assert!(next.setup("ses_1", "ana").is_some(), "what cannot be read changes nothing");
        assert_eq!(archive.setup("ses_1", "ana").unwrap().restore_messages().len(), 1);
        archive.remove("ses_1");
        assert!(archive.setup("ses_1", "ana").is_none());
    }

    #[test]
    fn as_many_sessions_as_are_kept_fit_into_the_file() {
        let archive = SessionArchive::default();
        let quotes = |bytes: usize| "\"".repeat(bytes);
        let watched = |name: &str| {
            let uri = format!("{name}{}", quotes(MAX_SUBSCRIPTION_BYTES / 4 - 20));
            json!({ "method": "resources/subscribe", "params": { "uri": uri } })
        };
        // In JSON a quotation mark takes two bytes.
        let opening = json!({ "method": "initialize", "params": { "x": quotes(7_500) } });
        for number in 0..MAX_SESSIONS {
            let id = number.to_string();
            archive.record(&id, "ana", &opening);
            archive.record(&id, "ana", &watched("a"));
            archive.record(&id, "ana", &watched("b"));
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sessions.json");
        archive.save(&file).unwrap();
        assert!(file.metadata().unwrap().len() > 60_000_000);
        let next = SessionArchive::default();
        next.load(&file);
        assert!((0..MAX_SESSIONS).all(|number| next.setup(&number.to_string(), "ana").is_some()));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let archive = SessionArchive::default();
        let opening = json!({ "method": "initialize", "params": {} });
        for number in 0..=MAX_SESSIONS {
            archive.record(&number.to_string(), "ana", &opening);
        }
        assert!(archive.setup(&MAX_SESSIONS.to_string(), "ana").is_none());
        archive.remove_idle(Duration::ZERO, |id| id == "7");
        let large = json!({ "method": "initialize", "params": { "x": "y".repeat(40_000) } });
        archive.record("large", "ana", &large);
        assert!(archive.setup("large", "ana").is_none());
        let level = json!({ "method": "logging/setLevel", "params": { "x": "y".repeat(40_000) } });
        archive.record("7", "ana", &json!({ "method": "notifications/initialized" }));
        archive.record("7", "ana", &level);
        let kept = archive.setup("7", "ana").unwrap().restore_messages();
        assert!(kept.iter().map(Vec::len).sum::<usize>() < 1_000, "a large level is not kept");
        assert!(archive.setup("7", "ana").is_some() && archive.setup("8", "ana").is_none());
        archive.record("unknown", "ana", &json!({ "method": "tools/list" }));
        assert!(archive.setup("unknown", "ana").is_none());
    }
}
