//! What a client has chosen once, and every connection to a server gets.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::connection::Connection;
use super::notification::LogLevel;

/// The subscriptions and the log level of every connection to a server.
#[derive(Default)]
pub(super) struct ConnectionPreferences {
    /// The resources to subscribe to.
    pub(super) subscribed: BTreeSet<String>,
    /// The lowest level of log messages to receive.
    pub(super) log_level: Option<LogLevel>,
}

impl ConnectionPreferences {
    /// Applies them to a new connection. It runs in the background, so that users of the
    /// connection do not wait for it.
    pub(super) fn apply(&self, connection: &Arc<Connection>) {
        let (subscribed, level) = (self.subscribed.clone(), self.log_level);
        if subscribed.is_empty() && level.is_none() {
            return;
        }
        let connection = Arc::clone(connection);
        tokio::spawn(async move {
            if let Some(level) = level.filter(|_| has_log(&connection)) {
                let _ = connection.set_log_level(level).await;
            }
            for uri in subscribed {
                let _ = connection.subscribe(&uri).await;
            }
        });
    }
}

/// Whether the server declares logging.
pub(super) fn has_log(connection: &Connection) -> bool {
    connection.server().capability("logging").is_some()
}
