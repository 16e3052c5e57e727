//! The store of logins.

use std::sync::{Arc, Mutex, PoisonError};

use weaver_types::BoxFuture;

use super::error::OAuthError;
use super::login::Login;

/// Where the login for one server is kept.
///
/// With rotation, a refresh token that is used twice ends the whole family of tokens. So whoever
/// refreshes is the only writer, in all processes, from reading to writing.
pub trait LoginStore: Send + Sync {
    /// The login as it is now.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    fn load(&self) -> Result<Option<Login>, OAuthError>;

    /// Waits until nobody else writes.
    fn lock(&self) -> BoxFuture<'_, Result<Box<dyn LoginGuard>, OAuthError>>;
}

/// The only writer, until it is dropped.
pub trait LoginGuard: Send {
    /// Keeps the login. It is on disk when this returns: the token before it is used up.
    ///
    /// # Errors
    /// [`OAuthError::Store`]; the new tokens must then not be used.
    fn save(&mut self, login: &Login) -> Result<(), OAuthError>;

    /// Forgets the login.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    fn clear(&mut self) -> Result<(), OAuthError>;
}

/// A login that ends with the process.
#[derive(Debug, Clone, Default)]
pub struct MemoryLogins {
    kept: Arc<Mutex<Option<Login>>>,
    writer: Arc<tokio::sync::Mutex<()>>,
}

impl LoginStore for MemoryLogins {
    fn load(&self) -> Result<Option<Login>, OAuthError> {
        Ok(self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn lock(&self) -> BoxFuture<'_, Result<Box<dyn LoginGuard>, OAuthError>> {
        Box::pin(async {
            let writer = Arc::clone(&self.writer).lock_owned().await;
            let kept = Arc::clone(&self.kept);
            Ok(Box::new(MemoryGuard { kept, _writer: writer }) as Box<dyn LoginGuard>)
        })
    }
}

struct MemoryGuard {
    kept: Arc<Mutex<Option<Login>>>,
    _writer: tokio::sync::OwnedMutexGuard<()>,
}

impl LoginGuard for MemoryGuard {
    fn save(&mut self, login: &Login) -> Result<(), OAuthError> {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(login.clone());
        Ok(())
    }

    fn clear(&mut self) -> Result<(), OAuthError> {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}
