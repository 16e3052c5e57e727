//! Notifications and requests of servers on their way to clients.
//!
//! Log messages have a channel of their own: a server may log without end, and what another one
//! reports must not be lost to that.

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
use super::connected_clients::{CallAtServer, ConnectedClients};
use super::instance_id::InstanceId;
use super::server_feature::FeatureKind;

/// The most notices queued for a slow client; older ones are lost to it.
const MAX_NOTICES: usize = 256;
/// How long the answer to a call may wait for its log messages.
const BARRIER_TIMEOUT: Duration = Duration::from_secs(1);
/// The most queued requests of all servers.
const MAX_QUEUED_REQUESTS: usize = 256;

/// A notice for clients.
#[derive(Debug, Clone)]
pub(crate) enum Notice {
    /// A list has changed at an instance.
    ListChanged { list: ServerList, source: InstanceRef },
    /// A resource has changed at an instance.
    ResourceUpdated { uri: String, source: InstanceRef },
}

/// A notice on the channel of log messages.
#[derive(Debug, Clone)]
pub(crate) enum LogNotice {
    /// A log message of a server.
    Message(LogMessage),
    /// A barrier: reports that the client's forwarder has processed all earlier notices.
    Barrier { link: Weak<ClientLink>, reached: mpsc::Sender<()> },
}

/// An instance with its server.
#[derive(Debug, Clone)]
pub(crate) struct InstanceRef {
    pub(crate) server: UpstreamName,
    pub(crate) id: InstanceId,
}

/// A log message as the server wrote it.
#[derive(Debug, Clone)]
pub(crate) struct LogMessage {
    pub(crate) source: InstanceRef,
    /// The calls that were in flight at the server.
    pub(crate) calls: Vec<CallAtServer>,
    pub(crate) level: LogLevel,
    pub(crate) logger: Option<String>,
    pub(crate) data: Arc<Value>,
}

/// A request that a server sent.
pub(crate) struct IncomingServerRequest {
    pub(crate) server: UpstreamName,
    pub(crate) origin: ServerRequestOrigin,
    pub(crate) request: ServerRequest,
}

/// Where a request of a server arose.
pub(crate) enum ServerRequestOrigin {
    /// In this call.
    Call(Arc<ClientCall>),
    /// At this instance, in no call that it named.
    Instance(InstanceId),
}

/// Computes the client capabilities offered to a server, as the protocol writes them.
type OfferedCapabilitiesFn = Arc<dyn Fn(&UpstreamName) -> Map<String, Value> + Send + Sync>;

/// Collects notifications and requests of all servers.
#[derive(Clone)]
pub(crate) struct ServerEvents {
    notices: broadcast::Sender<Notice>,
    logs: broadcast::Sender<LogNotice>,
    requests: mpsc::Sender<IncomingServerRequest>,
    request_queue: Arc<Mutex<Option<mpsc::Receiver<IncomingServerRequest>>>>,
    connected_clients: ConnectedClients,
    /// The capabilities offered to each server, from the policy in force when it was set up.
    offered: OfferedCapabilitiesFn,
}

impl ServerEvents {
    pub(crate) fn new(policy: &Arc<PolicySet>, connected_clients: &ConnectedClients) -> Self {
        let (requests, queue) = mpsc::channel(MAX_QUEUED_REQUESTS);
        Self {
            notices: broadcast::Sender::new(MAX_NOTICES),
            logs: broadcast::Sender::new(MAX_NOTICES),
            requests,
            request_queue: Arc::new(Mutex::new(Some(queue))),
            connected_clients: connected_clients.clone(),
            offered: offered_by(policy),
        }
    }

    /// The same for servers that are set up now, under another policy.
    pub(crate) fn under(&self, policy: &Arc<PolicySet>) -> Self {
        Self { offered: offered_by(policy), ..self.clone() }
    }

