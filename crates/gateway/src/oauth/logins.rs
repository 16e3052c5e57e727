//! The logins at servers, in files beside the store that are sealed under a key of the gateway.
//!
//! Each login has a file of its own, and a lock beside it that the one writer holds, whichever process
//! it is in. What is read by chance, in a backup or a search, shows no token; whoever can read the key
//! beside it can open them, which is why the folder is this user's alone and kept from every server.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

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

const VERSION: u64 = 1;
const KEY: &str = "key";
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
/// The largest file of one login, in bytes.
const MAX_FILE: usize = 256 * 1024;
/// How long the other writer is waited for.
const PATIENCE: Duration = Duration::from_secs(120);
/// The pause between two looks at a lock.
const PAUSE: Duration = Duration::from_millis(20);

/// The folder of the logins of one gateway.
#[derive(Debug, Clone)]
pub struct Logins {
    folder: PathBuf,
}

impl Logins {
    /// The logins of the gateway with this store.
    #[must_use]
    pub fn of_store(store: &Path) -> Self {
        let mut name = store.file_name().unwrap_or_default().to_owned();
        name.push(".logins");
        Self { folder: store.with_file_name(name) }
    }

    /// Where the login of this principal at this server is kept.
    #[must_use]
    pub fn login(&self, server: &UpstreamName, principal: &PrincipalId) -> SealedLogin {
        // A principal's name may hold what no file's can.
        let digest = Sha256::digest(principal.as_str().as_bytes());
        let short = hex(digest.get(..16).unwrap_or_default());
        SealedLogin {
            folder: self.folder.clone(),
            name: format!("{server}.{short}"),
            server: server.to_string(),
            principal: principal.to_string(),
            opened: Arc::default(),
        }
    }

    /// Whoever is logged in at a server, by name.
    ///
    /// # Errors
    /// [`OAuthError::Store`], when the folder cannot be read.
    pub fn at(&self, server: &UpstreamName) -> Result<Vec<LoginEntry>, OAuthError> {
        let unreadable = |error: &io::Error| failed(&self.folder, error);
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
            let Ok(text) = bounded_file::text(&path, MAX_FILE) else { continue };
            let Ok(sealed) = serde_json::from_str::<SealedFile>(&text) else { continue };
            let Ok(principal) = PrincipalId::parse(&sealed.principal) else { continue };
            let kept = self.login(server, &principal);
            // A copy under another name is no login.
            if sealed.server == server.as_str() && kept.file() == path {
                found.push(LoginEntry { login: kept.load(), principal });
            }
        }
        found.sort_by(|one, other| one.principal.cmp(&other.principal));
        Ok(found)
    }
}

/// The login of somebody at a server.
#[derive(Debug)]
pub struct LoginEntry {
    /// Whose login it is.
    pub principal: PrincipalId,
    /// What it is; `None` when it was forgotten meanwhile.
    pub login: Result<Option<Login>, OAuthError>,
}

/// A login in a sealed file.
#[derive(Debug, Clone)]
pub struct SealedLogin {
    folder: PathBuf,
    name: String,
    server: String,
    principal: String,
    /// The login as it was opened last, with the file that it was in.
    opened: Arc<Mutex<Option<(FileStamp, Login)>>>,
}

/// What tells one content of a file from another: each is written to a file of its own, which is then
/// renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: u64,
}

