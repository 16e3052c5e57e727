//! The entity tag of a resource, as a fact on which a call may depend.

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

use super::error::Failure;
use super::host::HostRule;
use super::request::{Form, Request};
use super::template::{Template, invalid};
use super::web::RestrictedClient;
use super::{Access, Operation, OperationError, Refusal};
use error::EtagError;

/// How long one look takes at most.
const TIME: Duration = Duration::from_secs(10);
/// How much longer than that its caller waits.
const GRACE: Duration = Duration::from_secs(1);
/// The longest tag, in bytes.
const MAX_TAG: usize = 400;
/// What stands for a resource that there is none of.
const ABSENT: &str = "absent";

type Job = BoxFuture<'static, ()>;

/// Observes the entity tags of resources: by HEAD, or by GET where a server knows no HEAD, under
/// the rules of [`HttpDriver`](super::HttpDriver).
///
/// A resource on the host of an operation that was named here is asked for with that operation's
/// secrets and access; any other without secrets, over https, at public addresses. A thread of its
/// own does the asking while the caller waits, for at most eleven seconds.
#[derive(Default)]
pub struct EtagObserver {
    ways: Vec<HostAccess>,
    jobs: Mutex<Option<UnboundedSender<Job>>>,
}

/// How the resources of one host are reached.
#[derive(Clone)]
struct HostAccess {
    host: HostRule,
    form: Option<Arc<Form>>,
    web: Arc<RestrictedClient>,
}

impl EtagObserver {
    /// An observer that knows no host yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, knowing how the host of this operation is reached. The first operation of a host
    /// counts. One whose host a call brings says nothing about any host.
    ///
    /// # Errors
    /// [`OperationError`], as for a driver.
    pub fn knowing(
        mut self,
        operation: &Operation,
        access: &Access,
    ) -> Result<Self, OperationError> {
        let form = Form::parse(operation)?;
        if let Some(host) = form.host() {
            let web = Arc::new(RestrictedClient::new(access.clone(), Some(host.clone())));
            self.ways.push(HostAccess { host, form: Some(Arc::new(form)), web });
        }
        Ok(self)
    }

    /// The tag of the resource that a template and arguments name, or `absent`.
    pub(crate) fn observe(
        &self,
        template: &str,
        arguments: &Value,
    ) -> Result<String, PreconditionError> {
        let unreadable = |error: EtagError| PreconditionError::Unreadable {
            what: format!("`{}`", template.escape_debug().take(200).collect::<String>()),
            problem: error.to_string(),
        };
        let (url, way) = self.way(template, arguments).map_err(unreadable)?;
        let (tell, told) = sync_channel(1);
        let look = async move {
            let seen = timeout(TIME, way.look(url)).await.unwrap_or(Err(EtagError::Late));
            // Its caller may have gone.
            let _ = tell.send(seen);
        };
        self.start(Box::pin(look)).map_err(unreadable)?;
        let seen = told.recv_timeout(TIME.saturating_add(GRACE));
        seen.unwrap_or(Err(EtagError::Late)).map_err(unreadable)
    }

    fn way(&self, template: &str, arguments: &Value) -> Result<(Url, HostAccess), EtagError> {
        let template = Template::parse(template)?;
        let host = template.host().ok_or(EtagError::OpenHost)?;
        let arguments = arguments.as_object().ok_or_else(|| invalid("/", "is no object"));
        let filled = arguments.and_then(|given| template.fill(given, &mut BTreeSet::new()));
        let url = filled.map_err(EtagError::Arguments)?;
        let known = self.ways.iter().find(|way| way.host.admits(&url)).cloned();
        let public = || HostAccess {
            web: Arc::new(RestrictedClient::new(Access::default(), Some(host.clone()))),
            host: host.clone(),
            form: None,
        };
        Ok((url, known.unwrap_or_else(public)))
    }

    /// Hands a job to the thread, which is started where there is none.
    fn start(&self, job: Job) -> Result<(), EtagError> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let running = jobs.take().filter(|jobs| !jobs.is_closed());
        let sender = match running {
            Some(sender) => sender,
            None => begin().map_err(|error| EtagError::Thread(error.kind()))?,
        };
        let sent = sender.send(job).map_err(|_| EtagError::Ended);
        *jobs = Some(sender);
        sent
    }
}

/// A thread that does jobs until nobody is left to bring any.
fn begin() -> std::io::Result<UnboundedSender<Job>> {
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
    async fn look(&self, url: Url) -> Result<String, EtagError> {
        for method in [Method::HEAD, Method::GET] {
            let last = method == Method::GET;
            let request = Request::without_body(method, url.clone(), self.form.as_deref());
            let answer = match request.with_secrets().await {
                Ok((outgoing, _)) => self.web.send(outgoing).await,
                Err(failure) => Err(failure),
            };
            return match answer {
                Ok(answer) => tag(&answer.headers),
                Err(Failure { refusal: Refusal::Status { status, .. }, .. }) => match status {
                    404 | 410 => Ok(ABSENT.to_owned()),
                    405 | 501 if !last => continue,
                    // What the server says to it is not for a decision to quote.
                    _ => Err(EtagError::Status(status)),
                },
                Err(failure) => Err(EtagError::Refused(failure.refusal)),
            };
        }
        Err(EtagError::Methods)
    }
}

/// The one entity tag among these headers, as it was written.
fn tag(headers: &HeaderMap) -> Result<String, EtagError> {
    let mut all = headers.get_all(ETAG).iter();
    let (Some(one), None) = (all.next(), all.next()) else {
        return Err(EtagError::Count);
    };
    let text = one.to_str().map_err(|_| EtagError::Bytes)?.trim();
    let inner = text.strip_prefix("W/").unwrap_or(text);
    let inner = inner.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
    let legal = inner.is_some_and(|inner| inner.bytes().all(|b| matches!(b, 0x21 | 0x23..=0x7e)));
    if legal && text.len() <= MAX_TAG { Ok(text.to_owned()) } else { Err(EtagError::Form) }
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
            tag(&headers)
        };
        assert_eq!(read(&["\"a1\""]), Ok("\"a1\"".to_owned()));
        assert_eq!(read(&["W/\"a1\""]), Ok("W/\"a1\"".to_owned()));
        let long = format!("\"{}\"", "x".repeat(400));
        for bad in [&[][..], &["a1"], &["\"a\"", "\"b\""], &["\"a\"b\""], &["\"a b\""], &[&long]] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
