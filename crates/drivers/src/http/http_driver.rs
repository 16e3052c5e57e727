//! A driver for one operation of an HTTP API.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::time::timeout;
use weaver_agent_kernel::{
    AuthorizedCall, ChunkSource, Driver, DriverError, PartialResultReporter, StreamSummary,
};
use weaver_types::{BoxFuture, CapabilityId, Millicents, RawResult};

use super::error::RequestFailure;
use super::request::{ParsedOperation, PendingRequest};
use super::restricted_client::{RestrictedClient, WholeResponse};
use super::streamed_response;
use super::{Access, Operation, OperationError, Refusal, media};
use crate::chunk_task::{ChunkTask, Chunks};
use crate::escape::escape;
use crate::runtime_task;

/// How much of a server's error text an error quotes, in characters. Callers shorten it further
/// after redaction.
const MAX_QUOTED_CHARS: usize = 4_096;

/// A driver that makes one request for each attempt of a call.
///
/// Method, host and placeholders are fixed here; a call fills the placeholders and selects nothing
/// else. Redirects are checked like the first URL, and connections go only to addresses that were
/// resolved and checked. Dropping the future of a call closes its connection.
pub struct HttpDriver {
    tool: Arc<PreparedOperation>,
    name: String,
    runtime: Handle,
}

weaver_types::opaque_debug!(HttpDriver);

struct PreparedOperation {
    form: ParsedOperation,
    client: RestrictedClient,
    /// Whether partial results of a response are meaningful.
    may_stream: bool,
    price: Millicents,
}

impl HttpDriver {
    /// A driver for this operation. `runtime` needs IO and time.
    ///
    /// # Errors
    /// [`OperationError`], if the operation is invalid or can reach no host.
    pub fn new(
        operation: &Operation,
        access: Access,
        runtime: Handle,
    ) -> Result<Self, OperationError> {
        let form = ParsedOperation::parse(operation)?;
        form.check_access(&access)?;
        let host = form.host();
        let name = host.as_ref().map_or_else(|| "http".to_owned(), |host| format!("http:{host}"));
        let client = RestrictedClient::new(access, host);
        client.prepare(&form.origin()?)?;
        let may_stream = media::StreamFormat::may_stream(&form.content);
        let tool = PreparedOperation { form, client, may_stream, price: operation.price };
        Ok(Self { tool: Arc::new(tool), name, runtime })
    }
}

impl Driver for HttpDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        let tool = Arc::clone(&self.tool);
        let limit = call.timeout();
        Box::pin(async move {
            let request = tool.form.fill(call.arguments(), call.call_id().as_str());
            let request = request.map_err(RequestFailure::into_driver_error)?;
            let partial = PartialResultReporter::new(&call).filter(|_| tool.may_stream);
            let work = async move {
                let done = timeout(limit, tool.run(request, partial)).await;
                done.unwrap_or(Err(DriverError::Timeout(limit)))
            };
            runtime_task::run_on(&self.runtime, Box::pin(work)).await
        })
    }

    /// The events, rows or lines of the response as they arrive; `None` for an operation that
    /// answers with one value.
    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        if !self.tool.may_stream {
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
        self.tool.may_stream
    }

    fn max_cost(&self, _call: &CapabilityId) -> Millicents {
        self.tool.price
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl PreparedOperation {
    async fn run(
        &self,
        request: PendingRequest,
        mut partial: Option<PartialResultReporter>,
    ) -> Result<RawResult, DriverError> {
        let (outgoing, secrets) =
            request.with_secrets().await.map_err(RequestFailure::into_driver_error)?;
        let changes = !outgoing.method.is_safe();
        let secrets: Vec<&str> = secrets.iter().map(super::Secret::expose).collect();
        let answer = match &mut partial {
            None => self.client.send(outgoing).await,
            Some(partial) => self.send_reporting_progress(outgoing, partial, &secrets).await,
        };
        let read = answer.and_then(|answer| {
            let failed = |refusal| RequestFailure { refusal, acted_before: false, changes };
            media::to_raw_result(answer, &self.form.content).map_err(failed)
        });
        match read {
            Ok(mut raw) => {
                if media::mask_content(&mut raw.content, &secrets) {
                    raw.findings.push(media::SECRET_MASKED);
                }
                Ok(if self.price.0 > 0 { raw.with_cost(self.price) } else { raw })
            }
            Err(failure) => Err(with_quoted_message(failure, &secrets).into_driver_error()),
        }
    }

    /// An answer, whole, of which the pieces are reported as they come.
    async fn send_reporting_progress(
        &self,
        outgoing: super::restricted_client::HttpRequest,
        partial: &mut PartialResultReporter,
        secrets: &[&str],
    ) -> Result<WholeResponse, RequestFailure> {
        let mut response = self.client.send_streaming(outgoing).await?;
        let mut body = Vec::new();
        let mut reader = streamed_response::ResponseReader::new(&response.headers, secrets);
        let is_declared = media::is_declared(&response.headers, &self.form.content);
        while let Some(chunk) = response.chunk().await? {
            body.extend_from_slice(&chunk);
            if is_declared {
                reader.push(&chunk).iter().for_each(|piece| partial.push(piece));
            }
        }
        Ok(WholeResponse { status: response.status, headers: response.headers, body })
    }

    async fn stream(
        &self,
        request: PendingRequest,
        chunks: Chunks,
    ) -> Result<StreamSummary, DriverError> {
        let (outgoing, secrets) =
            request.with_secrets().await.map_err(RequestFailure::into_driver_error)?;
        let secrets: Vec<&str> = secrets.iter().map(super::Secret::expose).collect();
        let sent = streamed_response::send_and_stream(
            &self.client, outgoing, &self.form.content, &secrets, &chunks,
        )
        .await;
        let mut summary = match sent {
            Ok(summary) => summary,
            Err(streamed_response::ReadFailure::Failed(failure)) => {
                return Err(with_quoted_message(failure, &secrets).into_driver_error());
            }
            Err(streamed_response::ReadFailure::ConsumerGone(error)) => return Err(error),
        };
        summary.cost = Some(self.price).filter(|price| price.0 > 0);
        Ok(summary)
    }
}

/// Makes the failure quote a little of the server's text, with secrets masked and escaped.
fn with_quoted_message(mut failure: RequestFailure, secrets: &[&str]) -> RequestFailure {
    if let Refusal::Status { said, .. } = &mut failure.refusal {
        media::mask_text(said, secrets);
        let short: String = escape(said.trim()).chars().take(MAX_QUOTED_CHARS).collect();
        *said = if short.is_empty() { short } else { format!(": {short}") };
    }
    failure
}
