//! The registry of clients over HTTP: who may connect, as which principal, and until when. A token
//! is shown once; the file contains only its digest.

mod error;
mod http_client;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use weaver_types::{OsRandom, Timestamp, hex, random_text};

use crate::bounded_file;
use crate::clients::replace_file;
use crate::file_stamp::FileStamp;
use crate::private_file;
pub use error::ClientsError;
use error::MAX_CLIENTS;
use http_client::CLIENT_KEY_PREFIX;
pub use http_client::{ClientAccess, FormerToken, HttpClient, NewClient, RemovedClient};

/// The prefix of every token, by which tools can recognise leaked ones.
pub(crate) const TOKEN_PREFIX: &str = "weaver_";
/// The random bytes of a token.
const TOKEN_BYTES: usize = 32;
/// The largest file.
const MAX_FILE_BYTES: usize = 1024 * 1024;
/// The most removed clients that the file names; the log names them all.
const MAX_REMOVED: usize = 200;
/// The most former tokens of a client that the file names.
const MAX_FORMER: usize = 8;
const VERSION: u32 = 1;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientFile {
    v: u32,
    clients: Vec<HttpClient>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<RemovedClient>,
}

/// All clients, and those that were removed.
#[derive(Debug, Default)]
pub(crate) struct ClientList {
    pub(crate) clients: Vec<HttpClient>,
    pub(crate) removed: Vec<RemovedClient>,
}

/// What becomes of a token that another one replaces.
#[derive(Debug, Clone)]
pub struct TokenRotation {
    /// How long the former token stays valid.
    pub overlap: Duration,
    /// When the new token expires.
    pub expires: Option<Timestamp>,
    /// Who replaces it.
    pub by: Option<String>,
}

/// The registry file, next to the store.
#[derive(Debug)]
pub struct ClientRegistry {
    path: PathBuf,
    cache: Mutex<Option<CachedFile>>,
}

/// The parsed file, and which version of it that is.
#[derive(Debug)]
struct CachedFile {
    stamp: FileStamp,
    by_digest: BTreeMap<String, HttpClient>,
    removed: BTreeMap<String, String>,
}

/// What the registry says of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenLookup {
    /// It belongs to this client, whose access has not expired.
    Valid(Box<HttpClient>),
    /// It has expired, or another token has replaced it.
    Expired(Box<HttpClient>),
    /// It belonged to the client of this name, which was removed.
    Removed(String),
    /// Nobody has it.
    Unknown,
}

/// Tells whether sessions have lost their client: it was removed, changed, or its access or the
/// token expired. While the file cannot be read nothing is revoked; then nobody new is admitted.
pub(crate) struct RevocationCheck {
    in_force: Option<ValidKeys>,
}

#[derive(Default)]
struct ValidKeys {
    sessions: BTreeSet<String>,
    tokens: BTreeSet<String>,
}

impl RevocationCheck {
    /// Whether the session of this key, last used with the token of this digest, has lost its
    /// client. Keys of other callers are not judged here.
    pub(crate) fn is_revoked(&self, session_key: &str, token_digest: Option<&str>) -> bool {
        let Some(keys) = &self.in_force else { return false };
        session_key.starts_with(CLIENT_KEY_PREFIX)
            && (!keys.sessions.contains(session_key)
                || token_digest.is_some_and(|digest| !keys.tokens.contains(digest)))
    }
}

impl ClientRegistry {
    /// The registry of the gateway with this store.
    #[must_use]
    pub fn of_store(store: &Path) -> Self {
        Self { path: store.with_added_extension("clients.json"), cache: Mutex::new(None) }
    }

    /// All clients.
    ///
    /// # Errors
    /// [`ClientsError::File`], if the file cannot be read.
    pub fn all(&self) -> Result<Vec<HttpClient>, ClientsError> {
        Ok(self.list()?.clients)
    }

