//! The held calls in memory.
//!
//! What stands here is what the ledger holds, and what is on its way to it: every change is
//! committed with the version of the record as its guard and noted here afterwards.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use weaver_policy::approval::Phase;
use weaver_types::ledger::Ledger;
use weaver_types::{Digest, RequestId, RunId, Tenant, Timestamp};

use super::hold::{self, CallSite, EndedHold, HoldForm, OpenHold, commitment};
use super::proof::Proof;
use crate::arguments::Arguments;
use crate::error::KernelError;

/// The most open requests.
pub(crate) const MAX_OPEN: usize = 1_024;
/// The most open requests of one run.
pub(crate) const MAX_OPEN_OF_RUN: usize = 64;
/// The most bytes that one request may have.
pub(crate) const MAX_HELD: usize = 512 * 1024;
/// The most bytes that all open requests may have.
const MAX_HELD_BYTES: usize = 64 * 1024 * 1024;
/// The most refused requests at one place that are kept apart; beyond it everything there is
/// refused until one of them is over.
const MAX_DENIED: usize = 16;
/// How many ended requests are told about from memory.
const MAX_ENDED: usize = 4_096;

/// One open hold as it stands.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    /// The version of its record; 0 while the record is on its way.
    pub(crate) version: u64,
    /// The digest of its arguments.
    pub(crate) arguments: Digest,
    pub(crate) open: Arc<OpenHold>,
    /// The people who agreed in this process. It is not stored: after a restart they are asked
    /// again.
    pub(crate) here: Option<Arc<BTreeSet<String>>>,
    /// Whoever opened it went away before the ledger had answered: its record is there or will never
    /// be.
    pub(crate) abandoned: bool,
    /// Bytes of its request.
    bytes: usize,
}

/// What is found for a call.
pub(crate) enum HoldLookup {
    Nothing,
    Open(Hold),
    Denied(EndedHold),
}

/// Whoever waits for a request: the number that it is known by, once it has one, and how it is
/// woken.
pub(crate) struct Waiter<'a> {
    pub(crate) number: &'a mut Option<u64>,
    pub(crate) waker: &'a Waker,
}

/// Why no further request is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldLimit {
    Kernel,
    Run,
    TooLarge,
}

#[derive(Default)]
struct Inner {
    open: BTreeMap<RequestId, Hold>,
    places: BTreeMap<CallSite, BTreeSet<RequestId>>,
    runs: BTreeMap<RunId, usize>,
    bytes: usize,
    denied: BTreeMap<CallSite, Vec<EndedHold>>,
    ended_phases: BTreeMap<RequestId, Phase>,
    ended_order: VecDeque<RequestId>,
    waiting: BTreeMap<RequestId, BTreeMap<u64, Waker>>,
    next_waiter: u64,
    asking: BTreeSet<RequestId>,
}

/// The held calls in memory.
#[derive(Default)]
pub(crate) struct HoldTable(Mutex<Inner>);

impl HoldTable {
    /// All that the ledger holds, and which open requests are not as the log tells of them.
    pub(crate) fn load(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        now: Timestamp,
    ) -> Result<(Self, Vec<RequestId>), KernelError> {
        let mut inner = Inner::default();
        let all = hold::all(tenant, ledger)?;
        let oldest = all.iter().filter_map(|(_, form)| match form {
            HoldForm::Open(open) => Some(open.request.opened_at),
            HoldForm::Ended(_) => None,
        });
        let proof = match oldest.min() {
            Some(since) => Proof::read(ledger, since)?,
            None => Proof::default(),
        };
        let mut void = Vec::new();
        for (version, form) in all {
            match form {
                HoldForm::Open(open) => {
                    let id = open.request.id.clone();
                    let digest = open.request.digest().map(|digest| digest.to_string());
                    if !digest.is_ok_and(|digest| proof.holds(&id, &digest)) {
                        void.push(id);
                    }
                    inner.add(*open, version)?;
                }
                HoldForm::Ended(ended) if is_denied(&ended, now) => inner.deny(*ended, now),
                HoldForm::Ended(_) => {}
            }
        }
        Ok((Self(Mutex::new(inner)), void))
    }

