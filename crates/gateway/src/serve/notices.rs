//! What servers tell unasked, passed on to one client.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use weaver_drivers::mcp::ServerList;
use weaver_text::escape;

use super::callers::ConnectedClient;
use super::client::Client;
use super::client_link::{ClientLink, ResourceListener};
use super::gateway::Gateway;
use super::lines::Outbox;
use super::message;
use super::server_events::{LogMessage, Notice};
use super::subscriptions::{self, SUBSCRIPTION_ID};
use super::watched_resource::WatchedResource;

/// The longest text of a log message that is passed on, in bytes.
const MAX_LOG: usize = 16 * 1024;
/// The longest name of a logger, in characters.
const MAX_LOGGER: usize = 80;

/// A client that is there, and what passes notices on to it.
pub(crate) struct LinkedClient {
    gateway: Arc<Gateway>,
    link: Arc<ClientLink>,
    relaying: JoinHandle<()>,
    _connected: ConnectedClient,
}

impl LinkedClient {
    /// Links a client whose lines go to `outbox`.
    pub(crate) fn of(client: &Arc<Client>, outbox: &Outbox) -> Self {
        let (gateway, link) = (Arc::clone(&client.gateway), Arc::clone(&client.link));
        link.send_to(outbox);
        let notices = gateway.upstreams.events.listen();
        let tools = gateway.changes();
        let passed = relay(Arc::clone(&gateway), Arc::clone(&link), notices);
        let told = tell_tools_changed(Arc::clone(&link), tools);
        let relaying = tokio::spawn(async move {
            tokio::join!(passed, told);
        });
        let connected = gateway.upstreams.callers.connect(&link, client.weak_principal());
        Self { gateway, link, relaying, _connected: connected }
    }

    /// The client has gone: nothing is passed on any more, and nothing watched for it.
    pub(crate) async fn end(self) {
        self.relaying.abort();
        for watched in self.link.unwatch_all() {
            subscriptions::unwatch(&self.gateway, &watched).await;
        }
    }
}

impl Drop for LinkedClient {
    fn drop(&mut self) {
        self.relaying.abort();
    }
}

/// Tells the streams of a client that the list of tools has changed.
async fn tell_tools_changed(link: Arc<ClientLink>, mut changes: watch::Receiver<u64>) {
    while changes.changed().await.is_ok() {
        tell_streams(&link, ServerList::Tools, "notifications/tools/list_changed");
    }
}

/// Passes notices on to a client for as long as it is there.
async fn relay(
    gateway: Arc<Gateway>,
    link: Arc<ClientLink>,
    mut notices: broadcast::Receiver<Notice>,
) {
    loop {
        match notices.recv().await {
            Ok(notice) => pass_on(&gateway, &link, &notice),
            // A client that reads too slowly is told that it missed something by lists alone.
            Err(RecvError::Lagged(_)) => {
                for list in [ServerList::Resources, ServerList::Prompts] {
                    pass_on(&gateway, &link, &Notice::ListChanged { list, of: None });
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

fn pass_on(gateway: &Gateway, link: &Arc<ClientLink>, notice: &Notice) {
    match notice {
        Notice::ListChanged { of: Some(of), .. } if !gateway.upstreams.concerns(of, link) => {}
        // Templates have no notification of their own.
        Notice::ListChanged { list: ServerList::ResourceTemplates, .. } => {
            list_changed(link, ServerList::Resources);
        }
        Notice::ListChanged { list, .. } => list_changed(link, *list),
        Notice::ResourceUpdated(changed) => updated(link, changed),
        Notice::Log(logged) => log(gateway, link, logged),
        Notice::Passed { link: whose, told } => {
            if whose.ptr_eq(&Arc::downgrade(link)) {
                let _ = told.try_send(());
            }
        }
    }
}

fn tell_streams(link: &ClientLink, list: ServerList, method: &str) {
    for stream in link.streams_for(list) {
        let params = json!({ "_meta": { SUBSCRIPTION_ID: stream.id } });
        stream.try_send(message::notification_with(method, params));
    }
}

fn list_changed(link: &ClientLink, list: ServerList) {
    let method = match list {
        ServerList::Tools => "notifications/tools/list_changed",
        ServerList::Resources | ServerList::ResourceTemplates => {
            "notifications/resources/list_changed"
        }
        ServerList::Prompts => "notifications/prompts/list_changed",
    };
    if link.is_open() {
        link.try_send(message::notification(method));
    }
    tell_streams(link, list, method);
}

fn updated(link: &ClientLink, changed: &WatchedResource) {
    let method = "notifications/resources/updated";
    for ResourceListener { stream, uri } in link.listeners_for(changed) {
        match stream {
            None => link.try_send(message::notification_with(method, json!({ "uri": uri }))),
            Some(stream) => {
                let params = json!({ "_meta": { SUBSCRIPTION_ID: stream.id }, "uri": uri });
                stream.try_send(message::notification_with(method, params));
            }
        }
    }
}

/// A log message reaches the client that it can only be about, masked, with the server's name before
/// that of its logger. Where a call asks for log messages, it goes where the call is answered.
fn log(gateway: &Gateway, link: &Arc<ClientLink>, logged: &LogMessage) {
    let LogMessage { server, instance, level, logger, data } = logged;
    let meant = gateway.upstreams.client_meant_by(server, instance.clone());
    let Some(meant) = meant.filter(|meant| Arc::ptr_eq(meant.link(), link)) else { return };
    let stream = meant.log_outbox(*level);
    if stream.is_none() && link.log_level().is_none_or(|wanted| *level < wanted) {
        return;
    }
    let (masked, _) = gateway.kernel.firewall().redact_value(data);
    let logger = logger.as_ref().map(|logger| {
        let logger = gateway.kernel.firewall().redact_text(logger).text;
        escape::line(escape::truncate(&logger, MAX_LOGGER)).into_owned()
    });
    let logger = logger.map_or_else(|| server.to_string(), |logger| format!("{server}/{logger}"));
    let params = json!({ "level": level.as_str(), "logger": logger, "data": bounded(masked) });
    let line = message::notification_with("notifications/message", params);
    match stream {
        // A client that reads too slowly misses some.
        Some(stream) => drop(stream.try_send(line)),
        None => link.try_send(line),
    }
}

/// The data of a log message, without hidden characters where it is text; a long one is cut.
fn bounded(data: Value) -> Value {
    match data {
        Value::String(text) => {
            let cut = text.char_indices().find(|(at, _)| *at >= MAX_LOG).map(|(at, _)| at);
            let text = cut.and_then(|at| text.get(..at)).unwrap_or(&text);
            Value::String(escape::block(text).into_owned())
        }
        other => match other.to_string() {
            long if long.len() > MAX_LOG => json!(format!("({} bytes, not shown)", long.len())),
            _ => other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_and_hidden_characters_shown() {
        assert_eq!(bounded(json!("a\u{1b}b")), "a\\u{1b}b");
        assert_eq!(bounded(json!("é".repeat(MAX_LOG))).as_str().unwrap().len(), MAX_LOG);
        let value = json!({"a": 1});
        assert_eq!(bounded(value.clone()), value);
        let long = bounded(json!({"a": "x".repeat(MAX_LOG)}));
        assert!(long.as_str().unwrap().ends_with("not shown)"), "{long}");
    }
}