    /// All clients, and those that were removed.
    pub(crate) fn list(&self) -> Result<ClientList, ClientsError> {
        if !self.path.exists() {
            return Ok(ClientList::default());
        }
        let text = bounded_file::read_text(&self.path, MAX_FILE_BYTES)
            .map_err(|error| self.file_error(error))?;
        let file: ClientFile =
            serde_json::from_str(&text).map_err(|error| self.file_error(error))?;
        if file.v > VERSION {
            let problem = format!("it has version {}, this build knows {VERSION}", file.v);
            return Err(self.file_error(problem));
        }
        Ok(ClientList { clients: file.clients, removed: file.removed })
    }

    /// The stamp of the file; `None` if there is none.
    pub(crate) fn stamp(&self) -> Result<Option<FileStamp>, ClientsError> {
        match fs::metadata(&self.path) {
            Ok(about) => Ok(Some(FileStamp::of(&about))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.file_error(error)),
        }
    }

    /// Adds a client and returns its token, which is stored nowhere.
    ///
    /// # Errors
    /// [`ClientsError`].
    pub fn add(&self, new: NewClient, now: Timestamp) -> Result<String, ClientsError> {
        let NewClient { name, principal, profile, access, expires, by } = new;
        if weaver_types::UpstreamName::parse(name.as_str()).is_err() {
            return Err(ClientsError::Name(name.chars().take(80).collect()));
        }
        let _lock = self.lock()?;
        let mut list = self.list()?;
        if list.clients.iter().any(|client| client.name == name) {
            return Err(ClientsError::Taken(name));
        }
        if list.clients.len() >= MAX_CLIENTS {
            return Err(ClientsError::TooManyClients);
        }
        let token = random_text(TOKEN_PREFIX, TOKEN_BYTES, &OsRandom)?;
        list.clients.push(HttpClient {
            name,
            sha256: token_digest(&token),
            first_sha256: None,
            former: Vec::new(),
            principal,
            profile,
            access,
            created: now,
            expires,
            added_by: by,
        });
        self.write(list)?;
        Ok(token)
    }

    /// Gives a client another token, which is stored nowhere. Its former token stays valid for the
    /// overlap, and both share the client's sessions; without an overlap its sessions end.
    ///
    /// # Errors
    /// [`ClientsError`].
    pub fn rotate(
        &self,
        name: &str,
        rotation: TokenRotation,
        now: Timestamp,
    ) -> Result<String, ClientsError> {
        let _lock = self.lock()?;
        let mut list = self.list()?;
        let client = list.clients.iter_mut().find(|client| client.name == name);
        let client = client.ok_or_else(|| unknown_client(name))?;
        let token = random_text(TOKEN_PREFIX, TOKEN_BYTES, &OsRandom)?;
        let former_end = now.after(rotation.overlap);
        if rotation.overlap.is_zero() {
            // Somebody else may have the token: nobody who ever had one of this client comes in.
            client.former.iter_mut().for_each(|former| former.expires = former.expires.min(now));
            client.first_sha256 = None;
        } else if client.first_sha256.is_none() {
            client.first_sha256 = Some(client.sha256.clone());
        }
        client.former.push(FormerToken {
            sha256: std::mem::replace(&mut client.sha256, token_digest(&token)),
            created: client.created,
            expires: client.expires.map_or(former_end, |end| end.min(former_end)),
        });
        client.former.drain(..client.former.len().saturating_sub(MAX_FORMER));
        (client.created, client.expires, client.added_by) = (now, rotation.expires, rotation.by);
        self.write(list)?;
        Ok(token)
    }

    /// Removes a client; its tokens are invalid from now on.
    ///
    /// # Errors
    /// [`ClientsError`].
    pub fn remove(
        &self,
        name: &str,
        by: Option<String>,
        now: Timestamp,
    ) -> Result<(), ClientsError> {
        let _lock = self.lock()?;
        let mut list = self.list()?;
        let client = list.clients.extract_if(.., |client| client.name == name).next();
        let client = client.ok_or_else(|| unknown_client(name))?;
        list.removed.push(RemovedClient { client, at: now, by });
        list.removed.drain(..list.removed.len().saturating_sub(MAX_REMOVED));
        self.write(list)
    }

