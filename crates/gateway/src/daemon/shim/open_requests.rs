//! The requests of a client that the daemon has not answered, and what becomes of them when it ends.

use std::collections::BTreeMap;

use super::message::{self, Envelope};

/// How many requests may be unanswered.
pub(super) const MAX_OPEN_REQUESTS: usize = 1024;
/// How many bytes of requests are kept for sending again: less than a socket buffer, so that
/// sending them never blocks.
const MAX_RESEND_BYTES: usize = 48 * 1024;

/// What happens to an unanswered request when the daemon dies.
pub(super) enum OpenRequest {
    /// It is sent again; its line.
    Resendable(Vec<u8>),
    /// It may have run: the client is told so.
    Call,
    /// It may change a task that ended with the daemon, and whose call may have run.
    AboutTask,
    /// It is answered with an error.
    NotResendable,
}

impl OpenRequest {
    pub(super) fn is_about_task(&self) -> bool {
        match self {
            Self::Resendable(line) => Envelope::parse(line)
                .is_some_and(|sent| sent.method().is_some_and(message::is_about_task)),
            Self::AboutTask => true,
            Self::Call | Self::NotResendable => false,
        }
    }

    /// How many bytes of it are kept.
    fn resend_bytes(&self) -> usize {
        match self {
            Self::Resendable(line) => line.len(),
            Self::Call | Self::AboutTask | Self::NotResendable => 0,
        }
    }
}

/// The unanswered requests, by their ids in JSON.
#[derive(Default)]
pub(super) struct OpenRequests(BTreeMap<String, OpenRequest>);

impl OpenRequests {
    /// Records a request. More than the daemon accepts are not recorded: such a request is merely
    /// not answered if the daemon dies.
    pub(super) fn add(&mut self, id: String, method: &str, line: &[u8]) {
        if self.0.len() >= MAX_OPEN_REQUESTS {
            return;
        }
        let resend_bytes: usize = self.0.values().map(OpenRequest::resend_bytes).sum();
        let request = match method {
            "tools/call" => OpenRequest::Call,
            method
                if message::is_repeatable(method)
                    && resend_bytes + line.len() <= MAX_RESEND_BYTES =>
            {
                OpenRequest::Resendable(line.to_vec())
            }
            method if message::is_about_task(method) => OpenRequest::AboutTask,
            _ => OpenRequest::NotResendable,
        };
        self.0.insert(id, request);
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// Takes the calls, each of which may have run.
    pub(super) fn take_calls(&mut self) -> BTreeMap<String, OpenRequest> {
        self.take(|request| matches!(request, OpenRequest::Call))
    }

    /// Takes what is neither a call nor sent again.
    pub(super) fn take_unresendable(&mut self) -> BTreeMap<String, OpenRequest> {
        self.take(|request| matches!(request, OpenRequest::AboutTask | OpenRequest::NotResendable))
    }

    pub(super) fn take_all(&mut self) -> BTreeMap<String, OpenRequest> {
        std::mem::take(&mut self.0)
    }

    fn take(&mut self, kind: fn(&OpenRequest) -> bool) -> BTreeMap<String, OpenRequest> {
        let (taken, left) = self.take_all().into_iter().partition(|(_, request)| kind(request));
        self.0 = left;
        taken
    }

    /// The lines of those that are sent again.
    pub(super) fn resendable_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.0.values().filter_map(|request| match request {
            OpenRequest::Resendable(line) => Some(line.as_slice()),
            _ => None,
        })
    }
}
