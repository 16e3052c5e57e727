//! Signs the log when a checkpoint is due, and publishes the newest checkpoint to every target.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use weaver_trace_store::SqliteLedger;
use weaver_trace_store::checkpoint::{Checkpoint, SignedNote, TrustPolicy};
use weaver_types::ledger::{Batch, Durability, Ledger as _, LedgerError};
use weaver_types::signature::SigningKey;
use weaver_types::{Clock, Random};

use super::PublishFailures;
use super::backoff::pause;
use super::deliveries::{CompletedDeliveries, Deliveries, TargetSelection, TargetState};
use super::receipts::{MAX_PENDING_RECEIPTS, ReceiptClient, ReceiptRequest, receipt_of};
use super::signing::{CheckpointSigner, SigningError};
use super::status::{self, PublishFailure, PublishStatus, SignedCheckpoint, TargetStatus};
use super::target::{PublishError, Target};
use crate::config;

/// How often the publisher checks whether a checkpoint is due.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// How long the deliveries at shutdown may take in total.
const FINAL_DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The signing settings, and the folder that their relative paths start from.
pub(crate) struct PublisherSettings {
    pub(crate) signing: config::CheckpointSigning,
    pub(crate) folder: PathBuf,
}

/// Signs the log and publishes its checkpoints. Only the newest checkpoint is kept.
pub(crate) struct CheckpointPublisher {
    ledger: Arc<SqliteLedger>,
    signer: Arc<CheckpointSigner>,
    settings: config::CheckpointSigning,
    trust: TrustPolicy,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    targets: Vec<TargetState>,
    status: PublishStatus,
    latest: Option<(Checkpoint, SignedNote)>,
    /// The last checkpoint that was signed, by this or an earlier process.
    last_signed: Option<Checkpoint>,
    signed_at: Instant,
    /// Signing failures in a row. The next attempt is due at `next_attempt`.
    failures: u32,
    next_attempt: Instant,
    /// A fork was found: this process never signs again.
    forked: bool,
    /// Requests for receipts.
    receipts: mpsc::Receiver<ReceiptRequest>,
    receipt_client: ReceiptClient,
    failure_counts: Arc<PublishFailures>,
}

