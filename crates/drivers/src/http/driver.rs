//! One operation of an HTTP API as a driver.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::time::timeout;
use weaver_agent_kernel::{
    AuthorizedCall, ChunkSource, Driver, DriverError, PartialResults, StreamSummary,
};
use weaver_types::{BoxFuture, CapabilityId, Millicents, RawResult};

use super::error::Failure;
use super::pieces;
use super::request::{Form, Request};
use super::web::{RestrictedClient, WholeResponse};
use super::{Access, Operation, OperationError, Refusal, media};
use crate::chunk_task::{ChunkTask, Chunks};
use crate::escape::escape;
use crate::task;

/// Most of what a server says to an error that the error repeats, in characters. Whoever shows it cuts
/// it further, after it is redacted.
const MAX_SAID: usize = 4_096;
/// The word that says that a secret came back and was taken out.
pub(super) const MASKED: &str = "secret_masked";

/// An operation that is requested once for each attempt of a call.
///
/// Method, host and places are fixed here; a call fills the places and selects nothing else. A
/// redirect is judged as the first address was, and only what is connected to was looked up and
/// judged before. When the future of a call is dropped, its connection is closed.
pub struct HttpDriver {
    tool: Arc<Tool>,
    name: String,
    runtime: Handle,
}

struct Tool {
    form: Form,
    web: RestrictedClient,
    /// Whether an answer may mean something bit by bit.
    streams: bool,
    price: Millicents,
}

impl HttpDriver {
    /// A driver for this operation. `runtime` needs IO and time.
    ///
    /// # Errors
    /// [`OperationError`], when the operation means nothing, or could reach no host.
    pub fn new(
        operation: &Operation,
        access: Access,
        runtime: Handle,
    ) -> Result<Self, OperationError> {
        let form = Form::parse(operation)?;
        form.fits(&access)?;
        let host = form.host();
        let name = host.as_ref().map_or_else(|| "http".to_owned(), |host| format!("http:{host}"));
        let web = RestrictedClient::new(access, host);
        web.prepare(&form.origin()?)?;
        let streams = media::Pieces::may_come(&form.content);
        let tool = Tool { form, web, streams, price: operation.price };
        Ok(Self { tool: Arc::new(tool), name, runtime })
    }
}

impl Driver for HttpDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        let tool = Arc::clone(&self.tool);
        let limit = call.timeout();
        Box::pin(async move {
            let request = tool.form.fill(call.arguments(), call.call_id().as_str());
            let request = request.map_err(Failure::into_driver_error)?;
            let partial = PartialResults::of(&call).filter(|_| tool.streams);
            let work = async move {
                let done = timeout(limit, tool.run(request, partial)).await;
                done.unwrap_or(Err(DriverError::Timeout(limit)))
            };
            task::on(&self.runtime, work).await
        })
    }

    /// The events, rows or lines of the answer as they come; nothing for an operation that answers
    /// with one value.
    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        if !self.tool.streams {
            return None;
        }
        let (tool, limit) = (Arc::clone(&self.tool), call.timeout());
        let request = tool.form.fill(call.arguments(), call.call_id().as_str());
        Some(Box::new(match request {
            Ok(request) => ChunkTask::start(&self.runtime, |chunks| async move {
                let done = timeout(limit, tool.stream(request, chunks)).await;
                done.unwrap_or(Err(DriverError::Timeout(limit)))
            }),
            Err(failure) => ChunkTask::failed(&self.runtime, failure.into_driver_error()),
        }))
    }

    fn reports_progress(&self) -> bool {
        self.tool.streams
    }

    fn price(&self, _call: &CapabilityId) -> Millicents {
        self.tool.price
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Tool {
    async fn run(
        &self,
        request: Request,
        mut partial: Option<PartialResults>,
    ) -> Result<RawResult, DriverError> {
        let (outgoing, secrets) =
            request.with_secrets().await.map_err(Failure::into_driver_error)?;
        let changes = !outgoing.method.is_safe();
        let secrets: Vec<&str> = secrets.iter().map(super::Secret::expose).collect();
        let answer = match &mut partial {
            None => self.web.send(outgoing).await,
            Some(partial) => self.reported(outgoing, partial, &secrets).await,
        };
        let read = answer.and_then(|answer| {
            let failed = |refusal| Failure { refusal, acted: false, changes };
            media::result(answer, &self.form.content).map_err(failed)
        });
        match read {
            Ok(mut raw) => {
                if media::masked(&mut raw.content, &secrets) {
                    raw.findings.push(MASKED);
                }
                Ok(if self.price.0 > 0 { raw.costing(self.price) } else { raw })
            }
            Err(failure) => Err(quoted(failure, &secrets).into_driver_error()),
        }
    }

    /// An answer, whole, of which the pieces are reported as they come.
    async fn reported(
        &self,
        outgoing: super::web::OutgoingRequest,
        partial: &mut PartialResults,
        secrets: &[&str],
    ) -> Result<WholeResponse, Failure> {
        let mut begun = self.web.send_streaming(outgoing).await?;
        let mut body = Vec::new();
        let mut reader = pieces::Reader::of(&begun.headers, secrets);
        let is_declared = media::is_declared(&begun.headers, &self.form.content);
        while let Some(chunk) = begun.chunk().await? {
            body.extend_from_slice(&chunk);
            if is_declared {
                reader.push(&chunk).iter().for_each(|piece| partial.push(piece));
            }
        }
        Ok(WholeResponse { status: begun.status, headers: begun.headers, body })
    }

    async fn stream(&self, request: Request, chunks: Chunks) -> Result<StreamSummary, DriverError> {
        let (outgoing, secrets) =
            request.with_secrets().await.map_err(Failure::into_driver_error)?;
        let secrets: Vec<&str> = secrets.iter().map(super::Secret::expose).collect();
        let sent = pieces::send(&self.web, outgoing, &self.form.content, &secrets, &chunks).await;
        let mut summary = match sent {
            Ok(summary) => summary,
            Err(pieces::ReadFailure::Failed(failure)) => {
                return Err(quoted(failure, &secrets).into_driver_error());
            }
            Err(pieces::ReadFailure::Unread(error)) => return Err(error),
        };
        summary.cost = Some(self.price).filter(|price| price.0 > 0);
        Ok(summary)
    }
}

/// A failure that repeats a little of what the server said, without secrets and escaped.
fn quoted(mut failure: Failure, secrets: &[&str]) -> Failure {
    if let Refusal::Status { said, .. } = &mut failure.refusal {
        media::mask_text(said, secrets);
        let short: String = escape(said.trim()).chars().take(MAX_SAID).collect();
        *said = if short.is_empty() { short } else { format!(": {short}") };
    }
    failure
}
