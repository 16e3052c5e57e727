//! Calibration: counts in the ledger, by class of belief, how often beliefs turned out right.

use serde::{Deserialize, Serialize};
use weaver_policy::approval::BeliefOutcome;
use weaver_policy::signal::{BeliefClass, CalibrationSample, ClassOutcomes};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{
    Batch, Durability, GuardedWrite, Ledger, LedgerError, Namespace, Record, RecordKey, RecordWrite,
};
use weaver_types::{EventKind, PrincipalId, Tenant};

use super::RunRecorder;
use super::host_events::unrecordable_event;
use crate::error::KernelError;
use crate::event_payload::EventPayload;
use crate::versioned_record::parse_versioned;

/// How often a count is tried when others update the same class.
const MAX_TRIES: usize = 64;

/// The record of a class. Its id is the name of the class.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassRecord {
    outcomes: ClassOutcomes,
    v: u64,
}

impl RunRecorder {
    /// Records how a belief turned out: one event, and the sums of its class.
    pub(crate) async fn record_outcome(
        &self,
        by: &PrincipalId,
        outcome: &BeliefOutcome,
    ) -> Result<(), KernelError> {
        let sample = outcome.to_calibration_sample().ok_or_else(unrecordable_event)?;
        self.count_outcome(by.as_str(), outcome, &sample, &Batch::new(Durability::Os)).await?;
        Ok(())
    }

    /// The recorded outcomes of every class, in the order of the class names.
    pub(crate) fn outcomes(&self) -> Result<Vec<(BeliefClass, ClassOutcomes)>, KernelError> {
        stored_outcomes(&self.context.settings.tenant, self.context.ledger.as_ref())
    }

    /// Restores the recorded outcomes into the calibration source.
    pub(crate) fn restore_outcomes(&self) -> Result<(), KernelError> {
        let Some(calibration) = self.signals.calibration() else { return Ok(()) };
        for (class, outcomes) in self.outcomes()? {
            calibration
                .restore(class, outcomes)
                .map_err(|error| damaged_outcomes(error.to_string()))?;
        }
        Ok(())
    }

    /// Counts an outcome in one commit with everything in `extra`.
    pub(crate) async fn count_outcome(
        &self,
        by: &str,
        outcome: &BeliefOutcome,
        sample: &CalibrationSample,
        extra: &Batch,
    ) -> Result<(), LedgerError> {
        let malformed = || LedgerError::Malformed("the outcome has no recordable form".to_owned());
        let tenant = self.context.settings.tenant.clone();
        let key = RecordKey::new(tenant, Namespace::Calibration, sample.class.as_str());
        for _ in 0..MAX_TRIES {
            let record = self.context.ledger.read(&key)?;
            let mut outcomes = match &record {
                Some(record) => read(record).map_err(LedgerError::Damaged)?,
                None => ClassOutcomes::default(),
            };
            outcomes.add(sample);
            let value = canonical::serialize(&ClassRecord { outcomes, v: 1 }, Profile::Record);
            let put = RecordWrite {
                key: key.clone(),
                value: value.map_err(|_| malformed())?,
                expires_at: None,
            };
            let mut event = EventPayload::new()
                .with("by", by)
                .with("class", sample.class.as_str())
                .with("confidence", sample.confidence.as_thousandths())
                .with("correct", sample.correct)
                .into_global_event(EventKind::CalibrationRecorded, self.context.now())
                .ok_or_else(malformed)?;
            event.call.clone_from(&outcome.call);
            let mut batch = extra.clone().with_event(event);
            batch.replace.push(GuardedWrite { put, version: record.map(|record| record.version) });
            match self.context.ledger.commit(batch).await {
                Ok(_) => {
                    if let Some(calibration) = self.signals.calibration() {
                        // If the source's state is poisoned, every later report says so.
                        let _ = calibration.record(sample);
                    }
                    return Ok(());
                }
                Err(LedgerError::Conflict { key: other }) if other == key => {}
                Err(error) => return Err(error),
            }
        }
        Err(LedgerError::Malformed("the class changes too fast; try again".to_owned()))
    }
}

/// Every class in the ledger.
fn stored_outcomes(
    tenant: &Tenant,
    ledger: &dyn Ledger,
) -> Result<Vec<(BeliefClass, ClassOutcomes)>, KernelError> {
    let classes = ledger.all_records(tenant, Namespace::Calibration).map(|found| {
        let (id, record) = found?;
        let class = BeliefClass::parse(&id).map_err(|error| damaged_outcomes(error.to_string()))?;
        Ok((class, read(&record).map_err(damaged_outcomes)?))
    });
    classes.collect()
}

fn read(record: &Record) -> Result<ClassOutcomes, String> {
    let stored: ClassRecord = parse_versioned(&record.value, Profile::Record, 1..=1)?;
    Ok(stored.outcomes)
}

fn damaged_outcomes(problem: String) -> KernelError {
    KernelError::StoredRecord { what: "the outcomes of a class", problem }
}