/// A running publisher; [`PublisherTask::end`] stops it.
pub(crate) struct PublisherTask {
    stop_sender: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl PublisherTask {
    /// Stops the publisher after it has signed and published a last checkpoint, in bounded time.
    pub(crate) async fn end(self) {
        let _ = self.stop_sender.send(true);
        let _ = self.task.await;
    }
}

impl CheckpointPublisher {
    /// Reads the publishing status of the earlier process from the ledger.
    ///
    /// # Errors
    /// [`LedgerError`], when that record cannot be read; `Malformed` for any other failure.
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
            Some(record) => PublishStatus::parse(&record)?,
            None => PublishStatus::default(),
        };
        let now = Instant::now();
        let mut targets = Vec::new();
        let mut reached = BTreeMap::new();
        for target in &settings.targets {
            let name = target.location.name();
            reached.insert(name.clone(), status.targets.remove(&name).unwrap_or_default());
            let target =
                Target::from_config(target, folder.clone()).map_err(|error| other(&error))?;
            targets.push(TargetState {
                name,
                target: Arc::new(target),
                accepted: None,
                failures: 0,
                next_attempt: now,
            });
        }
        status.targets = reached;
        let signer = CheckpointSigner::new(Arc::clone(&ledger), signer, &settings.key);
        let signer = signer.map_err(|error| other(&error))?;
        let trust = TrustPolicy {
            witnesses: settings.witnesses.clone(),
            ..TrustPolicy::new(signer.key.clone())
        };
        let (request_sender, receipts) = mpsc::channel(MAX_PENDING_RECEIPTS);
        let receipt_client = ReceiptClient::new(&ledger, request_sender);
        Ok(Self {
            ledger,
            signer: Arc::new(signer),
            settings,
            trust,
            clock,
            random,
            targets,
            status,
            latest: None,
            last_signed: None,
            signed_at: now,
            failures: 0,
            next_attempt: now,
            forked: false,
            receipts,
            receipt_client,
            failure_counts: Arc::default(),
        })
    }

    /// A client through which receipts are requested.
    pub(crate) fn receipt_client(&self) -> ReceiptClient {
        self.receipt_client.clone()
    }

    /// The counters of failures, which the publisher goes on to increase.
    pub(crate) fn failure_counts(&self) -> Arc<PublishFailures> {
        Arc::clone(&self.failure_counts)
    }

    /// Starts the publisher on the current runtime.
    pub(crate) fn start(self) -> PublisherTask {
        let (stop_sender, stop_receiver) = watch::channel(false);
        PublisherTask { stop_sender, task: tokio::spawn(self.run(stop_receiver)) }
    }

    async fn run(mut self, mut stop_receiver: watch::Receiver<bool>) {
        let signed = self.sign_first().await;
        self.record_signing(signed).await;
        let mut deliveries: Option<Deliveries> = None;
        while !*stop_receiver.borrow() {
            if self.is_due() {
                self.sign().await;
            }
            if deliveries.is_none() {
                deliveries = self.start_deliveries(TargetSelection::Due);
            }
            tokio::select! {
                _ = stop_receiver.changed() => break,
                // A receipt needs only this log's signature, so it does not wait for slow targets.
                Some(request) = self.receipts.recv() => self.issue_receipt(request).await,
                delivered = Deliveries::finish(&mut deliveries) => self.record_outcomes(delivered).await,
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
        }
        drop(deliveries);
        self.sign().await;
        let last = async {
            // Cosigning targets first, so that the other targets receive the note with the
            // cosignatures.
            for cosigns in [true, false] {
                let mut deliveries = self.deliveries_to(cosigns, TargetSelection::All);
                if deliveries.is_some() {
                    let delivered = Deliveries::finish(&mut deliveries).await;
                    self.record_outcomes(delivered).await;
                }
            }
        };
        if tokio::time::timeout(FINAL_DELIVERY_TIMEOUT, last).await.is_err() {
            tracing::warn!("the last checkpoint did not arrive everywhere in time");
        }
    }

    /// Checks the log against earlier checkpoints, then signs it.
    async fn sign_first(&mut self) -> Result<(Checkpoint, SignedNote), SigningError> {
        let signer = Arc::clone(&self.signer);
        let record = self.status.signed.as_ref().and_then(|signed| {
            let origin = weaver_types::LogId::parse(signer.key.name()).ok()?;
            Some(signed.checkpoint(&origin))
        });
        let files = self.settings.targets.iter().filter_map(|target| match &target.location {
            config::CheckpointTarget::File(path) => Some(path.clone()),
            _ => None,
        });
        let files: Vec<PathBuf> = files.collect();
        run_blocking(move || {
            let before = signer.last_checkpoint(record, &files)?;
            signer.sign(before.as_ref())
        })
        .await
    }

    /// Signs the log after a call and issues the receipt of that call. On failure the request is
    /// dropped, which the caller sees as no receipt.
    async fn issue_receipt(&mut self, request: ReceiptRequest) {
        self.sign().await;
        let Some((checkpoint, note)) = self.latest.clone().filter(|_| self.failures == 0) else {
            return;
        };
        let ledger = Arc::clone(&self.ledger);
        let made = run_blocking(move || {
            let receipt = receipt_of(&ledger, &note, checkpoint.size, &request)?;
            let _ = request.reply_sender.send(receipt);
            Ok(())
        });
        if let Err(error) = made.await {
            tracing::warn!(%error, "a receipt could not be made");
        }
    }

    fn is_due(&self) -> bool {
        if self.forked || Instant::now() < self.next_attempt {
            return false;
        }
        let Some(before) = &self.last_signed else { return true };
        let is_overdue = self.signed_at.elapsed() >= self.settings.every;
        let grown =
            if is_overdue { self.signer.committed_size() } else { self.signer.synced_size() };
        let grown = grown.unwrap_or(before.size).saturating_sub(before.size);
        grown >= self.settings.every_events || is_overdue && grown > 0
    }

    async fn sign(&mut self) {
        if self.forked {
            return;
        }
        // Until the first success, every attempt checks again what earlier processes signed.
        let signed = if let Some(before) = self.last_signed.clone() {
            let signer = Arc::clone(&self.signer);
            run_blocking(move || signer.sign(Some(&before))).await
        } else {
            self.sign_first().await
        };
        self.record_signing(signed).await;
    }

    async fn record_signing(&mut self, signed: Result<(Checkpoint, SignedNote), SigningError>) {
        let now = self.clock.now();
        match signed {
            Ok((checkpoint, note)) => {
                (self.failures, self.signed_at) = (0, Instant::now());
                self.next_attempt = self.signed_at;
                self.status.refused = None;
                // The same checkpoint signed anew would lose its cosignatures.
                if self.latest.as_ref().is_none_or(|(latest, _)| *latest != checkpoint) {
                    self.status.signed = Some(SignedCheckpoint::new(&checkpoint, now));
                    self.last_signed = Some(checkpoint.clone());
                    self.latest = Some((checkpoint, note));
                }
            }
            Err(error) => {
                self.forked = matches!(error, SigningError::Fork(_));
                tracing::error!(%error, "no checkpoint was signed");
                self.failure_counts.signing.add(1);
                self.failures = self.failures.saturating_add(1);
                self.next_attempt = Instant::now() + pause(self.failures, self.random.as_ref());
                self.status.refused = Some(PublishFailure { at: now, problem: error.to_string() });
            }
        }
        self.write_status().await;
    }

    /// Starts delivering the newest checkpoint to targets that lack it: first to those that may
    /// cosign it.
    fn start_deliveries(&self, selection: TargetSelection) -> Option<Deliveries> {
        self.deliveries_to(true, selection).or_else(|| self.deliveries_to(false, selection))
    }

    fn deliveries_to(&self, cosigns: bool, selection: TargetSelection) -> Option<Deliveries> {
        let (checkpoint, note) = self.latest.clone()?;
        let mark = (checkpoint.size, note.signatures().len());
        let now = Instant::now();
        let due = self.targets.iter().enumerate().filter(|(_, slot)| {
            let has = slot.accepted.is_some_and(|sent| sent == mark || cosigns && sent.0 == mark.0);
            slot.target.cosigns() == cosigns
                && !has
                && (selection == TargetSelection::All || now >= slot.next_attempt)
        });
        let note = Arc::new(note);
        let sending: Vec<_> = due
            .map(|(slot, state)| {
                let (target, note) = (Arc::clone(&state.target), Arc::clone(&note));
                async move { (slot, target.publish(&note).await) }
            })
            .collect();
        if sending.is_empty() {
            return None;
        }
        Some(Deliveries { checkpoint, mark, outcomes: Box::pin(join_all(sending)) })
    }

    /// Records the outcomes and merges the cosignatures that targets returned.
    async fn record_outcomes(&mut self, delivered: CompletedDeliveries) {
        let CompletedDeliveries { checkpoint, mark, outcomes } = delivered;
        let mut answers = Vec::new();
        for (slot, outcome) in outcomes {
            let outcome = outcome.and_then(|answer| match answer {
                Some(answer) => self
                    .trust
                    .open(&answer)
                    .map(|_| answers.push(answer))
                    .map_err(PublishError::from),
                None => Ok(()),
            });
            let Some(slot) = self.targets.get_mut(slot) else { continue };
            slot.update_attempts(&outcome, mark, self.random.as_ref());
            let name = slot.name.clone();
            self.record_delivery(&name, outcome, checkpoint.size);
        }
        // Meanwhile a receipt may have signed a newer checkpoint, which these cosignatures do not
        // cover.
        if self.latest.as_ref().is_some_and(|(latest, _)| *latest == checkpoint) {
            self.merge_cosignatures(&answers);
        }
        self.write_status().await;
    }

    /// Records the outcome of one delivery in the status and logs a failure.
    fn record_delivery(&mut self, name: &str, outcome: Result<(), PublishError>, size: u64) {
        let at = self.clock.now();
        let target = self.status.targets.entry(name.to_owned()).or_default();
        match outcome {
            Ok(()) => *target = TargetStatus { size: Some(size), at: Some(at), failed: None },
            Err(error) => {
                tracing::warn!(target = name, %error, "a checkpoint did not arrive; it is tried again");
                self.failure_counts.publishing.add(1);
                target.failed = Some(PublishFailure { at, problem: error.to_string() });
            }
        }
    }

    /// Adds the cosignatures of trusted witnesses to the newest note.
    fn merge_cosignatures(&mut self, answers: &[SignedNote]) {
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

    async fn write_status(&mut self) {
        let mut batch = Batch::new(Durability::Os);
        let written = match self.status.to_put() {
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

/// Runs blocking work on another thread.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SigningError> + Send + 'static,
) -> Result<T, SigningError> {
    spawn_blocking(work).await?
}