impl FileStamp {
    fn of(about: &fs::Metadata) -> Self {
        Self {
            length: about.len(),
            modified: about.modified().ok(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(about),
        }
    }
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
    fn file(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.name))
    }

    /// Forgets the login. True where there was one.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    pub async fn forget(&self) -> Result<bool, OAuthError> {
        if !self.folder.exists() {
            return Ok(false);
        }
        let mut guard = self.lock().await?;
        let was = self.file().exists();
        guard.clear()?;
        Ok(was)
    }

    /// What the seal covers beside the login: it opens for no other server and principal.
    fn bound(&self) -> Vec<u8> {
        format!("weaver login v{VERSION}\n{}\n{}", self.server, self.principal).into_bytes()
    }

    fn cipher(&self) -> Result<XChaCha20Poly1305, OAuthError> {
        let path = self.folder.join(KEY);
        let text = bounded_file::text(&path, 1024).map_err(|error| failed(&path, &error))?;
        let bytes = STANDARD.decode(text.trim()).map(Zeroizing::new);
        let bytes = bytes.map_err(|_| failed(&path, &"it is no key"))?;
        XChaCha20Poly1305::new_from_slice(&bytes).map_err(|_| failed(&path, &"it is no key"))
    }

    fn open(&self, text: &str) -> Result<Login, OAuthError> {
        let path = self.file();
        let file: SealedFile =
            serde_json::from_str(text).map_err(|_| failed(&path, &"it is not of this form"))?;
        if file.v > VERSION {
            return Err(failed(&path, &format!("version {} needs a newer build", file.v)));
        }
        let damaged = || failed(&path, &"it was changed, or its key was; run `weaver login` again");
        let nonce: [u8; NONCE_BYTES] = STANDARD
            .decode(&file.nonce)
            .ok()
            .and_then(|nonce| nonce.try_into().ok())
            .ok_or_else(damaged)?;
        let sealed = STANDARD.decode(&file.sealed).map_err(|_| damaged())?;
        let payload = Payload { msg: &sealed, aad: &self.bound() };
        let opened = self.cipher()?.decrypt(&XNonce::from(nonce), payload);
        let opened = Zeroizing::new(opened.map_err(|_| damaged())?);
        serde_json::from_slice(&opened).map_err(|_| damaged())
    }

    fn seal(&self, login: &Login) -> Result<String, OAuthError> {
        let path = self.file();
        let plain = serde_json::to_vec(login).map_err(|error| failed(&path, &error))?;
        let plain = Zeroizing::new(plain);
        let mut nonce = [0_u8; NONCE_BYTES];
        OsRandom.fill(&mut nonce).map_err(|error| failed(&path, &error))?;
        let payload = Payload { msg: &plain, aad: &self.bound() };
        let sealed = self.cipher()?.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| failed(&path, &"it cannot be sealed"))?;
        let file = SealedFile {
            v: VERSION,
            server: self.server.clone(),
            principal: self.principal.clone(),
            nonce: STANDARD.encode(nonce),
            sealed: STANDARD.encode(sealed),
        };
        serde_json::to_string(&file).map_err(|error| failed(&path, &error))
    }

    /// Makes the folder and its key, where they are not there. Only one that holds the lock of the
    /// folder does.
    fn prepare(&self) -> Result<(), OAuthError> {
        let mut make = DirBuilder::new();
        make.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        make.create(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let path = self.folder.join(KEY);
        if path.exists() {
            return Ok(());
        }
        let lock = private().open(self.folder.join("key.lock"));
        let lock = lock.map_err(|error| failed(&path, &error))?;
        lock.lock().map_err(|error| failed(&path, &error))?;
        if path.exists() {
            return Ok(());
        }
        let mut key = Zeroizing::new([0_u8; KEY_BYTES]);
        OsRandom.fill(key.as_mut_slice()).map_err(|error| failed(&path, &error))?;
        let text = Zeroizing::new(format!("{}\n", STANDARD.encode(*key)));
        write(&path, text.as_bytes()).map_err(|error| failed(&path, &error))
    }
}

impl LoginStore for SealedLogin {
    fn load(&self) -> Result<Option<Login>, OAuthError> {
        let path = self.file();
        let stamp = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, &error)),
            Ok(about) => FileStamp::of(&about),
        };
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, login)) = opened.as_ref().filter(|(at, _)| *at == stamp) {
            return Ok(Some(login.clone()));
        }
        let text = bounded_file::text(&path, MAX_FILE).map_err(|error| failed(&path, &error))?;
        let login = self.open(&text)?;
        *opened = Some((stamp, login.clone()));
        Ok(Some(login))
    }

    fn lock(&self) -> BoxFuture<'_, Result<Box<dyn LoginGuard>, OAuthError>> {
        Box::pin(async {
            self.prepare()?;
            let path = self.folder.join(format!("{}.lock", self.name));
            let lock = private().open(&path).map_err(|error| failed(&path, &error))?;
            let end = tokio::time::Instant::now() + PATIENCE;
            loop {
                match lock.try_lock() {
                    Ok(()) => break,
                    Err(fs::TryLockError::WouldBlock) if tokio::time::Instant::now() < end => {
                        tokio::time::sleep(PAUSE).await;
                    }
                    Err(fs::TryLockError::WouldBlock) => {
                        return Err(failed(&path, &"another process has it for too long"));
                    }
                    Err(fs::TryLockError::Error(error)) => return Err(failed(&path, &error)),
                }
            }
            Ok(Box::new(SealedGuard { login: self.clone(), _lock: lock }) as Box<dyn LoginGuard>)
        })
    }
}

/// The one writer of a login, as long as it lives.
struct SealedGuard {
    login: SealedLogin,
    _lock: File,
}

impl LoginGuard for SealedGuard {
    fn save(&mut self, login: &Login) -> Result<(), OAuthError> {
        let text = self.login.seal(login)?;
        let path = self.login.file();
        write(&path, text.as_bytes()).map_err(|error| failed(&path, &error))
    }

    fn clear(&mut self) -> Result<(), OAuthError> {
        let path = self.login.file();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, &error)),
            _ => Ok(()),
        }
    }
}

/// Writes a file whole or not at all, for this user alone, and has it on disk.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let _ = fs::remove_file(&fresh);
    let mut file = private().create_new(true).open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn failed(path: &Path, problem: &dyn std::fmt::Display) -> OAuthError {
    OAuthError::Store(format!("{}: {problem}", path.display()))
}

#[cfg(test)]
mod tests;
