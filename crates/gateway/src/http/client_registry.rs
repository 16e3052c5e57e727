//! The registry of clients over HTTP: who may connect, as which principal, and until when. A token
//! is shown once; the file contains only its digest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use weaver_types::{OsRandom, PrincipalId, Timestamp, random_text};

use crate::bounded_file;
use crate::private_file;

/// The prefix of every token, by which tools can recognise leaked ones.
pub(super) const TOKEN_PREFIX: &str = "weaver_";
/// The random bytes of a token.
const TOKEN_BYTES: usize = 32;
/// The largest file.
const MAX_FILE_BYTES: usize = 1024 * 1024;
/// The most clients.
const MAX_CLIENTS: usize = 1_000;
const VERSION: u32 = 1;
/// The prefix of these clients' session keys.
const CLIENT_KEY_PREFIX: &str = "client:";

/// What a client's token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAccess {
    /// Sessions, in which tools can be called.
    #[default]
    Sessions,
    /// `/metrics` and `/readyz`, and nothing else.
    Metrics,
}

impl ClientAccess {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A client that may connect over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpClient {
    /// Its name, which identifies its runs.
    pub name: String,
    /// SHA-256 of its token, in hexadecimal.
    sha256: String,
    /// The principal that it acts as.
    pub principal: PrincipalId,
    /// Its profile; `None` means that of `[gateway]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What its token is for.
    #[serde(default, skip_serializing_if = "ClientAccess::is_default")]
    pub access: ClientAccess,
    /// When it was added.
    pub created: Timestamp,
    /// When its access expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

impl HttpClient {
    /// The key of its sessions: it changes whenever token, principal or profile change.
    pub(super) fn session_key(&self) -> String {
        let Self { name, sha256, principal, profile, .. } = self;
        format!(
            "{CLIENT_KEY_PREFIX}{name}:{sha256}:{principal}:{}",
            profile.as_deref().unwrap_or_default()
        )
    }

