//! The entity tag of a resource, as a precondition of a call.

mod error;

use std::collections::BTreeSet;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use reqwest::header::{ETAG, HeaderMap};
use reqwest::{Method, Url};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use weaver_agent_kernel::PreconditionError;
use weaver_types::BoxFuture;

use super::error::RequestFailure;
use super::host::HostRule;
use super::request::{ParsedOperation, PendingRequest};
use super::restricted_client::RestrictedClient;
use super::url_template::{UrlTemplate, invalid_argument};
use super::{Access, Operation, OperationError, Refusal};
use error::EtagError;

/// Time limit of one observation.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How much longer the caller waits for the thread.
const WAIT_GRACE: Duration = Duration::from_secs(1);
/// The longest entity tag.
const MAX_TAG_BYTES: usize = 400;
/// The value for a resource that does not exist.
const ABSENT: &str = "absent";

type Job = BoxFuture<'static, ()>;

/// Observes the entity tags of resources: by HEAD, or by GET if the server does not support HEAD,
/// under the rules of [`HttpDriver`](super::HttpDriver).
///
/// A resource on the host of a registered operation is requested with that operation's secrets and
/// access; any other resource without secrets, over https, at public addresses only. A dedicated
/// thread makes the requests while the caller waits for at most eleven seconds.
#[derive(Default)]
pub struct EtagObserver {
    hosts: Vec<HostAccess>,
    jobs: Mutex<Option<UnboundedSender<Job>>>,
}

/// How the resources of one host are requested.
#[derive(Clone)]
struct HostAccess {
    host: HostRule,
    operation: Option<Arc<ParsedOperation>>,
    client: Arc<RestrictedClient>,
}

impl EtagObserver {
    /// An observer without registered operations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers the access of this operation for its host. Of several operations for a host the
    /// first one counts. An operation whose host comes from an argument is ignored.
    ///
    /// # Errors
    /// [`OperationError`], as for a driver.
    pub fn with_operation(
        mut self,
        operation: &Operation,
        access: &Access,
    ) -> Result<Self, OperationError> {
        let form = ParsedOperation::parse(operation)?;
        if let Some(host) = form.host() {
            let client = Arc::new(RestrictedClient::new(access.clone(), Some(host.clone())));
            self.hosts.push(HostAccess { host, operation: Some(Arc::new(form)), client });
        }
        Ok(self)
    }

    /// The entity tag of the resource that a template and arguments name, or `absent`.
    pub(crate) fn observe(
        &self,
        template: &str,
        arguments: &Value,
    ) -> Result<String, PreconditionError> {
        let unreadable = |error: EtagError| PreconditionError::Unreadable {
            what: format!("`{}`", template.escape_debug().take(200).collect::<String>()),
            problem: error.to_string(),
        };
        let (url, access) = self.host_access(template, arguments).map_err(unreadable)?;
        let (sender, receiver) = sync_channel(1);
        let job = async move {
            let tag = timeout(REQUEST_TIMEOUT, access.fetch_tag(url))
                .await
                .unwrap_or(Err(EtagError::Late));
            // The caller may have stopped waiting.
            let _ = sender.send(tag);
        };
        self.queue_job(Box::pin(job)).map_err(unreadable)?;
        let tag = receiver.recv_timeout(REQUEST_TIMEOUT.saturating_add(WAIT_GRACE));
        tag.unwrap_or(Err(EtagError::Late)).map_err(unreadable)
    }

    fn host_access(
        &self,
        template: &str,
        arguments: &Value,
    ) -> Result<(Url, HostAccess), EtagError> {
        let template = UrlTemplate::parse(template)?;
        let host = template.host().ok_or(EtagError::OpenHost)?;
        let arguments =
            arguments.as_object().ok_or_else(|| invalid_argument("/", "is not an object"));
        let filled = arguments.and_then(|given| template.fill(given, &mut BTreeSet::new()));
        let url = filled.map_err(EtagError::Arguments)?;
        let configured = self.hosts.iter().find(|way| way.host.admits(&url)).cloned();
        let public = || HostAccess {
            client: Arc::new(RestrictedClient::new(Access::default(), Some(host.clone()))),
            host: host.clone(),
            operation: None,
        };
        Ok((url, configured.unwrap_or_else(public)))
    }

    /// Sends a job to the thread, starting the thread if necessary.
    fn queue_job(&self, job: Job) -> Result<(), EtagError> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let running = jobs.take().filter(|jobs| !jobs.is_closed());
        let sender = match running {
            Some(sender) => sender,
            None => start_thread().map_err(|error| EtagError::Thread(error.kind()))?,
        };
        let sent = sender.send(job).map_err(|_| EtagError::Ended);
        *jobs = Some(sender);
        sent
    }
}

/// Starts a thread that runs jobs until all senders are gone.
fn start_thread() -> std::io::Result<UnboundedSender<Job>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (sender, mut jobs) = unbounded_channel::<Job>();
    let work = async move {
        while let Some(job) = jobs.recv().await {
            tokio::spawn(job);
        }
    };
    thread::Builder::new().name("weaver-etag".to_owned()).spawn(move || runtime.block_on(work))?;
    Ok(sender)
}

impl HostAccess {
    async fn fetch_tag(&self, url: Url) -> Result<String, EtagError> {
        for method in [Method::HEAD, Method::GET] {
            let last = method == Method::GET;
            let request =
                PendingRequest::without_body(method, url.clone(), self.operation.as_deref());
            let answer = match request.with_secrets().await {
                Ok((outgoing, _)) => self.client.send(outgoing).await,
                Err(failure) => Err(failure),
            };
            return match answer {
                Ok(answer) => parse_tag(&answer.headers),
                Err(RequestFailure { refusal: Refusal::Status { status, .. }, .. }) => match status
                {
                    404 | 410 => Ok(ABSENT.to_owned()),
                    405 | 501 if !last => continue,
                    // A decision must not quote the server's text.
                    _ => Err(EtagError::Status(status)),
                },
                Err(failure) => Err(EtagError::Refused(failure.refusal)),
            };
        }
        Err(EtagError::Methods)
    }
}

/// The single entity tag in these headers, as received.
fn parse_tag(headers: &HeaderMap) -> Result<String, EtagError> {
    let mut all = headers.get_all(ETAG).iter();
    let (Some(one), None) = (all.next(), all.next()) else {
        return Err(EtagError::Count);
    };
    let text = one.to_str().map_err(|_| EtagError::Bytes)?.trim();
    let inner = text.strip_prefix("W/").unwrap_or(text);
    let inner = inner.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
    let legal = inner.is_some_and(|inner| inner.bytes().all(|b| matches!(b, 0x21 | 0x23..=0x7e)));
    if legal && text.len() <= MAX_TAG_BYTES { Ok(text.to_owned()) } else { Err(EtagError::Form) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_well_formed_tag_counts() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(ETAG, value.parse().unwrap());
            }
            parse_tag(&headers)
        };
        assert_eq!(read(&["\"a1\""]), Ok("\"a1\"".to_owned()));
        assert_eq!(read(&["W/\"a1\""]), Ok("W/\"a1\"".to_owned()));
        let long = format!("\"{}\"", "x".repeat(400));
        for bad in [&[][..], &["a1"], &["\"a\"", "\"b\""], &["\"a\"b\""], &["\"a b\""], &[&long]] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
