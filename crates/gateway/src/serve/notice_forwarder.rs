//! Forwards notifications of servers to one client.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use weaver_drivers::mcp::ServerList;
use weaver_text::escape;

use super::active_clients::ClientRegistration;
use super::client::Client;
use super::client_link::{ClientLink, ResourceUpdateTarget};
use super::gateway::Gateway;
use super::lines::Outbox;
use super::message;
use super::server_events::{LogMessage, Notice};
use super::subscribed_resource::SubscribedResource;
use super::subscriptions::{self, SUBSCRIPTION_ID};

/// The longest text of a forwarded log message, in bytes.
const MAX_LOG_BYTES: usize = 16 * 1024;
/// The longest name of a logger, in characters.
const MAX_LOGGER_CHARS: usize = 80;

/// Forwards notices to a client for as long as it is connected.
pub(crate) struct NoticeForwarder {
    gateway: Arc<Gateway>,
    link: Arc<ClientLink>,
    task: JoinHandle<()>,
    /// Until the client leaves.
    connected: Option<ClientRegistration>,
}

impl NoticeForwarder {
    /// Registers a client as connected, and starts to forward notices to `outbox`.
    pub(crate) fn start(client: &Arc<Client>, outbox: &Outbox) -> Self {
        let (gateway, link) = (Arc::clone(&client.gateway), Arc::clone(&client.link));
        link.set_outbox(outbox);
        let notices = gateway.upstreams.events.subscribe();
        let tools = gateway.tool_list_changes();
        let notices_forwarded = forward_notices(Arc::clone(&gateway), Arc::clone(&link), notices);
        let tool_changes_forwarded = forward_tool_changes(Arc::clone(&link), tools);
        let task = tokio::spawn(async move {
            tokio::join!(notices_forwarded, tool_changes_forwarded);
        });
        let connected = gateway.upstreams.active_clients.register(&link, client.weak_principal());
        Self { gateway, link, task, connected: Some(connected) }
    }

    /// Stops forwarding, and ends the client's subscriptions.
    pub(crate) async fn end(mut self) {
        self.task.abort();
        drop(self.connected.take());
        let watched = self.link.take_all_subscriptions();
        subscriptions::unsubscribe_all(&self.gateway, &watched).await;
    }
}

impl Drop for NoticeForwarder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Notifies the streams of a client when the tool list changes.
async fn forward_tool_changes(link: Arc<ClientLink>, mut changes: watch::Receiver<u64>) {
    while changes.changed().await.is_ok() {
        notify_streams(&link, ServerList::Tools, "notifications/tools/list_changed");
    }
}

