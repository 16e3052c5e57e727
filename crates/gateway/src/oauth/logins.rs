//! Stores the gateway's logins at servers, in files beside the store that are encrypted with a key
//! of the gateway.
//!
//! Each login has a file, and a lock file beside it for its only writer, in whichever process. The
//! encryption keeps tokens out of backups and searches. It does not protect against a reader of the
//! key file in the same folder, so the folder is accessible to this user only and denied to every
//! server.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use weaver_drivers::oauth::{Login, LoginGuard, LoginStore, OAuthError};
use weaver_types::{BoxFuture, OsRandom, PrincipalId, Random as _, UpstreamName, hex};
use zeroize::Zeroizing;

use crate::bounded_file;
use crate::clients::replace_file;
use crate::file_stamp::FileStamp;
use crate::private_file;

const VERSION: u64 = 1;
const KEY_FILE_NAME: &str = "key";
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
/// The largest login file, in bytes.
const MAX_FILE_BYTES: usize = 256 * 1024;
/// How long to wait for another writer.
const LOCK_TIMEOUT: Duration = Duration::from_secs(120);
/// The pause between two attempts to take a lock.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The folder with the logins of one gateway.
#[derive(Debug, Clone)]
pub struct LoginFolder {
    folder: PathBuf,
}

impl LoginFolder {
    /// The login folder of the gateway with this store.
    #[must_use]
    pub fn for_store(store: &Path) -> Self {
        Self { folder: store.with_added_extension("logins") }
    }

    /// The stored login of this principal at this server.
    #[must_use]
    pub fn login(&self, server: &UpstreamName, principal: &PrincipalId) -> SealedLogin {
        // A principal's name may contain characters that a file name cannot, so its digest is used.
        let digest = Sha256::digest(principal.as_str().as_bytes());
        let short = hex(digest.get(..16).unwrap_or_default());
        SealedLogin {
            folder: self.folder.clone(),
            name: format!("{server}.{short}"),
            server: server.to_string(),
            principal: principal.to_string(),
            cached: Arc::default(),
        }
    }

    /// All logins at a server, sorted by principal.
    ///
    /// # Errors
    /// [`OAuthError::Store`], if the folder cannot be read.
    pub fn logins_at(&self, server: &UpstreamName) -> Result<Vec<LoginEntry>, OAuthError> {
        let unreadable = |error: &io::Error| store_error(&self.folder, error);
        let files = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.map_err(|error| unreadable(&error))?,
        };
        let mut found = Vec::new();
        for file in files {
            let path = file.map_err(|error| unreadable(&error))?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let Ok(text) = bounded_file::read_text(&path, MAX_FILE_BYTES) else { continue };
            let Ok(sealed) = serde_json::from_str::<SealedFile>(&text) else { continue };
            let Ok(principal) = PrincipalId::parse(&sealed.principal) else { continue };
            let sealed_login = self.login(server, &principal);
            // A copy under another name is not a login.
            if sealed.server == server.as_str() && sealed_login.path() == path {
                found.push(LoginEntry { login: sealed_login.load(), principal });
            }
        }
        found.sort_by(|one, other| one.principal.cmp(&other.principal));
        Ok(found)
    }
}

/// A principal's login at a server.
#[derive(Debug)]
pub struct LoginEntry {
    /// The principal who is logged in.
    pub principal: PrincipalId,
    /// The login; `None` if it was removed in the meantime.
    pub login: Result<Option<Login>, OAuthError>,
}

