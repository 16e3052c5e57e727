//! Forwards notifications of servers to one client.

use std::sync::{Arc, Weak};

use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use weaver_drivers::mcp::ServerList;
use weaver_text::escape;

use super::client::Client;
use super::client_link::{ClientLink, ResourceUpdateTarget};
use super::connected_clients::ClientRegistration;
use super::feature_methods;
use super::feature_snapshot::ResourceAddress;
use super::gateway::Gateway;
use super::lines::{self, Outbox};
use super::message;
use super::server_events::{InstanceRef, LogMessage, LogNotice, Notice};

/// The longest text of a forwarded log message, in bytes.
const MAX_LOG_BYTES: usize = 16 * 1024;
/// The longest name of a logger, in characters.
const MAX_LOGGER_CHARS: usize = 80;

/// Forwards notices to a client for as long as it is connected.
pub(crate) struct NoticeForwarder {
    gateway: Arc<Gateway>,
    link: Arc<ClientLink>,
    task: JoinHandle<()>,
    _connected: ClientRegistration,
}

impl NoticeForwarder {
    /// Registers a client as connected, and starts to forward notices to `outbox`.
    pub(crate) fn start(client: &Arc<Client>, outbox: &Outbox) -> Self {
        let (gateway, link) = (Arc::clone(&client.gateway), Arc::clone(&client.link));
        link.set_outbox(outbox);
        let events = &gateway.upstreams.events;
        let (notices, logs) = (events.subscribe(), events.subscribe_to_logs());
        let tools = gateway.tool_list_changes();
        let notices_forwarded = forward_notices(Arc::clone(&gateway), Arc::clone(&link), notices);
        let logs_forwarded = forward_logs(Arc::downgrade(client), Arc::clone(&link), logs);
        let tool_changes_forwarded = forward_tool_changes(Arc::clone(&link), tools);
        let task = tokio::spawn(async move {
            tokio::join!(notices_forwarded, logs_forwarded, tool_changes_forwarded);
        });
        let connected =
            gateway.upstreams.connected_clients.register(&link, client.weak_principal());
        Self { gateway, link, task, _connected: connected }
    }

    /// Stops forwarding, and ends the client's subscriptions and its wish for log messages.
    pub(crate) fn end(self) {
        self.task.abort();
        self.gateway
            .upstreams
            .sync_subscriptions_of(&self.link.subscriptions.take_all_subscriptions());
        if self.link.take_log_levels() {
            let gateway = Arc::clone(&self.gateway);
            tokio::spawn(async move { feature_methods::sync_log_levels(&gateway).await });
        }
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
            Ok(notice) => forward(&gateway, &link, notice),
            Err(RecvError::Lagged(_)) => notify_of_anything(&link),
            Err(RecvError::Closed) => return,
        }
    }
}

/// Forwards log messages to a client until the sender closes. A slow client misses some.
async fn forward_logs(
    client: Weak<Client>,
    link: Arc<ClientLink>,
    mut notices: broadcast::Receiver<LogNotice>,
) {
    loop {
        match notices.recv().await {
            Ok(LogNotice::Message(message)) => {
                if link.may_want_log(message.level) {
                    let Some(client) = client.upgrade() else { return };
                    forward_log(&client, &message).await;
                }
            }
            Ok(LogNotice::Barrier { link: waiting, reached }) => {
                if waiting.ptr_eq(&Arc::downgrade(&link)) {
                    let _ = reached.try_send(());
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn forward(gateway: &Gateway, link: &Arc<ClientLink>, notice: Notice) {
    let (Notice::ListChanged { source, .. } | Notice::ResourceUpdated { source, .. }) = &notice;
    if !gateway.upstreams.is_for_client(source, link) {
        return;
    }
    match notice {
        Notice::ListChanged { list, .. } => notify_list_changed(link, list),
        Notice::ResourceUpdated { uri, source: InstanceRef { server, .. } } => {
            let changed = ResourceAddress { server, uri };
            notify_resources_updated(link, link.subscriptions.update_targets(&changed));
        }
    }
}

/// Tells a slow client that has lost notices to read everything again.
fn notify_of_anything(link: &ClientLink) {
    for list in [ServerList::Resources, ServerList::Prompts] {
        notify_list_changed(link, list);
    }
    notify_resources_updated(link, link.subscriptions.all_update_targets());
}

fn notify_streams(link: &ClientLink, list: ServerList, method: &str) {
    for stream in link.subscriptions.streams_watching_list(list) {
        let params = json!({ "_meta": { message::SUBSCRIPTION_ID: stream.id } });
        stream.try_send(message::notification_with(method, params));
    }
}

fn notify_list_changed(link: &ClientLink, list: ServerList) {
    let method = match list {
        ServerList::Tools => "notifications/tools/list_changed",
        // Templates have no notification of their own.
        ServerList::Resources | ServerList::ResourceTemplates => {
            "notifications/resources/list_changed"
        }
        ServerList::Prompts => "notifications/prompts/list_changed",
    };
    if link.is_initialized() {
        link.try_send(message::notification(method));
    }
    let list = match list {
        ServerList::ResourceTemplates => ServerList::Resources,
        other => other,
    };
    notify_streams(link, list, method);
}

fn notify_resources_updated(link: &ClientLink, targets: Vec<ResourceUpdateTarget>) {
    let method = "notifications/resources/updated";
    for ResourceUpdateTarget { stream, uri } in targets {
        match stream {
            None => link.try_send(message::notification_with(method, json!({ "uri": uri }))),
            Some(stream) => {
                let params =
                    json!({ "_meta": { message::SUBSCRIPTION_ID: stream.id }, "uri": uri });
                stream.try_send(message::notification_with(method, params));
            }
        }
    }
}

/// Forwards a log message to a client that it may be about, masked, with the server's name before
/// the logger's. Where that is not known from a call of the client, it must be able to see the
/// server. If a call requested log messages, it goes to the stream of that call's answer.
async fn forward_log(client: &Client, message: &LogMessage) {
    let (gateway, link) = (&client.gateway, &client.link);
    let LogMessage { source: InstanceRef { server, .. }, level, logger, data, .. } = message;
    let Some(target) = gateway.upstreams.log_target(message, link) else { return };
    let stream = target.log_outbox(*level);
    if stream.is_none() && link.log_level().is_none_or(|wanted| *level < wanted) {
        return;
    }
    if !target.is_calling() && !client.may_see_server(server) {
        return;
    }
    let firewall = client.firewall().await;
    let (masked, _) = firewall.redact_value(data);
    let logger = logger.as_ref().map(|logger| {
        let logger = firewall.redact_text(logger).text;
        escape::excerpt(&logger, MAX_LOGGER_CHARS)
    });
    let logger = logger.map_or_else(|| server.to_string(), |logger| format!("{server}/{logger}"));
    let params =
        json!({ "level": level.as_str(), "logger": logger, "data": sanitised_log_data(masked) });
    let line = message::notification_with("notifications/message", params);
    match stream {
        Some(stream) => lines::try_send_to_spare_room(&stream, line),
        None => link.try_send_log(line),
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
