//! Signs the log when a checkpoint is due, and publishes the newest checkpoint to every target.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use weaver_trace_store::SqliteLedger;
use weaver_trace_store::checkpoint::{Checkpoint, Note, Trust};
use weaver_types::ledger::{Batch, Durability, Ledger as _, LedgerError};
use weaver_types::signature::SigningKey;
use weaver_types::{Clock, Random};

use super::backoff::pause;
use super::receipts::{MAX_WAITING, ReceiptClient, ReceiptRequest, receipt_of};
use super::signing::{Signing, SigningError};
use super::status::{self, SignedCheckpoint, Status, TargetStatus, Trouble};
use super::target::{self, PublishError, Target};
use crate::config;

/// How often the keeper checks whether a checkpoint is due.
const TICK: Duration = Duration::from_millis(250);
/// How long the last attempts may take when the gateway ends.
const LAST: Duration = Duration::from_secs(10);

/// A publishing target and the state of its deliveries.
struct TargetState {
    name: String,
    target: Box<dyn Target>,
    /// The size and the number of signatures that arrived.
    sent: Option<(u64, usize)>,
    failures: u32,
    next: Instant,
}

/// Which targets are tried that lack the newest checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempts {
    /// Those whose pause after a failure is over.
    Due,
    All,
}

/// What the configuration says of signing, and the folder from which its paths start.
pub(crate) struct PublisherSettings {
    pub(crate) signing: config::Signing,
    pub(crate) folder: PathBuf,
}

/// Signs and publishes. Only the newest checkpoint is kept.
pub(crate) struct CheckpointPublisher {
    ledger: Arc<SqliteLedger>,
    signing: Arc<Signing>,
    settings: config::Signing,
    trust: Trust,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    slots: Vec<TargetState>,
    status: Status,
    latest: Option<(Checkpoint, Note)>,
    /// The last checkpoint that was signed, also by an earlier process.
    before: Option<Checkpoint>,
    signed_at: Instant,
    /// Failures to sign in a row, and when the next attempt is due.
    failures: u32,
    next: Instant,
    /// A fork was found: this process signs nothing any more.
    forked: bool,
    /// Receipts that are asked for.
    receipts: mpsc::Receiver<ReceiptRequest>,
    issuer: ReceiptClient,
}

