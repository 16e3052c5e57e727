//! Notifications from a server.

use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

use super::server_list::ServerList;

/// The severity of a log message in the order of RFC 5424, least severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Normal but significant.
    Notice,
    /// A possible problem.
    Warning,
    /// An error.
    Error,
    /// A component has failed.
    Critical,
    /// Immediate action is needed.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LogLevel {
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The name in the protocol.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

/// The text is not the name of a log level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a level is one of debug, info, notice, warning, error, critical, alert, emergency")]
pub struct UnknownLogLevel;

impl FromStr for LogLevel {
    type Err = UnknownLogLevel;

    fn from_str(word: &str) -> Result<Self, UnknownLogLevel> {
        Self::ALL.into_iter().find(|level| level.as_str() == word).ok_or(UnknownLogLevel)
    }
}

/// A notification of a server that is not bound to a call. All text in it is untrusted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ServerNotification {
    /// A list has changed.
    ListChanged(ServerList),
    /// A subscribed resource has changed.
    ResourceUpdated {
        /// Its URI, as the server writes it.
        uri: String,
    },
    /// A log message.
    Log {
        /// Its severity.
        level: LogLevel,
        /// The component of the server that logged it, if named.
        logger: Option<String>,
        /// The content: any JSON value.
        data: Value,
    },
}

impl ServerNotification {
    /// The notifications that a message stands for; none for an unknown or malformed one.
    pub(crate) fn parse(method: &str, params: &Value) -> Vec<Self> {
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        match method {
            "notifications/resources/updated" => {
                text("uri").map(|uri| Self::ResourceUpdated { uri: uri.to_owned() })
            }
            "notifications/message" => text("level").and_then(|level| {
                let (level, data) = (level.parse().ok()?, params.get("data")?.clone());
                Some(Self::Log { level, logger: text("logger").map(str::to_owned), data })
            }),
            _ => {
                let changed = ServerList::changed_by(method);
                return changed.iter().copied().map(Self::ListChanged).collect();
            }
        }
        .into_iter()
        .collect()
    }
}

/// Receives a server's notifications. It runs on the reading task, so it must return at once.
#[derive(Clone)]
pub struct NotificationSink(Arc<dyn Fn(ServerNotification) + Send + Sync>);

impl NotificationSink {
    /// A sink that does this.
    #[must_use]
    pub fn new(handler: impl Fn(ServerNotification) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handler))
    }

    pub(crate) fn send(&self, notification: ServerNotification) {
        (self.0)(notification);
    }
}

weaver_types::opaque_debug!(NotificationSink);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn levels_are_ordered_as_they_are_grave() {
        assert!(LogLevel::ALL.is_sorted());
        for level in LogLevel::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        assert_eq!("Info".parse::<LogLevel>(), Err(UnknownLogLevel));
    }

    #[test]
    fn a_change_of_resources_is_one_of_their_templates_too() {
        let told = ServerNotification::parse("notifications/resources/list_changed", &Value::Null);
        let lists = [ServerList::Resources, ServerList::ResourceTemplates];
        assert_eq!(told, lists.map(ServerNotification::ListChanged));
    }

    #[test]
    fn a_message_without_its_fields_is_none() {
        for params in [
            json!({}),
            json!({"level": "info"}),
            json!({"level": "loud", "data": 1}),
            json!({"level": 3, "data": 1}),
        ] {
            assert_eq!(ServerNotification::parse("notifications/message", &params), []);
        }
        let params = json!({"level": "error", "data": {"a": 1}, "logger": "db"});
        let told = ServerNotification::parse("notifications/message", &params);
        let logger = Some("db".to_owned());
        assert_eq!(
            told,
            [ServerNotification::Log { level: LogLevel::Error, logger, data: json!({"a": 1}) }]
        );
        assert_eq!(ServerNotification::parse("notifications/resources/updated", &json!({})), []);
    }
}
