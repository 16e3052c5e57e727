//! Sends spans in batches as they come, and metrics at intervals.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use weaver_drivers::{HttpPoster, PostBody, PostError};
use weaver_types::{Clock as _, SystemClock};

use super::metrics::{self, Interval};
use super::resource::ExportedResource;
use super::spans::{self, SpanRecord};
use crate::config::OtlpSettings;
use crate::telemetry::Telemetry;
use crate::telemetry::family::MetricFamily;

/// The most calls whose spans wait to be sent.
const MAX_QUEUED_CALLS: usize = 1024;
/// The most calls whose spans are sent in one request.
const MAX_BATCH_CALLS: usize = 128;
/// How long a batch waits for more spans.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// How long one attempt to send may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// How many attempts are made when the collector fails temporarily, and the pause before the
/// second.
const MAX_ATTEMPTS: u32 = 3;
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// The longest response that is read, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;
/// The time allowed for sending the rest at shutdown. Clients commonly kill a server process that
/// has not ended after two seconds.
const FINAL_SEND_TIMEOUT: Duration = Duration::from_secs(1);
const MEDIA_TYPE: &str = "application/x-protobuf";

/// The queue of spans that wait to be sent.
#[derive(Debug, Clone)]
pub(crate) struct SpanQueue(mpsc::Sender<Vec<SpanRecord>>);

impl SpanQueue {
    /// Queues the spans of a call. Returns false if the queue is full.
    pub(crate) fn offer(&self, spans: Vec<SpanRecord>) -> bool {
        self.0.try_send(spans).is_ok()
    }
}

/// Exports to one collector.
pub(crate) struct Exporter {
    traces: HttpPoster,
    metrics: HttpPoster,
    resource: Resource,
    interval: Duration,
    queue: mpsc::Receiver<Vec<SpanRecord>>,
}

/// Takes a snapshot of all metrics.
type MetricsSource = Box<dyn Fn() -> Vec<MetricFamily> + Send + Sync>;

/// A running exporter.
pub(crate) struct ExporterTask {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Exporter {
    /// Prepares the exporter without sending anything.
    ///
    /// # Errors
    /// [`PostError::Address`].
    pub(crate) fn new(
        collector: &OtlpSettings,
        resource: ExportedResource<'_>,
    ) -> Result<(Self, SpanQueue), PostError> {
        let post = |path: &str| {
            let url = format!("{}{path}", collector.endpoint);
            HttpPoster::new(&url, SEND_TIMEOUT, MAX_RESPONSE_BYTES)?
                .with_headers(&collector.headers)
        };
        let (sender, queue) = mpsc::channel(MAX_QUEUED_CALLS);
        let (traces, metrics) = (post("/v1/traces")?, post("/v1/metrics")?);
        let resource = resource.to_otlp();
        let exporter = Self { traces, metrics, resource, interval: collector.interval, queue };
        Ok((exporter, SpanQueue(sender)))
    }

    /// Starts sending.
    pub(crate) fn start(self, telemetry: Arc<Telemetry>, gather: MetricsSource) -> ExporterTask {
        let stop = CancellationToken::new();
        let task = tokio::spawn(self.run(telemetry, gather, stop.clone()));
        ExporterTask { stop, task }
    }

    async fn run(
        mut self,
        telemetry: Arc<Telemetry>,
        gather: MetricsSource,
        stop: CancellationToken,
    ) {
        let mut batch = Vec::new();
        let first = Instant::now() + self.interval;
        let mut due = tokio::time::interval_at(first, self.interval);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                count = self.queue.recv_many(&mut batch, MAX_BATCH_CALLS) => {
                    if count == 0 {
                        break;
                    }
                    self.fill_batch(&mut batch, &stop).await;
                    self.send_spans(&mut batch, &telemetry).await;
                }
                _ = due.tick() => self.send_metrics(&telemetry, &gather).await,
            }
        }
        self.queue.close();
        while self.queue.recv_many(&mut batch, MAX_BATCH_CALLS).await > 0 {
            self.send_spans(&mut batch, &telemetry).await;
        }
        self.send_metrics(&telemetry, &gather).await;
    }

    /// Waits for more calls, so that fewer requests are sent.
    async fn fill_batch(&mut self, batch: &mut Vec<Vec<SpanRecord>>, stop: &CancellationToken) {
        let until = Instant::now() + BATCH_DELAY;
        while batch.len() < MAX_BATCH_CALLS {
            let room = MAX_BATCH_CALLS - batch.len();
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep_until(until) => return,
                count = self.queue.recv_many(batch, room) => {
                    if count == 0 {
                        return;
                    }
                }
            }
        }
    }

    async fn send_spans(&self, batch: &mut Vec<Vec<SpanRecord>>, telemetry: &Telemetry) {
        let spans: Vec<SpanRecord> = std::mem::take(batch).into_iter().flatten().collect();
        if spans.is_empty() {
            return;
        }
        let count = spans.len();
        if let Err(error) = send(&self.traces, spans::encode(spans, &self.resource)).await {
            telemetry.export.spans_dropped.add(count);
            telemetry.export.failures.add(1);
            tracing::warn!(%error, spans = count, "the collector did not take spans");
        }
    }

    async fn send_metrics(&self, telemetry: &Telemetry, gather: &MetricsSource) {
        let interval = Interval { from: telemetry.started_at, to: SystemClock::default().now() };
        let body = metrics::encode(&gather(), interval, &self.resource);
        if let Err(error) = send(&self.metrics, body).await {
            telemetry.export.failures.add(1);
            tracing::warn!(%error, "the collector did not take metrics");
        }
    }
}

/// Sends a body. Retries after the failures that OTLP calls retryable.
async fn send(post: &HttpPoster, bytes: Vec<u8>) -> Result<(), PostError> {
    let mut pause = RETRY_PAUSE;
    for _ in 1..MAX_ATTEMPTS {
        let body = PostBody { media_type: MEDIA_TYPE, bytes: bytes.clone() };
        match post.send_body(body).await {
            Ok(_) => return Ok(()),
            Err(PostError::Status(429 | 502..=504) | PostError::Connection) => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    post.send_body(PostBody { media_type: MEDIA_TYPE, bytes }).await.map(drop)
}

impl ExporterTask {
    /// Sends what is left and stops, in bounded time even if the collector does not answer.
    pub(crate) async fn end(mut self) {
        self.stop.cancel();
        if tokio::time::timeout(FINAL_SEND_TIMEOUT, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}
