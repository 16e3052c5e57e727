//! Notifications and requests of servers on their way to clients.

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
use super::subscribed_resource::SubscribedResource;

/// The most notices queued for a slow client; older ones are lost to it.
const MAX_NOTICES: usize = 256;
/// How long the answer to a call may wait for its log messages.
const BARRIER_TIMEOUT: Duration = Duration::from_secs(1);
/// The most queued requests of all servers.
const MAX_QUEUED_REQUESTS: usize = 256;

/// A notice for clients.
#[derive(Debug, Clone)]
pub(crate) enum Notice {
    /// A list has changed, at one instance or, without a source, anywhere.
    ListChanged { list: ServerList, source: Option<InstanceRef> },
    /// A resource has changed.
    ResourceUpdated(SubscribedResource),
    /// A log message of a server.
    Log(LogMessage),
    /// A barrier: reports that the client's forwarder has processed all earlier notices.
    Barrier { link: Weak<ClientLink>, reached: mpsc::Sender<()> },
}

/// Identifies an instance of a server.
#[derive(Debug, Clone)]
pub(crate) struct InstanceRef {
    pub(crate) server: UpstreamName,
    /// Which instance of it; `None` for the primary.
    pub(crate) instance: Option<InstanceKey>,
}

/// A log message as the server wrote it.
#[derive(Debug, Clone)]
pub(crate) struct LogMessage {
    pub(crate) server: UpstreamName,
    /// Which instance of it; `None` for the primary.
    pub(crate) instance: Option<InstanceKey>,
    pub(crate) level: LogLevel,
    pub(crate) logger: Option<String>,
    pub(crate) data: Arc<Value>,
}

/// A request that a server sent.
pub(crate) struct IncomingServerRequest {
    pub(crate) server: UpstreamName,
    /// Which instance of it; `None` for the primary.
    pub(crate) instance: Option<InstanceKey>,
    /// The call in which it arose, if known.
    pub(crate) call: Option<Arc<ClientCall>>,
    pub(crate) request: ServerRequest,
}

/// Computes the client capabilities offered to a server, as the protocol writes them.
type OfferedCapabilitiesFn = Arc<dyn Fn(&UpstreamName) -> Map<String, Value> + Send + Sync>;

/// Collects notifications and requests of all servers.
#[derive(Clone)]
pub(crate) struct ServerEvents {
    notices: broadcast::Sender<Notice>,
    requests: mpsc::Sender<IncomingServerRequest>,
    request_queue: Arc<Mutex<Option<mpsc::Receiver<IncomingServerRequest>>>>,
    /// The capabilities offered to each server, from the policy in force at startup.
    offered: OfferedCapabilitiesFn,
}

impl ServerEvents {
    pub(crate) fn new(policy: &Arc<PolicySet>) -> Self {
        let (requests, queue) = mpsc::channel(MAX_QUEUED_REQUESTS);
        let policy = Arc::clone(policy);
        Self {
            notices: broadcast::Sender::new(MAX_NOTICES),
            requests,
            request_queue: Arc::new(Mutex::new(Some(queue))),
            offered: Arc::new(move |server| offered_capabilities(&policy, server)),
        }
    }

