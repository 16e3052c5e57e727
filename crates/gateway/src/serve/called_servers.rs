//! The servers that a client has called, and the processes that served it last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use weaver_trace_store::query::EventFacts;
use weaver_types::ledger::{Ledger, MAX_PAGE};
use weaver_types::{EventKind, RunId, UpstreamName};

/// How many events at the end of the log are read. A call that lies further back is long ago.
const MAX_EVENTS: u64 = 2_000;

/// The servers that a client has called.
#[derive(Default)]
pub(super) struct CalledServers {
    /// The connections to the processes that served it last.
    processes: Mutex<BTreeMap<UpstreamName, u64>>,
    /// A run that goes on, which the client entered before the gateway began.
    resumed: OnceLock<RunId>,
    /// The servers that were called in it before the gateway began.
    called_before: OnceLock<BTreeSet<String>>,
}

impl CalledServers {
    /// Notes that the client goes on in a run.
    pub(super) fn resume(&self, run: &RunId) {
        let _ = self.resumed.set(run.clone());
    }

    /// Notes the process that serves a call. Whether another one served the last call, also where
    /// that was before the gateway began.
    pub(super) fn is_another_process(
        &self,
        server: &UpstreamName,
        connection: u64,
        before: EarlierLog<'_>,
    ) -> bool {
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        match processes.insert(server.clone(), connection) {
            Some(last) => last != connection,
            None => {
                let called = self.called_before.get_or_init(|| match self.resumed.get() {
                    Some(run) => before.servers_called_in(run),
                    None => BTreeSet::new(),
                });
                called.contains(server.as_str())
            }
        }
    }
}

/// The log as it was when the gateway opened it.
#[derive(Clone, Copy)]
pub(super) struct EarlierLog<'l> {
    pub(super) ledger: &'l dyn Ledger,
    /// The number of its events.
    pub(super) end: u64,
}

impl EarlierLog<'_> {
    /// The namespaces of the capabilities that a run called in its last events. Empty where it
    /// cannot be read: this only decides on a line for the model.
    fn servers_called_in(&self, run: &RunId) -> BTreeSet<String> {
        let mut called = BTreeSet::new();
        let Self { ledger, end } = *self;
        let mut next = end.saturating_sub(MAX_EVENTS);
        while next < end {
            let count = usize::try_from(end.saturating_sub(next)).unwrap_or(MAX_PAGE).min(MAX_PAGE);
            let Ok(page) = ledger.events(next, count) else { break };
            let Some(last) = page.last() else { break };
            next = last.seq.saturating_add(1);
            let facts = page.iter().map(EventFacts::from_event);
            called.extend(facts.filter_map(|event| {
                let header = event.header.as_ref()?;
                let is_call = header.kind == EventKind::Intent && header.run.as_ref() == Some(run);
                let capability = event.payload.as_ref().filter(|_| is_call)?.get("capability")?;
                Some(capability.as_str()?.split_once('.')?.0.to_owned())
            }));
        }
        called
    }
}