/// A running keeper; [`PublisherTask::end`] ends it.
pub(crate) struct PublisherTask {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl PublisherTask {
    /// Signs and publishes a last checkpoint, within bounded time.
    pub(crate) async fn end(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

impl CheckpointPublisher {
    /// Reads what was published before.
    ///
    /// # Errors
    /// [`LedgerError`], when the record of it cannot be read; the text of anything else.
    pub(crate) fn new(
        ledger: Arc<SqliteLedger>,
        settings: PublisherSettings,
        signer: SigningKey,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<Self, LedgerError> {
        let PublisherSettings { signing: settings, folder } = settings;
        let other = |error: &dyn std::fmt::Display| LedgerError::Malformed(error.to_string());
        let mut status = match ledger.read(&status::key())? {
            Some(record) => Status::read(&record)?,
            None => Status::default(),
        };
        let now = Instant::now();
        let mut slots = Vec::new();
        let mut reached = BTreeMap::new();
        for target in &settings.targets {
            let name = target.place.name();
            reached.insert(name.clone(), status.targets.remove(&name).unwrap_or_default());
            let target = target::of(target, folder.clone()).map_err(|error| other(&error))?;
            slots.push(TargetState { name, target, sent: None, failures: 0, next: now });
        }
        status.targets = reached;
        let signing = Signing::new(Arc::clone(&ledger), signer, &settings.key);
        let signing = signing.map_err(|error| other(&error))?;
        let trust =
            Trust { witnesses: settings.witnesses.clone(), ..Trust::of(signing.key.clone()) };
        let (ask, receipts) = mpsc::channel(MAX_WAITING);
        let issuer = ReceiptClient::new(&ledger, ask);
        Ok(Self {
            ledger,
            signing: Arc::new(signing),
            settings,
            trust,
            clock,
            random,
            slots,
            status,
            latest: None,
            before: None,
            signed_at: now,
            failures: 0,
            next: now,
            forked: false,
            receipts,
            issuer,
        })
    }

    /// Who has it make receipts.
    pub(crate) fn issuer(&self) -> ReceiptClient {
        self.issuer.clone()
    }

    /// Starts on the current runtime.
    pub(crate) fn start(self) -> PublisherTask {
        let (stop, stopped) = watch::channel(false);
        PublisherTask { stop, task: tokio::spawn(self.run(stopped)) }
    }

    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let begun = self.begin().await;
        self.take(begun).await;
        while !*stop.borrow() {
            if self.is_due() {
                self.sign().await;
            }
            tokio::select! {
                _ = stop.changed() => break,
                () = self.publish(Attempts::Due) => {}
            }
            tokio::select! {
                _ = stop.changed() => break,
                Some(request) = self.receipts.recv() => self.receipt(request).await,
                () = tokio::time::sleep(TICK) => {}
            }
        }
        self.sign().await;
        if tokio::time::timeout(LAST, self.publish(Attempts::All)).await.is_err() {
            tracing::warn!("the last checkpoint did not arrive everywhere in time");
        }
    }

    /// Checks the log against earlier checkpoints, then signs.
    async fn begin(&mut self) -> Result<(Checkpoint, Note), SigningError> {
        let signing = Arc::clone(&self.signing);
        let record = self.status.signed.as_ref().and_then(|signed| {
            let origin = weaver_types::LogId::parse(signing.key.name()).ok()?;
            Some(signed.checkpoint(&origin))
        });
        let files = self.settings.targets.iter().filter_map(|target| match &target.place {
            config::CheckpointTarget::File(path) => Some(path.clone()),
            _ => None,
        });
        let files: Vec<PathBuf> = files.collect();
        aside(move || {
            let before = signing.before(record, &files)?;
            signing.sign(before.as_ref())
        })
        .await
    }

    /// Signs for a call that has ended, and makes its receipt. One that cannot be made is not told.
    async fn receipt(&mut self, request: ReceiptRequest) {
        self.sign().await;
        let Some((checkpoint, note)) = self.latest.clone().filter(|_| self.failures == 0) else {
            return;
        };
        let ledger = Arc::clone(&self.ledger);
        let made = aside(move || {
            let receipt = receipt_of(&ledger, &note, checkpoint.size, &request)?;
            let _ = request.tell.send(receipt);
            Ok(())
        });
        if let Err(error) = made.await {
            tracing::warn!(%error, "a receipt could not be made");
        }
    }

    fn is_due(&self) -> bool {
        if self.forked || Instant::now() < self.next {
            return false;
        }
        let Some(before) = &self.before else { return true };
        let late = self.signed_at.elapsed() >= self.settings.every;
        let grown = if late { self.signing.committed() } else { self.signing.size() };
        let grown = grown.unwrap_or(before.size).saturating_sub(before.size);
        grown >= self.settings.every_events || late && grown > 0
    }

    async fn sign(&mut self) {
        if self.forked {
            return;
        }
        // What earlier processes signed is looked at until it could be.
        let signed = if let Some(before) = self.before.clone() {
            let signing = Arc::clone(&self.signing);
            aside(move || signing.sign(Some(&before))).await
        } else {
            self.begin().await
        };
        self.take(signed).await;
    }

    async fn take(&mut self, signed: Result<(Checkpoint, Note), SigningError>) {
        let now = self.clock.now();
        match signed {
            Ok((checkpoint, note)) => {
                (self.failures, self.signed_at) = (0, Instant::now());
                self.next = self.signed_at;
                self.status.refused = None;
                // The same again would lose its cosignatures.
                if self.latest.as_ref().is_none_or(|(latest, _)| *latest != checkpoint) {
                    self.status.signed = Some(SignedCheckpoint::of(&checkpoint, now));
                    self.before = Some(checkpoint.clone());
                    self.latest = Some((checkpoint, note));
                }
            }
            Err(error) => {
                self.forked = matches!(error, SigningError::Fork(_));
                tracing::error!(%error, "no checkpoint was signed");
                self.failures = self.failures.saturating_add(1);
                self.next = Instant::now() + pause(self.failures, self.random.as_ref());
                self.status.refused = Some(Trouble { at: now, problem: error.to_string() });
            }
        }
        self.write().await;
    }

    /// Brings the newest checkpoint where it is not: first where it may be cosigned.
    async fn publish(&mut self, attempts: Attempts) {
        for cosigns in [true, false] {
            let Some((checkpoint, note)) = self.latest.clone() else { return };
            let mark = (checkpoint.size, note.signatures().len());
            let now = Instant::now();
            let due = self.slots.iter_mut().filter(|slot| {
                let has = slot.sent.is_some_and(|sent| sent == mark || cosigns && sent.0 == mark.0);
                slot.target.cosigns() == cosigns
                    && !has
                    && (attempts == Attempts::All || now >= slot.next)
            });
            let sending = due.map(|slot| async {
                let came = slot.target.publish(&note).await;
                (slot, came)
            });
            let done: Vec<_> = join_all(sending).await;
            if done.is_empty() {
                continue;
            }
            let mut answers = Vec::new();
            let mut reached = Vec::new();
            for (slot, came) in done {
                let came = came.and_then(|answer| match answer {
                    Some(answer) => self
                        .trust
                        .open(&answer)
                        .map(|_| answers.push(answer))
                        .map_err(PublishError::from),
                    None => Ok(()),
                });
                slot.note(&came, mark, self.random.as_ref());
                reached.push((slot.name.clone(), came));
            }
            for (name, came) in reached {
                self.reached(&name, came, checkpoint.size);
            }
            self.merge(&answers);
            self.write().await;
        }
    }

    /// Records the outcome of a delivery, and logs failures.
    fn reached(&mut self, name: &str, came: Result<(), PublishError>, size: u64) {
        let at = self.clock.now();
        let target = self.status.targets.entry(name.to_owned()).or_default();
        match came {
            Ok(()) => *target = TargetStatus { size: Some(size), at: Some(at), failed: None },
            Err(error) => {
                tracing::warn!(target = name, %error, "a checkpoint did not arrive; it is tried again");
                target.failed = Some(Trouble { at, problem: error.to_string() });
            }
        }
    }

    /// Takes the cosignatures of trusted witnesses into the newest note.
    fn merge(&mut self, answers: &[Note]) {
        let Some((_, note)) = &mut self.latest else { return };
        for answer in answers {
            for signature in answer.signatures() {
                let trusted = self.settings.witnesses.iter().any(|key| key.made(signature));
                let known = note.signatures().iter().any(|known| known.key == signature.key);
                if trusted && !known {
                    *note = note.clone().with(signature.clone());
                }
            }
        }
        let found = self.trust.open(note).map_or(0, |verified| verified.witnesses.len());
        if found < self.settings.quorum {
            let wanted = self.settings.quorum;
            tracing::warn!("{found} of the {wanted} witnesses wanted have signed the checkpoint");
        }
        if let Some(signed) = &mut self.status.signed {
            signed.witnesses = found;
        }
    }

    async fn write(&mut self) {
        let mut batch = Batch::new(Durability::Os);
        let written = match self.status.put() {
            Ok(put) => {
                batch.put.push(put);
                self.ledger.commit(batch).await.map(|_| ())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::error!(%error, "what was published could not be recorded");
        }
    }
}

impl TargetState {
    fn note(&mut self, came: &Result<(), PublishError>, mark: (u64, usize), random: &dyn Random) {
        if came.is_ok() {
            (self.sent, self.failures) = (Some(mark), 0);
        } else {
            self.failures = self.failures.saturating_add(1);
            self.next = Instant::now() + pause(self.failures, random);
        }
    }
}

/// Reads, waits and signs on another thread.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SigningError> + Send + 'static,
) -> Result<T, SigningError> {
    spawn_blocking(work).await?
}