    /// Configures a primary instance to report its events here. A changed list wakes the task that
    /// keeps the server current.
    pub(crate) fn attach(
        &self,
        server: &UpstreamName,
        wake: &Arc<Notify>,
        config: UpstreamConfig,
    ) -> UpstreamConfig {
        let mut config = self.with_requests(server, None, config);
        let (notices, name, wake) = (self.notices.clone(), server.clone(), Arc::clone(wake));
        config.notifications = Some(NotificationSink::new(move |notification| {
            let notice = match notification {
                // Clients are notified after the list was read again.
                ServerNotification::ListChanged(ServerList::Tools) => return,
                ServerNotification::ListChanged(_) => return wake.notify_one(),
                ServerNotification::ResourceUpdated { uri } => {
                    let address = ResourceAddress { server: name.clone(), uri };
                    Notice::ResourceUpdated(SubscribedResource { address, instance: None })
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

    /// Configures a dedicated instance to report its events here. They concern only its own
    /// clients; its tools are compared when it is called.
    pub(crate) fn attach_dedicated(
        &self,
        server: &UpstreamName,
        instance: &InstanceKey,
        config: UpstreamConfig,
    ) -> UpstreamConfig {
        let mut config = self.with_requests(server, Some(instance), config);
        let (notices, server, instance) = (self.notices.clone(), server.clone(), instance.clone());
        config.notifications = Some(NotificationSink::new(move |notification| {
            let (server, instance) = (server.clone(), Some(instance.clone()));
            let notice = match notification {
                ServerNotification::ListChanged(ServerList::Tools) => return,
                ServerNotification::ListChanged(list) => {
                    Notice::ListChanged { list, source: Some(InstanceRef { server, instance }) }
                }
                ServerNotification::ResourceUpdated { uri } => {
                    let address = ResourceAddress { server, uri };
                    Notice::ResourceUpdated(SubscribedResource { address, instance })
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

    /// Configures a server to send its requests here.
    fn with_requests(
        &self,
        server: &UpstreamName,
        instance: Option<&InstanceKey>,
        mut config: UpstreamConfig,
    ) -> UpstreamConfig {
        config.client_capabilities = (self.offered)(server);
        let (requests, server, instance) =
            (self.requests.clone(), server.clone(), instance.cloned());
        config.request_handler = Some(RequestHandler::new(move |request| {
            let (server, instance) = (server.clone(), instance.clone());
            // If the queue is full the request is dropped, which answers it.
            let _ =
                requests.try_send(IncomingServerRequest { server, instance, call: None, request });
        }));
        config
    }

    /// The client call on whose behalf the current request to the server is made.
    pub(crate) fn current_caller(&self, server: &UpstreamName) -> Option<InstanceCaller> {
        let call = ClientCall::current()?;
        let (timer, events, server) = (call.timer.clone(), self.clone(), server.clone());
        let features = Arc::new(CallFeatures { call, events, server });
        Some(InstanceCaller { features, timer })
    }

    /// Publishes a notice to all clients.
    pub(crate) fn publish(&self, notice: Notice) {
        let _ = self.notices.send(notice);
    }

    /// Waits until all notices so far were forwarded to a client.
    pub(crate) async fn wait_until_forwarded(&self, link: &Arc<ClientLink>) {
        let (reached, mut barrier) = mpsc::channel(1);
        self.publish(Notice::Barrier { link: Arc::downgrade(link), reached });
        // A slow client may lose the barrier among other notices.
        let _ = tokio::time::timeout(BARRIER_TIMEOUT, barrier.recv()).await;
    }

    /// Subscribes to notices from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// The queue of server requests; only the first caller gets it.
    pub(crate) fn take_requests(&self) -> Option<mpsc::Receiver<IncomingServerRequest>> {
        self.request_queue.lock().ok()?.take()
    }
}

/// The client features of one call.
struct CallFeatures {
    call: Arc<ClientCall>,
    events: ServerEvents,
    server: UpstreamName,
}

impl ClientFeatures for CallFeatures {
    /// The offered capabilities that this client declared as well.
    fn capabilities(&self) -> Map<String, Value> {
        let offered = (self.events.offered)(&self.server).into_iter();
        let both = offered.filter_map(|(name, offered)| {
            let declared = self.call.capability(&name)?;
            // A client that names no mode of elicitation supports forms.
            let forms = || json!({ "form": {} });
            let declared =
                if name == "elicitation" && declared == json!({}) { forms() } else { declared };
            let (offered, declared) = (offered.as_object()?.clone(), declared.as_object()?.clone());
            let modes = offered.into_iter().filter(|(mode, _)| declared.contains_key(mode));
            Some((name, Value::Object(modes.collect())))
        });
        both.collect()
    }

    fn on_missing_capability(&self, refusal: &RpcError) {
        self.call.record_missing_capability(refusal);
    }

    fn handle(&self, request: ServerRequest) {
        let (server, call) = (self.server.clone(), Some(Arc::clone(&self.call)));
        // One that finds no room is answered by being dropped.
        let _ = self.events.requests.try_send(IncomingServerRequest {
            server,
            instance: None,
            call,
            request,
        });
    }
}

/// The capabilities offered to a server: roots always, the others only if a signed contract names
/// them for this server. A pattern does not suffice, because it was written for tools.
fn offered_capabilities(policy: &PolicySet, server: &UpstreamName) -> Map<String, Value> {
    let mut offered = Map::from_iter([("roots".to_owned(), json!({ "listChanged": true }))]);
    for (kind, word, value) in [
        (FeatureKind::Elicitation, "elicitation", json!({ "form": {}, "url": {} })),
        (FeatureKind::Sampling, "sampling", json!({})),
    ] {
        if kind.id(server.as_str()).is_some_and(|id| policy.has_exact_contract(&id)) {
            offered.insert(word.to_owned(), value);
        }
    }
    offered
}
