//! The storage of logins.

use std::sync::{Arc, Mutex, PoisonError};

use weaver_types::BoxFuture;

use super::error::OAuthError;
use super::login::Login;

/// Stores the login for one server.
///
/// With refresh token rotation, using a refresh token twice revokes the whole token family. So a
/// refresh must be the only writer, across all processes, from reading the login to saving the new
/// one.
pub trait LoginStore: Send + Sync {
    /// The current login.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    fn load(&self) -> Result<Option<Login>, OAuthError>;

    /// Waits until this is the only writer.
    fn lock(&self) -> BoxFuture<'_, Result<Box<dyn LoginGuard>, OAuthError>>;
}

/// The right to write, held until dropped.
pub trait LoginGuard: Send {
    /// Saves the login. It is on disk when this returns, before the old refresh token is lost.
    ///
    /// # Errors
    /// [`OAuthError::Store`]; the new tokens must then not be used.
    fn save(&mut self, login: &Login) -> Result<(), OAuthError>;

    /// Deletes the login.
    ///
    /// # Errors
    /// [`OAuthError::Store`].
    fn clear(&mut self) -> Result<(), OAuthError>;
}

/// A login that exists only in this process.
#[derive(Debug, Clone, Default)]
pub struct InMemoryLoginStore {
    login: Arc<Mutex<Option<Login>>>,
    writer: Arc<tokio::sync::Mutex<()>>,
}

impl LoginStore for InMemoryLoginStore {
    fn load(&self) -> Result<Option<Login>, OAuthError> {
        Ok(self.login.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn lock(&self) -> BoxFuture<'_, Result<Box<dyn LoginGuard>, OAuthError>> {
        Box::pin(async {
            let writer = Arc::clone(&self.writer).lock_owned().await;
            let login = Arc::clone(&self.login);
            Ok(Box::new(MemoryGuard { login, _writer: writer }) as Box<dyn LoginGuard>)
        })
    }
}

struct MemoryGuard {
    login: Arc<Mutex<Option<Login>>>,
    _writer: tokio::sync::OwnedMutexGuard<()>,
}

impl LoginGuard for MemoryGuard {
    fn save(&mut self, login: &Login) -> Result<(), OAuthError> {
        *self.login.lock().unwrap_or_else(PoisonError::into_inner) = Some(login.clone());
        Ok(())
    }

    fn clear(&mut self) -> Result<(), OAuthError> {
        *self.login.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}
