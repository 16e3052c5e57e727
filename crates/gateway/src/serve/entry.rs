//! One upstream server: connects it, registers its tools, and knows whether it is available.

mod dedicated_instance;
mod features;
mod instances;
mod listing;
mod listing_context;
mod relist_error;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use weaver_agent_kernel::Kernel;
use weaver_drivers::confine::{Launcher, Protection};
use weaver_drivers::mcp::{LogLevel, Redactor, ServerList, Upstream, UpstreamConfig};
use weaver_types::{CapabilityId, RunId, UpstreamName};

use self::instances::{Instances, InstancesContext, dedicated_configuration};
pub(crate) use self::listing_context::{ListingContext, ListingObserver};
use self::relist_error::RelistError;
use super::listed_definition::ListedDefinition;
use super::open_relays::OpenRelays;
use super::run_clients::RunClients;
use super::runs::Runs;
use super::server_events::ServerEvents;
use super::server_feature::ServerFeatures;
use super::upstream_config::{upstream_config, wants_login};
use crate::config::{self, Config, Sharing};

/// How long a call waits for its server to list again, or to come back.
const RELIST: Duration = Duration::from_secs(30);
/// Some servers register their tools a moment after the handshake.
const SECOND_LOOK: Duration = Duration::from_millis(150);
/// How often a list is looked at that is empty at the start, or that changes while it is listed.
const LOOKS: u32 = 3;
/// How long a listing waits for another look at a server that is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// The pause before a server that is away is tried again; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// One upstream.
pub(crate) struct Entry {
    pub(crate) name: UpstreamName,
    config: config::Upstream,
    /// The configuration of the gateway.
    whole: Arc<Config>,
    redactor: Redactor,
    /// The program that confines its process.
    launcher: Launcher,
    pub(super) instances: Arc<Instances>,
    state: Mutex<State>,
    started: Instant,
    /// One listing at a time.
    listing: tokio::sync::Mutex<()>,
    /// Wakes the task that polls the server before its pause is over.
    wake: Arc<Notify>,
    /// What it offers beside tools.
    features: RwLock<Arc<ServerFeatures>>,
    /// The same, as it was when no client worked with the primary instance.
    untouched: RwLock<Arc<ServerFeatures>>,
    /// Where what it tells and asks goes.
    events: ServerEvents,
    /// What it asks of clients, while that is under way.
    relays: Arc<OpenRelays>,
    /// From which level on its log messages are wanted.
    log_level: Mutex<Option<LogLevel>>,
    /// How many polls have ended.
    looks: watch::Sender<u64>,
    /// True once the first attempt is over.
    settled: watch::Sender<bool>,
    /// True once the gateway ends and nobody waits for a server.
    closing: watch::Receiver<bool>,
}

/// What all upstreams have in common.
pub(crate) struct EntryContext<'a> {
    pub(crate) whole: &'a Arc<Config>,
    pub(crate) redactor: &'a Redactor,
    pub(crate) launcher: &'a Launcher,
    pub(crate) closing: &'a watch::Receiver<bool>,
    pub(crate) events: &'a ServerEvents,
    pub(crate) relays: &'a Arc<OpenRelays>,
    pub(crate) clients: &'a RunClients,
}

#[derive(Default)]
struct State {
    tools: BTreeMap<CapabilityId, Arc<ListedDefinition>>,
    /// Why it is unavailable; `None` while it is connected.
    problem: Option<String>,
    ready: bool,
}

/// A server whose tools are unavailable.
pub(crate) struct UnavailableServer {
    pub(crate) server: UpstreamName,
    pub(crate) status: MissingStatus,
    /// Why, in words.
    pub(crate) problem: String,
}

/// Why the tools of a server are unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingStatus {
    /// Its first start is under way.
    Starting,
    /// It failed, and is tried again.
    Failed,
}

impl MissingStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Failed => "failed",
        }
    }
}

impl Entry {
    pub(crate) fn new(config: &config::Upstream, shared: &EntryContext<'_>) -> Self {
        let EntryContext { whole, redactor, launcher, closing, events, relays, clients } = shared;
        let configured =
            |connection| UpstreamConfig { redactor: Some((*redactor).clone()), ..connection };
        let wake = Arc::new(Notify::new());
        let primary = configured(upstream_config(config, whole, launcher));
        let primary = events.attach(&config.name, &wake, primary);
        let (server, sharing) = (&config.name, config.sharing);
        let apart = sharing == Sharing::Client && wants_login(&config.transport);
        let login = apart.then_some(&whole.principal);
        let setting = InstancesContext { server, sharing, login, events, clients };
        let dedicated = dedicated_configuration(config, shared);
        let instances = Instances::new(setting, primary, dedicated);
        Self {
            name: config.name.clone(),
            config: config.clone(),
            whole: Arc::clone(whole),
            redactor: (*redactor).clone(),
            launcher: (*launcher).clone(),
            instances: Arc::new(instances),
            state: Mutex::default(),
            started: Instant::now(),
            listing: tokio::sync::Mutex::default(),
            wake,
            features: RwLock::default(),
            untouched: RwLock::default(),
            events: (*events).clone(),
            relays: Arc::clone(relays),
            log_level: Mutex::default(),
            looks: watch::Sender::new(0),
            settled: watch::Sender::new(false),
            closing: (*closing).clone(),
        }
    }

