//! The system's keychain: Keychain Services on macOS, the Credential Manager on Windows, and
//! elsewhere a Secret Service such as GNOME Keyring, KWallet or KeePassXC.
//!
//! # Security
//!
//! A keychain encrypts its entries on disk. While it is unlocked, a Secret Service hands any entry
//! to every program of the session. That is enough for the secrets of servers, which clients used
//! to keep in plain text. The passphrase of the approver's key is never stored there, since the
//! agent may be such a program.

use zeroize::Zeroizing;

/// The service name of all our entries.
pub const KEYCHAIN_SERVICE: &str = "weaver";
/// The longest name of an entry, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// A store of named secrets.
pub trait Keychain {
    /// The secret of this name; `None` if there is none.
    ///
    /// # Errors
    /// [`KeychainError`].
    fn read(&self, name: &str) -> Result<Option<Zeroizing<String>>, KeychainError>;

    /// Stores a secret, replacing one of the same name.
    ///
    /// # Errors
    /// [`KeychainError`].
    fn write(&self, name: &str, value: &str) -> Result<(), KeychainError>;

    /// Removes a secret. It is no error if there is none.
    ///
    /// # Errors
    /// [`KeychainError`].
    fn remove(&self, name: &str) -> Result<(), KeychainError>;
}

/// The keychain of the user that runs this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemKeychain;

impl SystemKeychain {
    /// Checks that a keychain answers, without asking the user to unlock it.
    ///
    /// # Errors
    /// [`KeychainError`], if none does.
    pub fn check_reachable(&self) -> Result<(), KeychainError> {
        system::check_reachable()
    }
}

impl Keychain for SystemKeychain {
    fn read(&self, name: &str) -> Result<Option<Zeroizing<String>>, KeychainError> {
        system::read(name.to_owned())
    }

    fn write(&self, name: &str, value: &str) -> Result<(), KeychainError> {
        system::write(name.to_owned(), Zeroizing::new(value.to_owned()))
    }

    fn remove(&self, name: &str) -> Result<(), KeychainError> {
        system::remove(name.to_owned())
    }
}

/// Why a keychain could not be used. No message holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeychainError {
    /// The build has no access to keychains.
    #[error("this build of weaver knows no keychain")]
    NotBuilt,
    /// No keychain answers.
    #[error("no keychain is reachable: {reason}")]
    Unreachable {
        /// Why.
        reason: String,
    },
    /// The keychain is locked, or access to it was declined.
    #[error("the keychain gives no access: {reason}")]
    NoAccess {
        /// Why.
        reason: String,
    },
    /// Nobody unlocked the keychain in time.
    #[error("the keychain did not answer in time")]
    TimedOut,
    /// The content or the name of the entry is invalid.
    #[error("its entry in the keychain is not usable: {reason}")]
    Unusable {
        /// Why.
        reason: &'static str,
    },
}

impl KeychainError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotBuilt => "keychain.not_built",
            Self::Unreachable { .. } => "keychain.unreachable",
            Self::NoAccess { .. } => "keychain.no_access",
            Self::TimedOut => "keychain.timed_out",
            Self::Unusable { .. } => "keychain.unusable",
        }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotBuilt => {
                "build weaver with `--features keychain`, or write `${NAME}` and set the variable"
            }
            Self::Unreachable { .. } => {
                "start weaver in the session whose keychain it is, or write `${NAME}` and set the \
                 variable"
            }
            Self::NoAccess { .. } | Self::TimedOut => "unlock the keychain and try again",
            Self::Unusable { .. } => "remove the entry and store it again",
        }
    }
}

/// Whether this is a valid name of an entry.
pub(crate) fn is_entry_name(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(legal)
}

/// Tells the user how to add an entry of this name with the system's own tool.
pub(crate) fn add_entry_hint(name: &str) -> String {
    if cfg!(target_os = "macos") {
        format!("add it: security add-generic-password -s {KEYCHAIN_SERVICE} -a {name} -w")
    } else if cfg!(windows) {
        format!("add it: cmdkey /generic:{name}.{KEYCHAIN_SERVICE} /user:{name} /pass")
    } else {
        format!(
            "add it: secret-tool store --label={name} service {KEYCHAIN_SERVICE} username {name}"
        )
    }
}