    fn lock(&self) -> Option<MutexGuard<'_, Inner>> {
        self.0.lock().ok()
    }

    /// The hold of this very call; `None` when the table is unusable.
    pub(crate) fn find(
        &self,
        place: &CallSite,
        arguments: &Arguments,
        now: Timestamp,
    ) -> Option<HoldLookup> {
        let inner = self.lock()?;
        let here = inner.places.get(place).into_iter().flatten();
        let open = here
            .filter_map(|id| inner.open.get(id))
            .find(|hold| hold.arguments == arguments.digest);
        if let Some(hold) = open {
            return Some(HoldLookup::Open(hold.clone()));
        }
        let denied: Vec<&EndedHold> =
            inner.denied.get(place).into_iter().flatten().filter(|e| is_denied(e, now)).collect();
        let crowded = denied.len() >= MAX_DENIED;
        let same = denied
            .into_iter()
            .find(|e| crowded || e.commit == commitment(&e.nonce, &arguments.bytes));
        Some(same.map_or(HoldLookup::Nothing, |ended| HoldLookup::Denied(ended.clone())))
    }

    /// The requests that wait for an answer.
    pub(crate) fn waiting(&self) -> Vec<RequestId> {
        self.lock().map(|inner| inner.open.keys().cloned().collect()).unwrap_or_default()
    }

    pub(crate) fn get(&self, id: &RequestId) -> Option<Hold> {
        self.lock()?.open.get(id).cloned()
    }

    /// All open holds, the oldest first.
    pub(crate) fn all(&self) -> Vec<Hold> {
        let Some(inner) = self.lock() else { return Vec::new() };
        let mut all: Vec<Hold> = inner.open.values().cloned().collect();
        drop(inner);
        all.sort_by(|a, b| {
            let name = |hold: &Hold| (hold.open.request.opened_at, hold.open.request.id.clone());
            name(a).cmp(&name(b))
        });
        all
    }

    /// The latest deadline of all open ones.
    pub(crate) fn last_deadline(&self) -> Option<Timestamp> {
        self.lock()?.open.values().map(|hold| hold.open.request.deadline).max()
    }

    /// Takes a place for a new hold, before its record is committed. When the same call has one by
    /// now, that one is given back instead.
    pub(crate) fn reserve(&self, open: OpenHold) -> Result<Result<(), Hold>, HoldLimit> {
        let hold = Hold::new(open, 0).ok_or(HoldLimit::TooLarge)?;
        let mut inner = self.lock().ok_or(HoldLimit::Kernel)?;
        let place = CallSite::of(&hold.open.request);
        let here = inner.places.get(&place).into_iter().flatten();
        let same = here.filter_map(|id| inner.open.get(id));
        if let Some(hold) = same.into_iter().find(|h| h.arguments == hold.arguments) {
            return Ok(Err(hold.clone()));
        }
        if hold.bytes > MAX_HELD {
            return Err(HoldLimit::TooLarge);
        }
        if inner.open.len() >= MAX_OPEN || inner.bytes.saturating_add(hold.bytes) > MAX_HELD_BYTES {
            return Err(HoldLimit::Kernel);
        }
        if inner.runs.get(&place.run).is_some_and(|open| *open >= MAX_OPEN_OF_RUN) {
            return Err(HoldLimit::Run);
        }
        inner.insert(hold);
        Ok(Ok(()))
    }

    /// Gives the place back: the record was not committed. Whoever waits for it is woken.
    pub(crate) fn release(&self, id: &RequestId) {
        let Some(mut inner) = self.lock() else { return };
        inner.remove(id);
        let woken = inner.waiting.remove(id);
        drop(inner);
        for waker in woken.into_iter().flat_map(BTreeMap::into_values) {
            waker.wake();
        }
    }

    /// Notes that nobody waits for the record of a new hold any more.
    pub(crate) fn abandon(&self, id: &RequestId) {
        if let Some(hold) = self.lock().as_mut().and_then(|inner| inner.open.get_mut(id)) {
            hold.abandoned = true;
        }
    }

    /// Notes a committed record. One that is older than what is known changes nothing.
    pub(crate) fn committed(&self, version: u64, form: HoldForm, now: Timestamp) {
        let Some(mut inner) = self.lock() else { return };
        let id = form.id().clone();
        let phase = match form {
            HoldForm::Open(open) => {
                let Some(hold) = inner.open.get_mut(&id) else { return };
                if hold.version >= version {
                    return;
                }
                // What was asked never changes; a record that says otherwise is not ours.
                if open.request != hold.open.request {
                    return;
                }
                hold.version = version;
                hold.abandoned = false;
                hold.open = Arc::from(open);
                hold.open.state.phase().clone()
            }
            HoldForm::Ended(ended) => {
                inner.remove(&id);
                let phase = ended.phase.clone();
                if is_denied(&ended, now) {
                    inner.deny(*ended, now);
                }
                inner.remember_end(id.clone(), phase.clone());
                phase
            }
        };
        let woken = if phase == Phase::Requested { None } else { inner.waiting.remove(&id) };
        drop(inner);
        for waker in woken.into_iter().flat_map(BTreeMap::into_values) {
            waker.wake();
        }
    }

    /// Notes that people in this process agreed. False when the hold is open no more.
    pub(crate) fn granted_here(&self, id: &RequestId, people: BTreeSet<String>) -> bool {
        let Some(mut inner) = self.lock() else { return false };
        let Some(hold) = inner.open.get_mut(id) else { return false };
        hold.here = Some(Arc::new(people));
        let woken = inner.waiting.remove(id);
        drop(inner);
        for waker in woken.into_iter().flat_map(BTreeMap::into_values) {
            waker.wake();
        }
        true
    }

    /// Where a request stands. While it waits for people, the waiter is noted and gets its number.
    /// `None` for a request that memory does not know.
    pub(crate) fn phase(&self, id: &RequestId, waiter: Option<Waiter<'_>>) -> Option<Phase> {
        let mut inner = self.lock()?;
        let phase = match inner.open.get(id) {
            Some(hold) if hold.here.is_some() => Phase::Granted,
            Some(hold) => hold.open.state.phase().clone(),
            None => return inner.ended_phases.get(id).cloned(),
        };
        if let (Phase::Requested, Some(waiter)) = (&phase, waiter) {
            let own = *waiter.number.get_or_insert_with(|| {
                inner.next_waiter = inner.next_waiter.wrapping_add(1);
                inner.next_waiter
            });
            inner.waiting.entry(id.clone()).or_default().insert(own, waiter.waker.clone());
        }
        Some(phase)
    }

    /// Forgets a waiter.
    pub(crate) fn leave(&self, id: &RequestId, number: u64) {
        if let Some(mut inner) = self.lock()
            && let Some(waiting) = inner.waiting.get_mut(id)
        {
            waiting.remove(&number);
            if waiting.is_empty() {
                inner.waiting.remove(id);
            }
        }
    }

    /// True for the one who may ask the resolver now; the others go away.
    pub(crate) fn begin_asking(&self, id: &RequestId) -> bool {
        self.lock().is_some_and(|mut inner| inner.asking.insert(id.clone()))
    }

    pub(crate) fn end_asking(&self, id: &RequestId) {
        if let Some(mut inner) = self.lock() {
            inner.asking.remove(id);
        }
    }

    /// Forgets refusals whose time is over.
    pub(crate) fn tidy(&self, now: Timestamp) {
        if let Some(mut inner) = self.lock() {
            inner.denied.retain(|_, all| {
                all.retain(|ended| is_denied(ended, now));
                !all.is_empty()
            });
        }
    }
}

