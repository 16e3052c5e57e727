//! Records what a client has set up in its session, to restore it at the next gateway.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The id of requests that restore a session; no client uses it.
pub(crate) const RESUME_ID: &str = "\"weaver/resume\"";

/// How many bytes of subscriptions are recorded; the client must renew any beyond that.
pub(crate) const MAX_SUBSCRIPTION_BYTES: usize = 16 * 1024;
/// A log level with longer parameters is not recorded: the longest that exists has nine letters.
pub(crate) const MAX_LOG_LEVEL_BYTES: usize = 1024;

/// What a client has set up in its session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SessionSetup {
    /// The parameters of `initialize`, once it was sent.
    initialize: Option<Option<String>>,
    initialized: bool,
    /// The parameters of the last `logging/setLevel`.
    log_level: Option<String>,
    /// The parameters of active resource subscriptions.
    subscribed: BTreeSet<String>,
}

impl SessionSetup {
    /// Records a message of the client, by its method and its parameters in JSON.
    pub(crate) fn record(&mut self, method: Option<&str>, params: impl Fn() -> Option<String>) {
        match method {
            Some("initialize") => {
                *self = Self { initialize: Some(params()), ..Self::default() };
            }
            Some("notifications/initialized") => self.initialized = true,
            Some("logging/setLevel") => {
                self.log_level = params().filter(|level| level.len() <= MAX_LOG_LEVEL_BYTES);
            }
            Some("resources/subscribe") => {
                let kept: usize = self.subscribed.iter().map(String::len).sum();
                let fits = |params: &String| kept + params.len() <= MAX_SUBSCRIPTION_BYTES;
                self.subscribed.extend(params().filter(fits));
            }
            Some("resources/unsubscribe") => {
                params().map(|params| self.subscribed.remove(&params));
            }
            _ => {}
        }
    }

    /// The messages that restore the session; none before the client has initialised it.
    pub(crate) fn restore_messages(&self) -> Vec<Vec<u8>> {
        let Some(initialize) = &self.initialize else { return Vec::new() };
        let mut lines = vec![resume_request("initialize", initialize.as_deref())];
        if self.initialized {
            lines.push(initialized_notification());
            let level = self.log_level.iter();
            lines.extend(level.map(|params| resume_request("logging/setLevel", Some(params))));
            let subscribed = self.subscribed.iter();
            lines.extend(
                subscribed.map(|params| resume_request("resources/subscribe", Some(params))),
            );
        }
        lines
    }
}

/// A request that restores part of a session, with its original parameters.
fn resume_request(method: &str, params: Option<&str>) -> Vec<u8> {
    let params = params.unwrap_or("{}");
    line(&format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{RESUME_ID},\"method\":\"{method}\",\"params\":{params}}}"
    ))
}

/// The notification that follows `initialize`.
fn initialized_notification() -> Vec<u8> {
    let message: Value = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    line(&message.to_string())
}

fn line(message: &str) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(setup: &mut SessionSetup, line: &str) {
        let message: Value = serde_json::from_str(line).unwrap();
        let params = || message.get("params").map(Value::to_string);
        setup.record(message["method"].as_str(), params);
    }

    fn noted(lines: &[&str]) -> Vec<String> {
        let mut setup = SessionSetup::default();
        for line in lines {
            record(&mut setup, line);
        }
        let lines = setup.restore_messages().into_iter();
        lines.map(|line| String::from_utf8(line).unwrap().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_session_is_set_up_again_as_its_client_left_it() {
        let opened = [
            r#"{"id":1,"method":"initialize","params":{"a":1}}"#,
            r#"{"method":"notifications/initialized"}"#,
        ];
        let watch =
            |uri: &str| format!(r#"{{"id":2,"method":"resources/subscribe","params":{uri}}}"#);
        let (one, other) = (watch(r#"{"uri":"a"}"#), watch(r#"{"uri":"b"}"#));
        let level = r#"{"id":3,"method":"logging/setLevel","params":{"level":"info"}}"#;
        let gone = other.replace("subscribe", "unsubscribe");
        let lines = noted(&[&opened[..], &[level, &one, &other, &gone]].concat());
        let wanted = [
            r#""method":"initialize","params":{"a":1}}"#,
            r#""method":"notifications/initialized"}"#,
            r#""method":"logging/setLevel","params":{"level":"info"}}"#,
            r#""method":"resources/subscribe","params":{"uri":"a"}}"#,
        ];
        assert_eq!(lines.len(), wanted.len(), "{lines:?}");
        for (line, wanted) in lines.iter().zip(wanted) {
            assert!(line.ends_with(wanted) || line.contains("initialized"), "{line}");
        }
        assert!(noted(&[level]).is_empty(), "no session was opened");
    }

    #[test]
    fn what_is_watched_is_bounded() {
        let mut setup = SessionSetup::default();
        for n in 0..1_000 {
            let line = format!(
                r#"{{"id":1,"method":"resources/subscribe","params":{{"uri":"{n}{}"}}}}"#,
                "x".repeat(100)
            );
            record(&mut setup, &line);
        }
        let kept: usize = setup.subscribed.iter().map(String::len).sum();
        assert!(kept <= MAX_SUBSCRIPTION_BYTES && kept > MAX_SUBSCRIPTION_BYTES / 2, "{kept}");
    }
}
