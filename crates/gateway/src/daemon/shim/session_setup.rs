//! What a client has set up in its session, so that it is set up again at the next daemon.

use std::collections::BTreeSet;

use super::message::{self, Envelope};

/// How many bytes of watched resources are kept; what is beyond has to be watched again.
const MAX_WATCHED: usize = 16 * 1024;

/// What a client has set up in its session.
#[derive(Debug, Default)]
pub(super) struct SessionSetup {
    /// The parameters with which it opened the session, once it has.
    initialize: Option<Option<String>>,
    initialized: bool,
    /// From which level on it wants log messages, as parameters.
    log_level: Option<String>,
    /// The resources that it watches, as parameters.
    watched: BTreeSet<String>,
}

impl SessionSetup {
    /// Takes in a message of the client.
    pub(super) fn note(&mut self, message: &Envelope<'_>) {
        let params = || message.params.map(|params| params.get().to_owned());
        match message.method() {
            Some("initialize") => {
                *self = Self { initialize: Some(params()), ..Self::default() };
            }
            Some("notifications/initialized") => self.initialized = true,
            Some("logging/setLevel") => self.log_level = params(),
            Some("resources/subscribe") => {
                let kept: usize = self.watched.iter().map(String::len).sum();
                let fits = |params: &String| kept + params.len() <= MAX_WATCHED;
                self.watched.extend(params().filter(fits));
            }
            Some("resources/unsubscribe") => {
                params().map(|params| self.watched.remove(&params));
            }
            _ => {}
        }
    }

    /// The messages that open the session at another daemon; none before the client has opened it.
    pub(super) fn messages(&self) -> Vec<Vec<u8>> {
        let Some(initialize) = &self.initialize else { return Vec::new() };
        let mut lines = vec![message::again("initialize", initialize.as_deref())];
        if self.initialized {
            lines.push(message::initialized());
            let level = self.log_level.iter();
            lines.extend(level.map(|params| message::again("logging/setLevel", Some(params))));
            let watched = self.watched.iter();
            lines.extend(watched.map(|params| message::again("resources/subscribe", Some(params))));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(lines: &[&str]) -> Vec<String> {
        let mut setup = SessionSetup::default();
        for line in lines {
            setup.note(&Envelope::read(line.as_bytes()).unwrap());
        }
        let lines = setup.messages().into_iter();
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
            setup.note(&Envelope::read(line.as_bytes()).unwrap());
        }
        let kept: usize = setup.watched.iter().map(String::len).sum();
        assert!(kept <= MAX_WATCHED && kept > MAX_WATCHED / 2, "{kept}");
    }
}
