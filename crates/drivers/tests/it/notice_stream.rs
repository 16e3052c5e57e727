//! The stream on which a server over HTTP tells of changes, and what becomes of it.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use weaver_drivers::mcp::{
    Connection, Endpoint, HttpConfig, NotificationSink, ServerList, ServerNotification,
    UpstreamConfig,
};

use crate::raw_server::{Asked, RawServer, Reaction, answer};
use crate::support::{LONG, connect_with, runtime};

/// An answer to whoever asks for the stream.
#[derive(Clone)]
enum Stream {
    /// Open until this is notified, and silent.
    OpenUntil(Arc<Notify>),
    /// An answer of this status and type.
    Other(&'static str, &'static str),
}

/// Answers whoever asks for the stream with one after the other, and with the last one for ever.
fn react(asked: &Asked, streams: &Mutex<VecDeque<Stream>>) -> Reaction {
    let message: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "prompts": {}},
            "serverInfo": {"name": "h", "version": "1"}}),
        "tools/list" => json!({"tools": []}),
        _ if asked.line().starts_with("GET") => {
            let mut streams = streams.lock().unwrap();
            let next = streams[0].clone();
            if streams.len() > 1 {
                streams.pop_front();
            }
            return match next {
                Stream::Other(status, kind) => {
                    answer(status, &format!("content-type: {kind}\r\n"), "no stream")
                }
                // The pause before it is asked for again is short.
                Stream::OpenUntil(end) => Reaction::Until(format!("{EVENTS}retry: 5\n\n"), end),
            };
        }
        _ => return answer("202 Accepted", "", ""),
    };
    let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    crate::raw_server::json(&reply.to_string())
}

const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";

/// A connection to a server that answers so, and the lists whose changes are told.
fn connected(runtime: &Runtime, streams: Vec<Stream>) -> (Connection, Receiver<ServerList>) {
    let streams = Mutex::new(VecDeque::from(streams));
    let server = RawServer::start(runtime, move |asked| react(asked, &streams));
    let (tell, told) = channel();
    let http = HttpConfig { url: server.url("/mcp"), ..HttpConfig::default() };
    let mut config = UpstreamConfig::new("web", Endpoint::Http(http));
    config.notifications = Some(NotificationSink::new(move |notification| {
        if let ServerNotification::ListChanged(list) = notification {
            let _ = tell.send(list);
        }
    }));
    (runtime.block_on(connect_with(config)).unwrap(), told)
}

/// A proxy may say many things while its server starts again, and what the server told meanwhile is
/// not told twice.
#[test]
fn lists_are_stale_when_the_stream_is_back_whatever_came_in_between() {
    for between in [
        &[][..],
        &[("503 Away", "text/plain"), ("502 Away", "text/html")],
        &[("429 Slow", "application/json"), ("403 No", "text/html"), ("200 OK", "text/html")],
    ] {
        let runtime = runtime();
        let (end, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let mut streams = vec![Stream::OpenUntil(Arc::clone(&end))];
        streams.extend(between.iter().map(|(status, kind)| Stream::Other(status, kind)));
        streams.push(Stream::OpenUntil(never));
        let (connection, told) = connected(&runtime, streams);
        runtime.block_on(connection.list_tools()).unwrap();
        assert!(!connection.tools_stale(), "nothing has happened");
        end.notify_one();
        assert_eq!(told.recv_timeout(LONG), Ok(ServerList::Tools), "{between:?}");
        assert!(connection.tools_stale());
        assert!(!connection.is_stale(ServerList::Prompts), "of these it tells no changes");
    }
}

#[test]
fn a_stream_that_is_away_at_first_is_asked_for_again() {
    let runtime = runtime();
    let (end, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let away = Stream::Other("503 Away", "text/plain");
    let mut streams = vec![away; 2];
    streams.extend([Stream::OpenUntil(Arc::clone(&end)), Stream::OpenUntil(never)]);
    let (connection, told) = connected(&runtime, streams);
    runtime.block_on(connection.list_tools()).unwrap();
    end.notify_one();
    assert_eq!(told.recv_timeout(LONG), Ok(ServerList::Tools));
}
