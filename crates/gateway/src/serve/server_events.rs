//! What servers tell and ask outside of calls, on its way to clients.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, broadcast, mpsc};
use weaver_drivers::mcp::{
    LogLevel, NotificationSink, RequestHandler, ServerList, ServerNotification, ServerRequest,
    UpstreamConfig,
};
use weaver_policy::PolicySet;
use weaver_types::UpstreamName;

use super::feature_snapshot::ResourceAddress;
use super::instance_key::InstanceKey;
use super::server_feature::FeatureKind;

/// How many notices wait for a client that reads slowly; older ones are lost to it.
const MAX_NOTICES: usize = 256;
/// How many requests of all servers wait to be looked at.
const MAX_ASKED: usize = 256;

/// Something that clients may want to be told.
#[derive(Debug, Clone)]
pub(crate) enum Notice {
    /// A list is no longer as it was.
    ListChanged(ServerList),
    /// A resource has changed.
    ResourceUpdated(ResourceAddress),
    /// A server logs something.
    Log(LogMessage),
}

/// A log message of a server, as the server wrote it.
#[derive(Debug, Clone)]
pub(crate) struct LogMessage {
    pub(crate) server: UpstreamName,
    /// Which instance of it; `None` for the primary.
    pub(crate) instance: Option<InstanceKey>,
    pub(crate) level: LogLevel,
    pub(crate) logger: Option<String>,
    pub(crate) data: Arc<Value>,
}

/// A request of a server.
pub(crate) struct AskedByServer {
    pub(crate) server: UpstreamName,
    /// Which instance of it; `None` for the primary.
    pub(crate) instance: Option<InstanceKey>,
    pub(crate) request: ServerRequest,
}

/// What is offered to a server, in the words of the protocol.
type Offered = Arc<dyn Fn(&UpstreamName) -> Map<String, Value> + Send + Sync>;

/// Where what servers tell and ask arrives.
#[derive(Clone)]
pub(crate) struct ServerEvents {
    notices: broadcast::Sender<Notice>,
    asked: mpsc::Sender<AskedByServer>,
    inbox: Arc<Mutex<Option<mpsc::Receiver<AskedByServer>>>>,
    /// The servers that may ask for something, and for what, as the policy in force at the start
    /// had it.
    offered: Offered,
}

impl ServerEvents {
    pub(crate) fn new(policy: &Arc<PolicySet>) -> Self {
        let (asked, inbox) = mpsc::channel(MAX_ASKED);
        let policy = Arc::clone(policy);
        Self {
            notices: broadcast::Sender::new(MAX_NOTICES),
            asked,
            inbox: Arc::new(Mutex::new(Some(inbox))),
            offered: Arc::new(move |server| offered(&policy, server)),
        }
    }

    /// The configuration of the primary instance of a server, whose events arrive here. A change of a
    /// list wakes whoever keeps the server current.
    pub(crate) fn attach(
        &self,
        server: &UpstreamName,
        wake: &Arc<Notify>,
        config: UpstreamConfig,
    ) -> UpstreamConfig {
        let mut config = self.with_requests(server, None, config);
        let (notices, name, wake) = (self.notices.clone(), server.clone(), Arc::clone(wake));
        config.notifications = Some(NotificationSink::new(move |told| {
            let notice = match told {
                // Clients are told once the list was read again.
                ServerNotification::ListChanged(ServerList::Tools) => return,
                ServerNotification::ListChanged(_) => return wake.notify_one(),
                ServerNotification::ResourceUpdated { uri } => {
                    Notice::ResourceUpdated(ResourceAddress { server: name.clone(), uri })
                }
                ServerNotification::Log { level, logger, data } => {
                    let (server, data) = (name.clone(), Arc::new(data));
                    Notice::Log(LogMessage { server, instance: None, level, logger, data })
                }
                _ => return,
            };
            // Nobody may be listening.
            let _ = notices.send(notice);
        }));
        config
    }

    /// The configuration of a dedicated instance of a server. Of what it tells unasked, its log is
    /// passed on; its lists are looked at when it is called.
    pub(crate) fn attach_dedicated(
        &self,
        server: &UpstreamName,
        instance: &InstanceKey,
        config: UpstreamConfig,
    ) -> UpstreamConfig {
        let mut config = self.with_requests(server, Some(instance), config);
        let (notices, server, instance) = (self.notices.clone(), server.clone(), instance.clone());
        config.notifications = Some(NotificationSink::new(move |told| {
            let ServerNotification::Log { level, logger, data } = told else { return };
            let (server, instance) = (server.clone(), Some(instance.clone()));
            let data = Arc::new(data);
            let _ = notices.send(Notice::Log(LogMessage { server, instance, level, logger, data }));
        }));
        config
    }

    /// The configuration of a server whose requests arrive here.
    fn with_requests(
        &self,
        server: &UpstreamName,
        instance: Option<&InstanceKey>,
        mut config: UpstreamConfig,
    ) -> UpstreamConfig {
        config.client_capabilities = (self.offered)(server);
        let (asked, server, instance) = (self.asked.clone(), server.clone(), instance.cloned());
        config.request_handler = Some(RequestHandler::new(move |request| {
            let (server, instance) = (server.clone(), instance.clone());
            // One that finds no room is answered by being dropped.
            let _ = asked.try_send(AskedByServer { server, instance, request });
        }));
        config
    }

    /// Tells clients.
    pub(crate) fn tell(&self, notice: Notice) {
        let _ = self.notices.send(notice);
    }

    /// What is told from here on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// What servers ask; the first caller gets it.
    pub(crate) fn asked(&self) -> Option<mpsc::Receiver<AskedByServer>> {
        self.inbox.lock().ok()?.take()
    }
}

/// What is offered to a server: the roots of a client always, and what a signed contract names. A
/// pattern is not enough, for it was written for tools.
fn offered(policy: &PolicySet, server: &UpstreamName) -> Map<String, Value> {
    let mut offered = Map::from_iter([("roots".to_owned(), json!({ "listChanged": true }))]);
    for (kind, word, value) in [
        (FeatureKind::Elicitation, "elicitation", json!({ "form": {}, "url": {} })),
        (FeatureKind::Sampling, "sampling", json!({})),
    ] {
        if kind.id(server.as_str()).is_some_and(|id| policy.names_contract(&id)) {
            offered.insert(word.to_owned(), value);
        }
    }
    offered
}