/// A login in an encrypted file.
#[derive(Debug, Clone)]
pub struct SealedLogin {
    folder: PathBuf,
    name: String,
    server: String,
    principal: String,
    /// The login as it was last decrypted, with the version of the file that it came from.
    cached: Arc<Mutex<Option<(FileStamp, Login)>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedFile {
    v: u64,
    server: String,
    principal: String,
    nonce: String,
    sealed: String,
}

impl SealedLogin {
    fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.name))
    }

    /// Deletes the login. Returns whether there was one.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    pub async fn forget(&self) -> Result<bool, OAuthError> {
        if !self.folder.exists() {
            return Ok(false);
        }
        let mut guard = self.lock().await?;
        let existed = self.path().exists();
        guard.clear()?;
        Ok(existed)
    }

    /// The associated data of the encryption. It ties a file to its server and principal: copied to
    /// another login, it does not decrypt.
    fn associated_data(&self) -> Vec<u8> {
        format!("weaver login v{VERSION}\n{}\n{}", self.server, self.principal).into_bytes()
    }

    fn cipher(&self) -> Result<XChaCha20Poly1305, OAuthError> {
        let path = self.folder.join(KEY_FILE_NAME);
        let text =
            bounded_file::read_text(&path, 1024).map_err(|error| store_error(&path, &error))?;
        let bytes = STANDARD.decode(text.trim()).map(Zeroizing::new);
        let bytes = bytes.map_err(|_| store_error(&path, &"it is not a key"))?;
        XChaCha20Poly1305::new_from_slice(&bytes)
            .map_err(|_| store_error(&path, &"it is not a key"))
    }

    fn decrypt(&self, text: &str) -> Result<Login, OAuthError> {
        let path = self.path();
        let file: SealedFile = serde_json::from_str(text)
            .map_err(|_| store_error(&path, &"it is not of this form"))?;
        if file.v > VERSION {
            return Err(store_error(&path, &format!("version {} needs a newer build", file.v)));
        }
        let damaged =
            || store_error(&path, &"it was changed, or its key was; run `weaver login` again");
        let nonce: [u8; NONCE_BYTES] = STANDARD
            .decode(&file.nonce)
            .ok()
            .and_then(|nonce| nonce.try_into().ok())
            .ok_or_else(damaged)?;
        let sealed = STANDARD.decode(&file.sealed).map_err(|_| damaged())?;
        let payload = Payload { msg: &sealed, aad: &self.associated_data() };
        let opened = self.cipher()?.decrypt(&XNonce::from(nonce), payload);
        let opened = Zeroizing::new(opened.map_err(|_| damaged())?);
        serde_json::from_slice(&opened).map_err(|_| damaged())
    }

    fn encrypt(&self, login: &Login) -> Result<String, OAuthError> {
        let path = self.path();
        let plain = serde_json::to_vec(login).map_err(|error| store_error(&path, &error))?;
        let plain = Zeroizing::new(plain);
        let mut nonce = [0_u8; NONCE_BYTES];
        OsRandom.fill(&mut nonce).map_err(|error| store_error(&path, &error))?;
        let payload = Payload { msg: &plain, aad: &self.associated_data() };
        let sealed = self.cipher()?.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| store_error(&path, &"it cannot be sealed"))?;
        let file = SealedFile {
            v: VERSION,
            server: self.server.clone(),
            principal: self.principal.clone(),
            nonce: STANDARD.encode(nonce),
            sealed: STANDARD.encode(sealed),
        };
        serde_json::to_string(&file).map_err(|error| store_error(&path, &error))
    }

    /// Creates the folder and its key if they do not exist. The key is created under a lock, so
    /// that two processes never create different keys.
    fn ensure_folder_and_key(&self) -> Result<(), OAuthError> {
        private_file::create_folders(&self.folder)
            .map_err(|error| store_error(&self.folder, &error))?;
        let path = self.folder.join(KEY_FILE_NAME);
        if path.exists() {
            return Ok(());
        }
        let lock = private_options().open(self.folder.join("key.lock"));
        let lock = lock.map_err(|error| store_error(&path, &error))?;
        lock.lock().map_err(|error| store_error(&path, &error))?;
        if path.exists() {
            return Ok(());
        }
        let mut key = Zeroizing::new([0_u8; KEY_BYTES]);
        OsRandom.fill(key.as_mut_slice()).map_err(|error| store_error(&path, &error))?;
        let text = Zeroizing::new(format!("{}\n", STANDARD.encode(*key)));
        replace_file(&path, &text).map_err(|error| store_error(&path, &error))
    }
}

impl LoginStore for SealedLogin {
    fn load(&self) -> Result<Option<Login>, OAuthError> {
        let path = self.path();
        let version = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(store_error(&path, &error)),
            Ok(metadata) => FileStamp::of(&metadata),
        };
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, login)) = cached.as_ref().filter(|(at, _)| *at == version) {
            return Ok(Some(login.clone()));
        }
        let text = bounded_file::read_text(&path, MAX_FILE_BYTES)
            .map_err(|error| store_error(&path, &error))?;
        let login = self.decrypt(&text)?;
        *cached = Some((version, login.clone()));
        Ok(Some(login))
    }

    fn lock(&self) -> BoxFuture<'_, Result<Box<dyn LoginGuard>, OAuthError>> {
        Box::pin(async {
            self.ensure_folder_and_key()?;
            let path = self.folder.join(format!("{}.lock", self.name));
            let lock = private_options().open(&path).map_err(|error| store_error(&path, &error))?;
            let end = tokio::time::Instant::now() + LOCK_TIMEOUT;
            loop {
                match lock.try_lock() {
                    Ok(()) => break,
                    Err(fs::TryLockError::WouldBlock) if tokio::time::Instant::now() < end => {
                        tokio::time::sleep(LOCK_RETRY_PAUSE).await;
                    }
                    Err(fs::TryLockError::WouldBlock) => {
                        return Err(store_error(&path, &"another process has it for too long"));
                    }
                    Err(fs::TryLockError::Error(error)) => return Err(store_error(&path, &error)),
                }
            }
            Ok(Box::new(SealedGuard { login: self.clone(), _lock: lock }) as Box<dyn LoginGuard>)
        })
    }
}

/// The only writer of a login, for as long as it lives.
struct SealedGuard {
    login: SealedLogin,
    _lock: File,
}

impl LoginGuard for SealedGuard {
    fn save(&mut self, login: &Login) -> Result<(), OAuthError> {
        let text = self.login.encrypt(login)?;
        let path = self.login.path();
        replace_file(&path, &text).map_err(|error| store_error(&path, &error))
    }

    fn clear(&mut self) -> Result<(), OAuthError> {
        let path = self.login.path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(store_error(&path, &error))
            }
            _ => Ok(()),
        }
    }
}

fn private_options() -> OpenOptions {
    let mut options = private_file::file_options();
    options.write(true).create(true).truncate(false);
    options
}

fn store_error(path: &Path, problem: &dyn std::fmt::Display) -> OAuthError {
    OAuthError::Store(format!("{}: {problem}", path.display()))
}

#[cfg(test)]
mod tests;