    /// Configures an instance to report its events here. They concern only its own clients. For the
    /// primary, `wake` wakes the task that keeps the lists of the server current; clients are told
    /// once they were read again.
    pub(crate) fn attach(
        &self,
        source: InstanceRef,
        wake: Option<&Arc<Notify>>,
        mut config: UpstreamConfig,
    ) -> UpstreamConfig {
        config.client_capabilities = (self.offered)(&source.server);
        config.request_handler = Some(self.request_handler(source.clone()));
        let (notices, logs, wake) = (self.notices.clone(), self.logs.clone(), wake.cloned());
        let connected_clients = self.connected_clients.clone();
        config.notifications = Some(NotificationSink::new(move |notification| {
            let source = source.clone();
            // Nobody may be listening.
            match notification {
                // Tools are compared when they are listed or called.
                ServerNotification::ListChanged(ServerList::Tools) => {}
                ServerNotification::ListChanged(list) => match &wake {
                    Some(wake) => wake.notify_one(),
                    None => drop(notices.send(Notice::ListChanged { list, source })),
                },
                ServerNotification::ResourceUpdated { uri } => {
                    drop(notices.send(Notice::ResourceUpdated { uri, source }));
                }
                ServerNotification::Log { level, logger, data } => {
                    // Now, because the answer to a call comes after what the server logged in it.
                    let calls = connected_clients.calls_at(&source.server);
                    let data = Arc::new(data);
                    let message = LogMessage { source, calls, level, logger, data };
                    drop(logs.send(LogNotice::Message(message)));
                }
                _ => {}
            }
        }));
        config
    }

    /// Queues the requests of an instance.
    fn request_handler(&self, source: InstanceRef) -> RequestHandler {
        let requests = self.requests.clone();
        RequestHandler::new(move |request| {
            let InstanceRef { server, id } = source.clone();
            let origin = ServerRequestOrigin::Instance(id);
            // If the queue is full the request is dropped, which answers it.
            let _ = requests.try_send(IncomingServerRequest { server, origin, request });
        })
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

    /// Waits until all log messages so far were forwarded to a client.
    pub(crate) async fn wait_until_logs_forwarded(&self, link: &Arc<ClientLink>) {
        let (reached, mut barrier) = mpsc::channel(1);
        let _ = self.logs.send(LogNotice::Barrier { link: Arc::downgrade(link), reached });
        // A slow client may lose the barrier among other notices.
        let _ = tokio::time::timeout(BARRIER_TIMEOUT, barrier.recv()).await;
    }

    /// Subscribes to notices from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// Subscribes to log messages from now on.
    pub(crate) fn subscribe_to_logs(&self) -> broadcast::Receiver<LogNotice> {
        self.logs.subscribe()
    }

    /// The queue of server requests; only the first caller gets it.
    pub(crate) fn take_requests(&self) -> Option<mpsc::Receiver<IncomingServerRequest>> {
        self.request_queue.lock().ok()?.take()
    }
}

fn offered_by(policy: &Arc<PolicySet>) -> OfferedCapabilitiesFn {
    let policy = Arc::clone(policy);
    Arc::new(move |server| offered_capabilities(Some(&policy), server))
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

    fn on_task(&self) {
        if let Some(task) = self.call.task() {
            task.defer();
        }
    }

    fn on_missing_capability(&self, refusal: &RpcError) {
        self.call.record_missing_capability(refusal);
    }

    fn handle(&self, request: ServerRequest) {
        let server = self.server.clone();
        let origin = ServerRequestOrigin::Call(Arc::clone(&self.call));
        // One that finds no room is answered by being dropped.
        let _ = self.events.requests.try_send(IncomingServerRequest { server, origin, request });
    }
}

/// The capabilities offered to a server: roots always, the others only if a signed contract names
/// them for this server. A pattern does not suffice, because it was written for tools.
pub(crate) fn offered_capabilities(
    policy: Option<&PolicySet>,
    server: &UpstreamName,
) -> Map<String, Value> {
    let mut offered = Map::from_iter([("roots".to_owned(), json!({ "listChanged": true }))]);
    for (kind, word, value) in [
        (FeatureKind::Elicitation, "elicitation", json!({ "form": {}, "url": {} })),
        (FeatureKind::Sampling, "sampling", json!({})),
    ] {
        let has_contract = |id| policy.is_some_and(|policy| policy.has_exact_contract(&id));
        if kind.id(server.as_str()).is_some_and(has_contract) {
            offered.insert(word.to_owned(), value);
        }
    }
    offered
}