    fn is_valid_at(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// A client to be added.
#[derive(Debug, Clone)]
pub struct NewClient {
    /// Its name.
    pub name: String,
    /// The principal that it acts as.
    pub principal: PrincipalId,
    /// Its profile.
    pub profile: Option<String>,
    /// What its token is for.
    pub access: ClientAccess,
    /// When its access expires.
    pub expires: Option<Timestamp>,
}

/// Why the registry cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientsError {
    /// The file cannot be read or written.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A client of this name exists.
    #[error("there is a client `{0}` already; remove it first, or take another name")]
    Taken(String),
    /// No client of this name exists.
    #[error("there is no client `{0}`; `weaver clients list` shows them")]
    Unknown(String),
    /// The name is invalid.
    #[error("`{0}` cannot name a client; use up to 32 of a-z, 0-9, `_` and `-`")]
    Name(String),
    /// The registry is full.
    #[error("there are {MAX_CLIENTS} clients, which is the most; remove some")]
    TooManyClients,
    /// No token could be generated.
    #[error(transparent)]
    Random(#[from] weaver_types::RandomError),
}

impl ClientsError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "clients.file",
            Self::Taken(_) => "clients.taken",
            Self::Unknown(_) => "clients.unknown",
            Self::Name(_) => "clients.name",
            Self::TooManyClients => "clients.too_many",
            Self::Random(_) => "clients.random",
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientFile {
    v: u32,
    clients: Vec<HttpClient>,
}

/// The registry file, next to the store.
#[derive(Debug)]
pub struct ClientRegistry {
    path: PathBuf,
    cache: Mutex<Option<CachedFile>>,
}

/// The parsed file, and its size and modification time.
#[derive(Debug)]
struct CachedFile {
    stamp: (u64, SystemTime),
    by_digest: BTreeMap<String, HttpClient>,
}

impl ClientRegistry {
    /// The registry of the gateway with this store.
    #[must_use]
    pub fn of_store(store: &Path) -> Self {
        let mut name = store.file_name().unwrap_or_default().to_owned();
        name.push(".clients.json");
        Self { path: store.with_file_name(name), cache: Mutex::new(None) }
    }

    /// All clients.
    ///
    /// # Errors
    /// [`ClientsError::File`], if the file cannot be read.
    pub fn all(&self) -> Result<Vec<HttpClient>, ClientsError> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        let text = bounded_file::read_text(&self.path, MAX_FILE_BYTES)
            .map_err(|error| self.file_error(error))?;
        let file: ClientFile =
            serde_json::from_str(&text).map_err(|error| self.file_error(error))?;
        if file.v > VERSION {
            let problem = format!("it has version {}, this build knows {VERSION}", file.v);
            return Err(self.file_error(problem));
        }
        Ok(file.clients)
    }

    /// Adds a client and returns its token, which is stored nowhere.
    ///
    /// # Errors
    /// [`ClientsError`].
    pub fn add(&self, new: NewClient, now: Timestamp) -> Result<String, ClientsError> {
        let NewClient { name, principal, profile, access, expires } = new;
        if weaver_types::UpstreamName::parse(name.as_str()).is_err() {
            return Err(ClientsError::Name(name.chars().take(80).collect()));
        }
        let _lock = self.lock()?;
        let mut clients = self.all()?;
        if clients.iter().any(|client| client.name == name) {
            return Err(ClientsError::Taken(name));
        }
        if clients.len() >= MAX_CLIENTS {
            return Err(ClientsError::TooManyClients);
        }
        let token = random_text(TOKEN_PREFIX, TOKEN_BYTES, &OsRandom)?;
        let sha256 = token_digest(&token);
        clients.push(HttpClient {
            name,
            sha256,
            principal,
            profile,
            access,
            created: now,
            expires,
        });
        self.write(clients)?;
        Ok(token)
    }

    /// Removes a client; its token is invalid from now on.
    ///
    /// # Errors
    /// [`ClientsError`].
    pub fn remove(&self, name: &str) -> Result<(), ClientsError> {
        let _lock = self.lock()?;
        let mut clients = self.all()?;
        let before = clients.len();
        clients.retain(|client| client.name != name);
        if clients.len() == before {
            return Err(ClientsError::Unknown(name.chars().take(80).collect()));
        }
        self.write(clients)
    }

    /// The client with this token, if its access has not expired. The file is read again when it
    /// has changed.
    ///
    /// Tokens are looked up by digest, so the lookup time reveals nothing about a token.
    ///
    /// # Errors
    /// [`ClientsError::File`], if the file cannot be read; then nobody is admitted.
    pub fn find(&self, token: &str, now: Timestamp) -> Result<Option<HttpClient>, ClientsError> {
        let stamp = match fs::metadata(&self.path) {
            Ok(about) => (about.len(), about.modified().map_err(|error| self.file_error(error))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.file_error(error)),
        };
        let mut cache = self.cache.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if cache.as_ref().is_none_or(|read| read.stamp != stamp) {
            let all = self.all()?;
            let by_digest = all.into_iter().map(|client| (client.sha256.clone(), client)).collect();
            *cache = Some(CachedFile { stamp, by_digest });
        }
        let client = cache.as_ref().and_then(|read| read.by_digest.get(&token_digest(token)));
        Ok(client.filter(|client| client.is_valid_at(now)).cloned())
    }

    /// Returns a check whether the client of a session key has lost access: it was removed,
    /// changed, or expired. While the file cannot be read the check is false; then nobody new is
    /// admitted.
    pub(super) fn revoked_key_check(&self, now: Timestamp) -> impl Fn(&str) -> bool + use<> {
        let in_force = |clients: Vec<HttpClient>| -> BTreeSet<String> {
            let clients = clients.iter().filter(|client| client.is_valid_at(now));
            clients.map(HttpClient::session_key).collect()
        };
        let known = self.all().ok().map(in_force);
        move |key| {
            let is_unknown = known.as_ref().is_some_and(|known| !known.contains(key));
            is_unknown && key.starts_with(CLIENT_KEY_PREFIX)
        }
    }

    /// Waits to become the only writer, so that a concurrent addition cannot restore a client that
    /// is being removed. If the gateway has never run, the folder of its store is created with the
    /// same private mode.
    fn lock(&self) -> Result<File, ClientsError> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_file::create_folders(folder).map_err(|error| self.file_error(error))?;
        }
        let lock = create_empty(&self.path.with_extension("json.lock"));
        let lock = lock.and_then(|file| file.lock().map(|()| file));
        lock.map_err(|error| self.file_error(error))
    }

    /// Replaces the file atomically.
    fn write(&self, clients: Vec<HttpClient>) -> Result<(), ClientsError> {
        let text = serde_json::to_string_pretty(&ClientFile { v: VERSION, clients })
            .map_err(|error| self.file_error(error))?;
        let new_file = self.path.with_extension("json.new");
        let written = create_empty(&new_file).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written
            .and_then(|()| fs::rename(&new_file, &self.path))
            .map_err(|error| self.file_error(error))
    }

    fn file_error(&self, problem: impl ToString) -> ClientsError {
        ClientsError::File { path: self.path.clone(), problem: problem.to_string() }
    }
}

/// Creates an empty file that only this user can read.
fn create_empty(path: &Path) -> io::Result<File> {
    private_file::file_options().write(true).create(true).truncate(true).open(path)
}

fn token_digest(token: &str) -> String {
    Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