    /// The instance whose tools are listed.
    fn upstream(&self) -> Arc<Upstream> {
        self.instances.primary()
    }

    /// Keeps the server connected and its tools current until the gateway ends. A server that is
    /// away is tried again after a pause that grows with each failure, or when somebody needs it.
    pub(crate) async fn keep(&self, context: ListingContext<'_>) {
        self.first_look(context).await;
        let mut failures = u32::from(self.problem().is_some());
        let mut closing = self.closing.clone();
        loop {
            let pause =
                FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
            tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => return,
                () = self.wake.notified() => {}
                () = tokio::time::sleep(pause.min(LONGEST_PAUSE)) => {}
            }
            failures = match self.look(context).await {
                Ok(()) => 0,
                Err(()) => failures.saturating_add(1),
            };
        }
    }

    /// Lists the tools again, if the server says that they changed or has gone away.
    async fn look(&self, context: ListingContext<'_>) -> Result<(), ()> {
        let looked = {
            let _one_at_a_time = self.listing.lock().await;
            let upstream = self.upstream();
            if is_stale(&upstream).await {
                if let Some(error) = upstream.ended().await {
                    self.lost(context.kernel, &error).await;
                }
                let listed = self.relist(context).await.map(drop);
                self.settle_tools(context.kernel);
                listed
            } else {
                Ok(())
            }
        };
        self.looks.send_modify(|looks| *looks = looks.wrapping_add(1));
        looked
    }

    /// The first attempt to connect, with a second look at a list that may not be whole yet.
    async fn first_look(&self, context: ListingContext<'_>) {
        for look in 1..=LOOKS {
            let found = self.refresh(context).await;
            let again = match found {
                Ok(0) => look < LOOKS,
                Ok(_) => look == 1,
                Err(()) => false,
            };
            if !again {
                break;
            }
            tokio::time::sleep(SECOND_LOOK).await;
            if matches!(found, Ok(n) if n > 0) && !self.upstream().tools_stale().await {
                break;
            }
        }
        self.settle_tools(context.kernel);
        self.settled.send_replace(true);
    }

    /// Tools listed for the first time after this point are new tools.
    fn settle_tools(&self, kernel: &Kernel) {
        if self.tools().is_empty() {
            return;
        }
        if let Err(error) = kernel.registry().settle(self.name.as_str()) {
            tracing::error!(upstream = %self.name, %error, "later tools are not told from the first ones");
        }
    }

    /// Has the server looked at, if it says that its tools changed or has gone away. Whoever lists
    /// waits a little for a server that is there, and not at all for one that is known to be away:
    /// it is tried again in the background.
    pub(crate) async fn look_again(&self) {
        let looked = self.next_look();
        self.wake.notify_one();
        if self.problem().is_none() {
            let _ = tokio::time::timeout(PATIENCE, looked).await;
        }
    }

    /// Done when the next look is over, or nobody waits any more.
    fn next_look(&self) -> impl Future<Output = ()> + use<> {
        let (mut looks, mut closing) = (self.looks.subscribe(), self.closing.clone());
        async move {
            tokio::select! {
                _ = closing.wait_for(|closing| *closing) => {}
                _ = looks.changed() => {}
            }
        }
    }

    /// Why it is away; `None` while it is there, and while nobody knows yet.
    pub(crate) fn problem(&self) -> Option<String> {
        self.state.lock().ok()?.problem.clone()
    }

    /// Why its tools are unavailable; `None` while they are available.
    pub(crate) fn missing(&self) -> Option<UnavailableServer> {
        let (status, problem) = match self.problem() {
            Some(problem) => (MissingStatus::Failed, problem),
            None if self.is_settled() || self.is_ready() => return None,
            None => {
                let seconds = self.started.elapsed().as_secs();
                let problem = format!("it is still starting, since {seconds} s");
                (MissingStatus::Starting, problem)
            }
        };
        Some(UnavailableServer { server: self.name.clone(), status, problem })
    }

    /// The tools that it listed last.
    pub(crate) fn tools(&self) -> BTreeMap<CapabilityId, Arc<ListedDefinition>> {
        self.state.lock().map(|state| state.tools.clone()).unwrap_or_default()
    }

    /// True once its tools were listed, although they may not be all of them yet.
    fn is_ready(&self) -> bool {
        self.state.lock().is_ok_and(|state| state.ready)
    }

    /// True once the first attempt is over.
    pub(crate) fn is_settled(&self) -> bool {
        *self.settled.borrow()
    }

    /// Waits until the first attempt is over, at most until it has lasted for `patience`.
    pub(crate) async fn wait_settled(&self, patience: Duration) {
        let (mut settled, mut closing) = (self.settled.subscribe(), self.closing.clone());
        tokio::select! {
            _ = settled.wait_for(|settled| *settled) => {}
            _ = closing.wait_for(|closing| *closing) => {}
            () = tokio::time::sleep(patience.saturating_sub(self.started.elapsed())) => {}
        }
    }

    pub(crate) async fn close(&self) {
        let primary = self.upstream();
        let dedicated = self.instances.take_dedicated();
        let all = dedicated.iter().chain([&primary]).map(|upstream| upstream.close());
        futures_util::future::join_all(all).await;
    }

    /// Ends the dedicated instances whose clients are gone, given the runs that go on.
    pub(crate) async fn end_unused(&self, runs: &BTreeSet<RunId>) {
        let unused = self.instances.take_unused(runs);
        futures_util::future::join_all(unused.iter().map(|upstream| upstream.close())).await;
    }

    /// Before a client's first call: starts the primary instance anew where the client that worked
    /// with it is gone, so that no client inherits the state another left behind.
    pub(crate) async fn free_primary(&self, runs: &Runs, run: &RunId) {
        if !self.instances.is_new(run) {
            return;
        }
        let current = runs.current().await;
        if self.instances.primary_is_left(&current) {
            self.start_anew().close().await;
        }
    }

    /// Restarts the server, confined by what has to be kept from it now.
    pub(crate) async fn restart(&self) {
        let covered = self.upstream().enforced().await;
        if !covered.is_some_and(|kept| kept.protections.contains(&Protection::Mounts)) {
            return;
        }
        tracing::warn!(upstream = %self.name, "started again: a file that is kept from it was replaced or made");
        let dedicated = self.instances.take_dedicated();
        let primary = self.start_anew();
        let all = dedicated.iter().chain([&primary]).map(|upstream| upstream.kill());
        futures_util::future::join_all(all).await;
    }

    /// Puts a fresh primary instance in place of the one that there was, which it gives back.
    fn start_anew(&self) -> Arc<Upstream> {
        let config = upstream_config(&self.config, &self.whole, &self.launcher);
        let config = UpstreamConfig { redactor: Some(self.redactor.clone()), ..config };
        let config = self.events.attach(&self.name, &self.wake, config);
        let former = self.instances.replace_primary(config);
        self.wake.notify_one();
        former
    }

    /// Lists the tools again, if the server says that they changed or has gone away, so that a call
    /// is judged by what its server says now. Whoever comes meanwhile waits for the same listing.
    ///
    /// The error says why that failed: what was listed before is then not what is there.
    pub(crate) async fn keep_current(&self) -> Result<(), RelistError> {
        if !self.is_settled() && !self.is_ready() {
            let missing = self.missing();
            return Err(missing.map_or(RelistError::Starting, |missing| {
                RelistError::Unavailable { problem: missing.problem }
            }));
        }
        let end = Instant::now() + RELIST;
        // The look that is under way may have begun before the change. Of a server that says with each
        // listing that its tools changed, the last one counts.
        for _ in 0..LOOKS {
            // What is being listed is not in the registry yet.
            if let Ok(_nobody_lists) = self.listing.try_lock()
                && !self.upstream().tools_stale().await
            {
                break;
            }
            let looked = self.next_look();
            self.wake.notify_one();
            let slow = tokio::time::timeout_at(end, looked).await.is_err();
            match self.problem() {
                Some(problem) => return Err(RelistError::Unavailable { problem }),
                None if slow => return Err(RelistError::Late { limit: RELIST }),
                None if *self.closing.borrow() => return Err(RelistError::Closing),
                None => {}
            }
        }
        Ok(())
    }

    /// Lists the tools and puts them into the registry; says how many there are.
    async fn refresh(&self, context: ListingContext<'_>) -> Result<usize, ()> {
        let _one_at_a_time = self.listing.lock().await;
        self.relist(context).await
    }
}

/// Whether the server said that one of its lists changed, or has gone away.
async fn is_stale(upstream: &Upstream) -> bool {
    if upstream.tools_stale().await {
        return true;
    }
    for list in [ServerList::Resources, ServerList::ResourceTemplates, ServerList::Prompts] {
        if upstream.is_stale(list).await {
            return true;
        }
    }
    false
}