impl Hold {
    fn new(open: OpenHold, version: u64) -> Option<Self> {
        let arguments = open.request.arguments_digest().ok()?;
        let bytes = open.request.to_bytes().ok()?.len();
        let open = Arc::new(open);
        Some(Self { version, arguments, open, here: None, abandoned: false, bytes })
    }
}

impl Inner {
    fn add(&mut self, open: OpenHold, version: u64) -> Result<(), KernelError> {
        let hold = Hold::new(open, version).ok_or_else(|| KernelError::Stored {
            what: "a held call",
            problem: "its arguments have no canonical form".to_owned(),
        })?;
        self.insert(hold);
        Ok(())
    }

    fn insert(&mut self, hold: Hold) {
        let place = CallSite::of(&hold.open.request);
        let id = hold.open.request.id.clone();
        self.bytes = self.bytes.saturating_add(hold.bytes);
        *self.runs.entry(place.run.clone()).or_default() += 1;
        self.places.entry(place).or_default().insert(id.clone());
        self.open.insert(id, hold);
    }

    fn remove(&mut self, id: &RequestId) {
        let Some(hold) = self.open.remove(id) else { return };
        let place = CallSite::of(&hold.open.request);
        self.bytes = self.bytes.saturating_sub(hold.bytes);
        if let Some(open) = self.runs.get_mut(&place.run) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                self.runs.remove(&place.run);
            }
        }
        if let Some(ids) = self.places.get_mut(&place) {
            ids.remove(id);
            if ids.is_empty() {
                self.places.remove(&place);
            }
        }
    }

    fn deny(&mut self, ended: EndedHold, now: Timestamp) {
        let here = self.denied.entry(ended.place.clone()).or_default();
        here.retain(|other| is_denied(other, now));
        here.push(ended);
    }

    fn remember_end(&mut self, id: RequestId, phase: Phase) {
        if self.ended_order.len() >= MAX_ENDED
            && let Some(oldest) = self.ended_order.pop_front()
        {
            self.ended_phases.remove(&oldest);
        }
        if self.ended_phases.insert(id.clone(), phase).is_none() {
            self.ended_order.push_back(id);
        }
    }
}

/// True while a refusal counts for the same call.
fn is_denied(ended: &EndedHold, now: Timestamp) -> bool {
    matches!(ended.phase, Phase::Denied { .. }) && now < ended.deadline
}

#[cfg(test)]
mod tests;