#[cfg(not(feature = "keychain"))]
mod system {
    use zeroize::Zeroizing;

    use super::KeychainError;

    pub(super) fn check_reachable() -> Result<(), KeychainError> {
        Err(KeychainError::NotBuilt)
    }

    pub(super) fn read(_: String) -> Result<Option<Zeroizing<String>>, KeychainError> {
        Err(KeychainError::NotBuilt)
    }

    pub(super) fn write(_: String, _: Zeroizing<String>) -> Result<(), KeychainError> {
        Err(KeychainError::NotBuilt)
    }

    pub(super) fn remove(_: String) -> Result<(), KeychainError> {
        Err(KeychainError::NotBuilt)
    }
}

#[cfg(feature = "keychain")]
mod system {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use keyring::Error;
    use keyring::v1::Entry;
    use zeroize::Zeroizing;

    use super::{KEYCHAIN_SERVICE, KeychainError};

    /// How long the user may take to unlock the keychain.
    const UNLOCK_TIMEOUT: Duration = Duration::from_secs(60);
    /// How much of a keychain's error message is shown, in characters.
    const MAX_REASON_CHARS: usize = 200;

    pub(super) fn check_reachable() -> Result<(), KeychainError> {
        run_with_timeout(|| match Entry::store_status() {
            Ok(()) => Ok(()),
            Err(error) => Err(KeychainError::Unreachable { reason: error_excerpt(error) }),
        })
    }

    pub(super) fn read(name: String) -> Result<Option<Zeroizing<String>>, KeychainError> {
        run_with_timeout(move || match entry(&name)?.get_password() {
            Ok(value) => Ok(Some(Zeroizing::new(value))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(keychain_error(&error)),
        })
    }

    pub(super) fn write(name: String, value: Zeroizing<String>) -> Result<(), KeychainError> {
        run_with_timeout(move || {
            entry(&name)?.set_password(&value).map_err(|error| keychain_error(&error))
        })
    }

    pub(super) fn remove(name: String) -> Result<(), KeychainError> {
        run_with_timeout(move || match entry(&name)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(keychain_error(&error)),
        })
    }

    fn entry(name: &str) -> Result<Entry, KeychainError> {
        if let Err(error) = Entry::store_status() {
            return Err(KeychainError::Unreachable { reason: error_excerpt(error) });
        }
        Entry::new(KEYCHAIN_SERVICE, name).map_err(|error| keychain_error(&error))
    }

    /// Runs `work` on a thread of its own: it blocks until the user has unlocked the keychain, and
    /// the library must not be called from a thread of an asynchronous runtime.
    fn run_with_timeout<T: Send + 'static>(
        work: impl FnOnce() -> Result<T, KeychainError> + Send + 'static,
    ) -> Result<T, KeychainError> {
        let (done, result) = mpsc::sync_channel(1);
        let started = thread::Builder::new().name("keychain".to_owned()).spawn(move || {
            // After a timeout nobody receives the result.
            let _ = done.send(work());
        });
        started.map_err(|error| KeychainError::Unreachable { reason: error.to_string() })?;
        result.recv_timeout(UNLOCK_TIMEOUT).map_err(|_| KeychainError::TimedOut)?
    }

    /// Converts an error. Errors about the content of an entry contain that content, so their text
    /// is not shown.
    fn keychain_error(error: &Error) -> KeychainError {
        match error {
            Error::NoStorageAccess(_) => KeychainError::NoAccess { reason: error_excerpt(error) },
            Error::BadEncoding(_) => KeychainError::Unusable { reason: "it is not text" },
            Error::BadDataFormat(..) | Error::BadStoreFormat(_) => {
                KeychainError::Unusable { reason: "it is not of the form that is known" }
            }
            Error::TooLong(..) | Error::Invalid(..) => {
                KeychainError::Unusable { reason: "the keychain takes no name or value like this" }
            }
            Error::Ambiguous(_) => {
                KeychainError::Unusable { reason: "there are several of this name" }
            }
            _ => KeychainError::Unreachable { reason: error_excerpt(error) },
        }
    }

    fn error_excerpt(error: &Error) -> String {
        weaver_text::escape::shorten(&error.to_string(), MAX_REASON_CHARS).into_owned()
    }
}