/// Forwards notices to a client until the sender closes.
async fn forward_notices(
    gateway: Arc<Gateway>,
    link: Arc<ClientLink>,
    mut notices: broadcast::Receiver<Notice>,
) {
    loop {
        match notices.recv().await {
            Ok(notice) => forward(&gateway, &link, &notice),
            // A slow client has lost notices; it is told to read its lists again.
            Err(RecvError::Lagged(_)) => {
                for list in [ServerList::Resources, ServerList::Prompts] {
                    forward(&gateway, &link, &Notice::ListChanged { list, source: None });
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

fn forward(gateway: &Gateway, link: &Arc<ClientLink>, notice: &Notice) {
    match notice {
        Notice::ListChanged { source: Some(source), .. }
            if !gateway.upstreams.is_for_client(source, link) => {}
        // Templates have no notification of their own.
        Notice::ListChanged { list: ServerList::ResourceTemplates, .. } => {
            notify_list_changed(link, ServerList::Resources);
        }
        Notice::ListChanged { list, .. } => notify_list_changed(link, *list),
        Notice::ResourceUpdated(changed) => notify_resource_updated(link, changed),
        Notice::Log(message) => forward_log(gateway, link, message),
        Notice::Barrier { link: waiting, reached } => {
            if waiting.ptr_eq(&Arc::downgrade(link)) {
                let _ = reached.try_send(());
            }
        }
    }
}

fn notify_streams(link: &ClientLink, list: ServerList, method: &str) {
    for stream in link.streams_watching_list(list) {
        let params = json!({ "_meta": { SUBSCRIPTION_ID: stream.id } });
        stream.try_send(message::notification_with(method, params));
    }
}

fn notify_list_changed(link: &ClientLink, list: ServerList) {
    let method = match list {
        ServerList::Tools => "notifications/tools/list_changed",
        ServerList::Resources | ServerList::ResourceTemplates => {
            "notifications/resources/list_changed"
        }
        ServerList::Prompts => "notifications/prompts/list_changed",
    };
    if link.is_initialized() {
        link.try_send(message::notification(method));
    }
    notify_streams(link, list, method);
}

fn notify_resource_updated(link: &ClientLink, changed: &SubscribedResource) {
    let method = "notifications/resources/updated";
    for ResourceUpdateTarget { stream, uri } in link.update_targets(changed) {
        match stream {
            None => link.try_send(message::notification_with(method, json!({ "uri": uri }))),
            Some(stream) => {
                let params = json!({ "_meta": { SUBSCRIPTION_ID: stream.id }, "uri": uri });
                stream.try_send(message::notification_with(method, params));
            }
        }
    }
}

/// Forwards a log message only to the client that it must be about, masked, with the server's name
/// before the logger's. If a call requested log messages, it goes to the stream of that call's
/// answer.
fn forward_log(gateway: &Gateway, link: &Arc<ClientLink>, message: &LogMessage) {
    let LogMessage { server, instance, level, logger, data } = message;
    let target = gateway.upstreams.request_target(server, instance.clone());
    let Some(target) = target.filter(|target| Arc::ptr_eq(target.link(), link)) else { return };
    let stream = target.log_outbox(*level);
    if stream.is_none() && link.log_level().is_none_or(|wanted| *level < wanted) {
        return;
    }
    let (masked, _) = gateway.kernel.firewall().redact_value(data);
    let logger = logger.as_ref().map(|logger| {
        let logger = gateway.kernel.firewall().redact_text(logger).text;
        escape::line(escape::truncate(&logger, MAX_LOGGER_CHARS)).into_owned()
    });
    let logger = logger.map_or_else(|| server.to_string(), |logger| format!("{server}/{logger}"));
    let params =
        json!({ "level": level.as_str(), "logger": logger, "data": sanitised_log_data(masked) });
    let line = message::notification_with("notifications/message", params);
    match stream {
        // A slow client misses some.
        Some(stream) => drop(stream.try_send(line)),
        None => link.try_send(line),
    }
}

/// The data of a log message: text without hidden characters, and shortened. Other data that is too
/// long is left out.
fn sanitised_log_data(data: Value) -> Value {
    match data {
        Value::String(text) => {
            let cut = text.char_indices().find(|(at, _)| *at >= MAX_LOG_BYTES).map(|(at, _)| at);
            let text = cut.and_then(|at| text.get(..at)).unwrap_or(&text);
            Value::String(escape::block(text).into_owned())
        }
        other => match other.to_string() {
            long if long.len() > MAX_LOG_BYTES => {
                json!(format!("({} bytes, not shown)", long.len()))
            }
            _ => other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_and_hidden_characters_shown() {
        assert_eq!(sanitised_log_data(json!("a\u{1b}b")), "a\\u{1b}b");
        assert_eq!(
            sanitised_log_data(json!("é".repeat(MAX_LOG_BYTES))).as_str().unwrap().len(),
            MAX_LOG_BYTES
        );
        let value = json!({"a": 1});
        assert_eq!(sanitised_log_data(value.clone()), value);
        let long = sanitised_log_data(json!({"a": "x".repeat(MAX_LOG_BYTES)}));
        assert!(long.as_str().unwrap().ends_with("not shown)"), "{long}");
    }
}
