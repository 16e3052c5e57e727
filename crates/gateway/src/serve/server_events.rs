//! What servers tell and ask outside of calls, on its way to clients.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, broadcast, mpsc};
use weaver_drivers::InstanceCaller;
use weaver_drivers::mcp::{
    ClientFeatures, LogLevel, NotificationSink, RequestHandler, RpcError, ServerList,
    ServerNotification, ServerRequest, UpstreamConfig,
};
use weaver_policy::PolicySet;
use weaver_types::UpstreamName;

use super::client_call::ClientCall;
use super::client_link::ClientLink;
use super::feature_snapshot::ResourceAddress;
use super::instance_key::InstanceKey;
use super::server_feature::FeatureKind;
use super::watched_resource::WatchedResource;

/// How many notices wait for a client that reads slowly; older ones are lost to it.
const MAX_NOTICES: usize = 256;
/// How long the answer to a call may wait for its log messages.
const PASSING: Duration = Duration::from_secs(1);
/// How many requests of all servers wait to be looked at.
const MAX_ASKED: usize = 256;

/// Something that clients may want to be told.
#[derive(Debug, Clone)]
pub(crate) enum Notice {
    /// A list of an instance is no longer as it was; without one, lists of any may be others.
    ListChanged { list: ServerList, of: Option<ListedInstance> },
    /// A resource has changed.
    ResourceUpdated(WatchedResource),
    /// A server logs something.
    Log(LogMessage),
    /// What was told before this has been passed on to the client.
    Passed { link: Weak<ClientLink>, told: mpsc::Sender<()> },
}

/// An instance of a server that has lists.
#[derive(Debug, Clone)]
pub(crate) struct ListedInstance {
    pub(crate) server: UpstreamName,
    /// Which instance of it; `None` for the primary.
    pub(crate) instance: Option<InstanceKey>,
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
    /// The call in which it arose, where that is known.
    pub(crate) call: Option<Arc<ClientCall>>,
    pub(crate) request: ServerRequest,
}

/// What is offered to a server, in the words of the protocol.
type OfferedCapabilities = Arc<dyn Fn(&UpstreamName) -> Map<String, Value> + Send + Sync>;

/// Where what servers tell and ask arrives.
#[derive(Clone)]
pub(crate) struct ServerEvents {
    notices: broadcast::Sender<Notice>,
    asked: mpsc::Sender<AskedByServer>,
    inbox: Arc<Mutex<Option<mpsc::Receiver<AskedByServer>>>>,
    /// The servers that may ask for something, and for what, as the policy in force at the start
    /// had it.
    offered: OfferedCapabilities,
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
                    let address = ResourceAddress { server: name.clone(), uri };
                    Notice::ResourceUpdated(WatchedResource { address, instance: None })
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

    /// The configuration of a dedicated instance of a server. What it tells is for its own clients;
    /// its tools are looked at when it is called.
    pub(crate) fn attach_dedicated(
        &self,
        server: &UpstreamName,
        instance: &InstanceKey,
        config: UpstreamConfig,
    ) -> UpstreamConfig {
        let mut config = self.with_requests(server, Some(instance), config);
        let (notices, server, instance) = (self.notices.clone(), server.clone(), instance.clone());
        config.notifications = Some(NotificationSink::new(move |told| {
            let (server, instance) = (server.clone(), Some(instance.clone()));
            let notice = match told {
                ServerNotification::ListChanged(ServerList::Tools) => return,
                ServerNotification::ListChanged(list) => {
                    Notice::ListChanged { list, of: Some(ListedInstance { server, instance }) }
                }
                ServerNotification::ResourceUpdated { uri } => {
                    let address = ResourceAddress { server, uri };
                    Notice::ResourceUpdated(WatchedResource { address, instance })
                }
                ServerNotification::Log { level, logger, data } => {
                    let data = Arc::new(data);
                    Notice::Log(LogMessage { server, instance, level, logger, data })
                }
                _ => return,
            };
            let _ = notices.send(notice);
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
            let _ = asked.try_send(AskedByServer { server, instance, call: None, request });
        }));
        config
    }

    /// Whoever a request to the server is made for, where it is one of a client.
    pub(crate) fn caller_at(&self, server: &UpstreamName) -> Option<InstanceCaller> {
        let call = ClientCall::current()?;
        let (timer, events, server) = (call.timer.clone(), self.clone(), server.clone());
        let features = Arc::new(CallFeatures { call, events, server });
        Some(InstanceCaller { features, timer })
    }

    /// Tells clients.
    pub(crate) fn tell(&self, notice: Notice) {
        let _ = self.notices.send(notice);
    }

    /// Waits until a client was passed on what servers have told up to now.
    pub(crate) async fn passed_on(&self, link: &Arc<ClientLink>) {
        let (told, mut passed) = mpsc::channel(1);
        self.tell(Notice::Passed { link: Arc::downgrade(link), told });
        // A client that lags behind may lose it among other notices.
        let _ = tokio::time::timeout(PASSING, passed.recv()).await;
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

/// What the client of one call can do for a server.
struct CallFeatures {
    call: Arc<ClientCall>,
    events: ServerEvents,
    server: UpstreamName,
}

impl ClientFeatures for CallFeatures {
    /// What is offered to the server, as far as this client has it.
    fn capabilities(&self) -> Map<String, Value> {
        let offered = (self.events.offered)(&self.server).into_iter();
        let both = offered.filter_map(|(name, offered)| {
            let said = self.call.capability(&name)?;
            // A client that names no mode of elicitation takes forms.
            let forms = || json!({ "form": {} });
            let said = if name == "elicitation" && said == json!({}) { forms() } else { said };
            let (offered, said) = (offered.as_object()?.clone(), said.as_object()?.clone());
            let modes = offered.into_iter().filter(|(mode, _)| said.contains_key(mode));
            Some((name, Value::Object(modes.collect())))
        });
        both.collect()
    }

    fn lacks(&self, refusal: &RpcError) {
        self.call.lacks(refusal);
    }

    fn handle(&self, request: ServerRequest) {
        let (server, call) = (self.server.clone(), Some(Arc::clone(&self.call)));
        // One that finds no room is answered by being dropped.
        let _ = self.events.asked.try_send(AskedByServer { server, instance: None, call, request });
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