    /// The client with this token. The file is read again when it has changed.
    ///
    /// Tokens are looked up by digest, so the lookup time reveals nothing about a token.
    ///
    /// # Errors
    /// [`ClientsError::File`], if the file cannot be read; then nobody is admitted.
    pub(crate) fn look_up(&self, token: &str, now: Timestamp) -> Result<TokenLookup, ClientsError> {
        let Some(stamp) = self.stamp()? else { return Ok(TokenLookup::Unknown) };
        let mut cache = self.cache.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if cache.as_ref().is_none_or(|read| read.stamp != stamp) {
            let list = self.list()?;
            let clients = list.clients.iter().flat_map(HttpClient::by_token);
            let removed = list.removed.iter().flat_map(|removed| {
                let tokens = removed.client.by_token();
                tokens.map(|client| (client.sha256, client.name))
            });
            *cache = Some(CachedFile {
                stamp,
                by_digest: clients.map(|client| (client.sha256.clone(), client)).collect(),
                removed: removed.collect(),
            });
        }
        let Some(read) = cache.as_ref() else { return Ok(TokenLookup::Unknown) };
        let digest = token_digest(token);
        Ok(match (read.by_digest.get(&digest), read.removed.get(&digest)) {
            (Some(client), _) if client.is_valid_at(now) => {
                TokenLookup::Valid(Box::new(client.clone()))
            }
            (Some(client), _) => TokenLookup::Expired(Box::new(client.clone())),
            (None, Some(name)) => TokenLookup::Removed(name.clone()),
            (None, None) => TokenLookup::Unknown,
        })
    }

    /// The client with this token, if its access has not expired.
    ///
    /// # Errors
    /// [`ClientsError::File`], if the file cannot be read; then nobody is admitted.
    pub fn find(&self, token: &str, now: Timestamp) -> Result<Option<HttpClient>, ClientsError> {
        Ok(match self.look_up(token, now)? {
            TokenLookup::Valid(client) => Some(*client),
            _ => None,
        })
    }

    /// Returns a check whether sessions have lost their client.
    pub(crate) fn revocation_check(&self, now: Timestamp) -> RevocationCheck {
        let in_force = |clients: Vec<HttpClient>| {
            let mut keys = ValidKeys::default();
            let tokens = clients.iter().flat_map(HttpClient::by_token);
            for client in tokens.filter(|client| client.is_valid_at(now)) {
                keys.sessions.insert(client.session_key());
                keys.tokens.insert(client.sha256);
            }
            keys
        };
        RevocationCheck { in_force: self.all().ok().map(in_force) }
    }

    /// Waits to become the only writer, so that a concurrent addition cannot restore a client that
    /// is being removed. If the gateway has never run, the folder of its store is created with the
    /// same private mode.
    fn lock(&self) -> Result<File, ClientsError> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_file::create_folders(folder).map_err(|error| self.file_error(error))?;
        }
        let mut options = private_file::file_options();
        let options = options.write(true).create(true).truncate(true);
        let lock = options.open(self.path.with_extension("json.lock"));
        let lock = lock.and_then(|file| file.lock().map(|()| file));
        lock.map_err(|error| self.file_error(error))
    }

    /// Replaces the file atomically.
    fn write(&self, list: ClientList) -> Result<(), ClientsError> {
        let ClientList { clients, removed } = list;
        let text = serde_json::to_string_pretty(&ClientFile { v: VERSION, clients, removed })
            .map_err(|error| self.file_error(error))?;
        replace_file(&self.path, &text).map_err(|error| self.file_error(error))
    }

    fn file_error(&self, problem: impl ToString) -> ClientsError {
        ClientsError::File { path: self.path.clone(), problem: problem.to_string() }
    }
}

fn unknown_client(name: &str) -> ClientsError {
    ClientsError::Unknown(name.chars().take(80).collect())
}

fn token_digest(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

#[cfg(test)]
mod tests;
