//! Sends spans as they come, and metrics from time to time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use weaver_drivers::{Post, PostBody, PostError};
use weaver_types::{Clock as _, SystemClock};

use super::metrics::{self, Interval};
use super::spans::{self, SpanRecord};
use crate::config::Otlp;
use crate::telemetry::Telemetry;
use crate::telemetry::family::MetricFamily;

/// The most calls whose spans wait to be sent.
const MAX_QUEUED: usize = 1024;
/// The most calls whose spans are sent at once.
const MAX_BATCH: usize = 128;
/// How long spans wait for others.
const BATCH_TIME: Duration = Duration::from_secs(1);
/// How long one attempt to send may take.
const SEND_TIME: Duration = Duration::from_secs(10);
/// How often something is sent that the collector did not take for the moment, and the first pause.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
/// The longest answer that is read, in bytes.
const MAX_ANSWER: usize = 64 * 1024;
/// How long what is left may take at the end. Clients commonly kill a server that is still there
/// after two seconds.
const LAST_SENDS: Duration = Duration::from_secs(1);
const MEDIA_TYPE: &str = "application/x-protobuf";

/// Where the spans of calls wait to be sent.
#[derive(Debug, Clone)]
pub(crate) struct SpanQueue(mpsc::Sender<Vec<SpanRecord>>);

impl SpanQueue {
    /// False when there is no room.
    pub(crate) fn offer(&self, spans: Vec<SpanRecord>) -> bool {
        self.0.try_send(spans).is_ok()
    }
}

/// Sends to one collector.
pub(crate) struct Exporter {
    traces: Post,
    metrics: Post,
    interval: Duration,
    queue: mpsc::Receiver<Vec<SpanRecord>>,
}

/// Gives the metrics as they are now.
type Gather = Box<dyn Fn() -> Vec<MetricFamily> + Send + Sync>;

/// An exporter that runs.
pub(crate) struct ExporterTask {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Exporter {
    /// Prepares to send; nothing is.
    ///
    /// # Errors
    /// [`PostError::Address`].
    pub(crate) fn new(collector: &Otlp) -> Result<(Self, SpanQueue), PostError> {
        let post = |path: &str| {
            let url = format!("{}{path}", collector.endpoint);
            Post::new(&url, SEND_TIME, MAX_ANSWER)?.with_headers(&collector.headers)
        };
        let (sender, queue) = mpsc::channel(MAX_QUEUED);
        let (traces, metrics) = (post("/v1/traces")?, post("/v1/metrics")?);
        let exporter = Self { traces, metrics, interval: collector.interval, queue };
        Ok((exporter, SpanQueue(sender)))
    }

    /// Begins to send.
    pub(crate) fn start(self, telemetry: Arc<Telemetry>, gather: Gather) -> ExporterTask {
        let stop = CancellationToken::new();
        let task = tokio::spawn(self.run(telemetry, gather, stop.clone()));
        ExporterTask { stop, task }
    }

    async fn run(mut self, telemetry: Arc<Telemetry>, gather: Gather, stop: CancellationToken) {
        let mut batch = Vec::new();
        let first = Instant::now() + self.interval;
        let mut due = tokio::time::interval_at(first, self.interval);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                count = self.queue.recv_many(&mut batch, MAX_BATCH) => {
                    if count == 0 {
                        break;
                    }
                    self.fill(&mut batch, &stop).await;
                    self.send_spans(&mut batch, &telemetry).await;
                }
                _ = due.tick() => self.send_metrics(&telemetry, &gather).await,
            }
        }
        self.queue.close();
        while self.queue.recv_many(&mut batch, MAX_BATCH).await > 0 {
            self.send_spans(&mut batch, &telemetry).await;
        }
        self.send_metrics(&telemetry, &gather).await;
    }

    /// Waits for more calls, so that few requests are sent.
    async fn fill(&mut self, batch: &mut Vec<Vec<SpanRecord>>, stop: &CancellationToken) {
        let until = Instant::now() + BATCH_TIME;
        while batch.len() < MAX_BATCH {
            let room = MAX_BATCH - batch.len();
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
        if let Err(error) = send(&self.traces, spans::encode(spans)).await {
            telemetry.export.spans_dropped.add(count);
            telemetry.export.failures.add(1);
            tracing::warn!(%error, spans = count, "the collector did not take spans");
        }
    }

    async fn send_metrics(&self, telemetry: &Telemetry, gather: &Gather) {
        let interval = Interval { from: telemetry.started_at, to: SystemClock::default().now() };
        let body = metrics::encode(&gather(), interval);
        if let Err(error) = send(&self.metrics, body).await {
            telemetry.export.failures.add(1);
            tracing::warn!(%error, "the collector did not take metrics");
        }
    }
}

/// Sends a body, and again where the protocol says that another attempt may go better.
async fn send(post: &Post, bytes: Vec<u8>) -> Result<(), PostError> {
    let mut pause = PAUSE;
    for _ in 1..ATTEMPTS {
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
    /// Sends what is left, and ends. A collector that does not answer keeps nobody waiting.
    pub(crate) async fn end(mut self) {
        self.stop.cancel();
        if tokio::time::timeout(LAST_SENDS, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}
