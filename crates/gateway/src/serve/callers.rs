//! Which clients are there, and which of them have a call under way at which server: by that it is
//! known whom a server means when it asks something.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::UpstreamName;

use super::client_link::ClientLink;

/// The clients that are there.
#[derive(Clone, Default)]
pub(crate) struct Callers(Arc<Mutex<CallerTable>>);

#[derive(Default)]
struct CallerTable {
    connected: Vec<Arc<ClientLink>>,
    /// The calls under way at each server, each with its client.
    calls: BTreeMap<UpstreamName, Vec<Arc<ClientLink>>>,
}

impl Callers {
    /// A client is there until what is given back is dropped.
    pub(crate) fn connect(&self, client: &Arc<ClientLink>) -> ConnectedClient {
        self.lock().connected.push(Arc::clone(client));
        ConnectedClient { callers: self.clone(), client: Arc::clone(client) }
    }

    /// A call is under way until what is given back is dropped.
    pub(crate) fn enter(&self, server: &UpstreamName, client: &Arc<ClientLink>) -> CallUnderWay {
        self.lock().calls.entry(server.clone()).or_default().push(Arc::clone(client));
        CallUnderWay { callers: self.clone(), server: server.clone(), client: Arc::clone(client) }
    }

    /// The one client that a server can mean: the only one with a call under way there, or the only
    /// one at all. `None` where it could be several: what one of them is asked or told is none of
    /// the others' business.
    pub(crate) fn meant_by(&self, server: &UpstreamName) -> Option<Arc<ClientLink>> {
        let table = self.lock();
        let calling = table.calls.get(server).map(Vec::as_slice).unwrap_or_default();
        let among = if calling.is_empty() { table.connected.as_slice() } else { calling };
        let (first, rest) = among.split_first()?;
        rest.iter().all(|other| Arc::ptr_eq(first, other)).then(|| Arc::clone(first))
    }

    fn lock(&self) -> MutexGuard<'_, CallerTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take_out(from: &mut Vec<Arc<ClientLink>>, client: &Arc<ClientLink>) {
    if let Some(at) = from.iter().position(|one| Arc::ptr_eq(one, client)) {
        from.swap_remove(at);
    }
}

/// A client that is there.
pub(crate) struct ConnectedClient {
    callers: Callers,
    client: Arc<ClientLink>,
}

impl Drop for ConnectedClient {
    fn drop(&mut self) {
        take_out(&mut self.callers.lock().connected, &self.client);
    }
}

/// A call under way at a server.
pub(crate) struct CallUnderWay {
    callers: Callers,
    server: UpstreamName,
    client: Arc<ClientLink>,
}

impl Drop for CallUnderWay {
    fn drop(&mut self) {
        let mut table = self.callers.lock();
        if let Some(calls) = table.calls.get_mut(&self.server) {
            take_out(calls, &self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_means_the_client_that_calls_it_and_nobody_where_it_could_be_two() {
        let callers = Callers::default();
        let (one, other) = (Arc::<ClientLink>::default(), Arc::<ClientLink>::default());
        let [a, b] = ["a", "b"].map(|name| UpstreamName::parse(name).unwrap());
        let means = |server: &UpstreamName, client: &Arc<ClientLink>| {
            callers.meant_by(server).is_some_and(|meant| Arc::ptr_eq(&meant, client))
        };
        assert!(callers.meant_by(&a).is_none());
        let first = callers.connect(&one);
        assert!(means(&a, &one), "it is the only one");
        let _second = callers.connect(&other);
        assert!(callers.meant_by(&a).is_none());
        let (call, again) = (callers.enter(&a, &one), callers.enter(&a, &one));
        assert!(means(&a, &one) && callers.meant_by(&b).is_none());
        let both = callers.enter(&a, &other);
        assert!(callers.meant_by(&a).is_none());
        drop((call, again));
        assert!(means(&a, &other));
        drop((both, first));
        assert!(means(&a, &other));
    }
}
