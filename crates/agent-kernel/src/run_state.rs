//! The state of a run, meters and label: a fold over the run's events (event sourcing).
//!
//! The state is cached in memory while the run is active and written in every batch that changes
//! it, so that a restart continues where the last commit ended. Each event contains its change
//! under the key `run`, so that the fold over the events gives the same state.

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, JsonBuffer, Profile};
use weaver_types::ledger::{Namespace, RecordKey, RecordWrite};
use weaver_types::{Digest, Label, Millicents, RunId, RunMeters, Tenant};

use crate::error::KernelError;
use crate::versioned_record::parse_versioned;

/// The largest number in a record: the largest integer that JSON readers represent exactly.
const MAX_RECORD_NUMBER: u64 = 1 << 53;
/// The size of an encoded state without its label, with the longest numbers.
const BYTES_BESIDE_LABEL: usize = 232;

/// The state of a run. The fields stand in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunState {
    /// The join of the labels of everything that the model was shown.
    pub label: Label,
    /// What the run has used.
    pub meters: RunMeters,
    /// Calls that write, or move a session, and that nobody released by answering a request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreviewed_writes: u64,
    /// The version of the stored form.
    pub v: u8,
}

/// What one event changes in the state of its run. The fields stand in the order in which they are
/// written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct RunDelta {
    /// What it cost.
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: Millicents,
    /// Calls refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denials: u64,
    /// Joined into the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// Microseconds of execution.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub latency_us: u64,
    /// Tokens of the frames that were given out, by the counter of the session's budget.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prompt_tokens: u64,
    /// The digests of the [`Namespace::Provenance`] records that are written with the event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provenance: Vec<Digest>,
    /// Calls executed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tool_calls: u64,
    /// Calls that write, or move a session, and that nobody released by answering a request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreviewed_writes: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_free(cost: &Millicents) -> bool {
    cost.0 == 0
}

impl Default for RunState {
    fn default() -> Self {
        Self { v: 1, meters: RunMeters::default(), label: Label::clean(), unreviewed_writes: 0 }
    }
}

impl RunState {
    /// The state after the change.
    #[must_use]
    pub fn apply(mut self, delta: &RunDelta) -> Self {
        self.meters.tool_calls = self.meters.tool_calls.saturating_add(delta.tool_calls);
        self.meters.denials = self.meters.denials.saturating_add(delta.denials);
        self.meters.prompt_tokens = self.meters.prompt_tokens.saturating_add(delta.prompt_tokens);
        self.meters.latency_us = self.meters.latency_us.saturating_add(delta.latency_us);
        let cost = self.meters.cost.0.saturating_add(delta.cost.0);
        self.meters.cost = Millicents(cost);
        self.unreviewed_writes = self.unreviewed_writes.saturating_add(delta.unreviewed_writes);
        if let Some(label) = &delta.label {
            self.label = self.label.join(label);
        }
        self
    }
}

/// The encoded label of the last record. A label soon stays the same, and is most of the record, so
/// it is encoded only when it changes.
#[derive(Debug, Default)]
pub(crate) struct EncodedLabelCache(Option<(Label, Vec<u8>)>);

impl EncodedLabelCache {
    /// The canonical bytes of this label.
    fn encoded_label(&mut self, label: &Label) -> Option<&[u8]> {
        if self.0.as_ref().is_none_or(|(last, _)| last != label) {
            let bytes = canonical::serialize(label, Profile::Record).ok()?;
            self.0 = Some((label.clone(), bytes));
        }
        self.0.as_ref().map(|(_, bytes)| bytes.as_slice())
    }

    /// The canonical bytes of a state.
    fn encode_state(&mut self, state: &RunState) -> Option<Vec<u8>> {
        let RunState { label, meters, unreviewed_writes, v } = state;
        let RunMeters { cost, denials, latency_us, prompt_tokens, tool_calls } = *meters;
        let meters = [
            ("cost", cost.0),
            ("denials", denials),
            ("latency_us", latency_us),
            ("prompt_tokens", prompt_tokens),
            ("tool_calls", tool_calls),
        ];
        let label = self.encoded_label(label)?;
        let mut out = JsonBuffer::with_capacity(label.len() + BYTES_BESIDE_LABEL);
        out.write_raw(b"{\"label\":");
        out.write_raw(label);
        out.write_raw(b",\"meters\":");
        for (place, (name, value)) in meters.into_iter().enumerate() {
            out.write_member_name(if place == 0 { b'{' } else { b',' }, name);
            out.write_integer(Some(value).filter(|value| *value <= MAX_RECORD_NUMBER)?);
        }
        out.push(b'}');
        if *unreviewed_writes > 0 {
            out.write_member_name(b',', "unreviewed_writes");
            let writes = Some(*unreviewed_writes).filter(|writes| *writes <= MAX_RECORD_NUMBER)?;
            out.write_integer(writes);
        }
        out.write_raw(b",\"v\":");
        out.write_integer((*v).into());
        out.push(b'}');
        Some(out.into_vec())
    }
}

/// The record of a state.
pub(crate) fn state_put(
    tenant: &Tenant,
    run: &RunId,
    state: &RunState,
    label: &mut EncodedLabelCache,
) -> Option<RecordWrite> {
    Some(RecordWrite {
        key: state_key(tenant, run),
        value: label.encode_state(state)?,
        expires_at: None,
    })
}

/// The key of the record of a run.
pub(crate) fn state_key(tenant: &Tenant, run: &RunId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Run, run)
}

/// Reads a stored state.
pub(crate) fn parse_state(bytes: &[u8]) -> Result<RunState, KernelError> {
    let stored = |problem: String| KernelError::StoredRecord { what: "a run", problem };
    parse_versioned(bytes, Profile::Record, 1..=1).map_err(stored)
}

#[cfg(test)]
mod tests {
    use weaver_types::{CallId, Confidentiality, Integrity};

    use super::*;

    #[test]
    fn a_state_put_together_is_the_one_written_whole() {
        let mut written = EncodedLabelCache::default();
        let mut state = RunState::default();
        let untrusted = Label::new(Confidentiality::Internal, Integrity::Untrusted);
        let secret = Label::new(Confidentiality::Restricted, Integrity::Trusted);
        let calls = (0..20).map(|n| CallId::parse(format!("call_{n}\"")).unwrap());
        let tainted = calls.map(|call| untrusted.clone().tainted_by(&call));
        let mut labels: Vec<Label> = tainted.collect();
        labels.push(secret);
        for label in labels {
            for _ in 0..2 {
                let delta = RunDelta {
                    tool_calls: 1,
                    latency_us: 70,
                    label: Some(label.clone()),
                    unreviewed_writes: state.meters.tool_calls % 2,
                    ..RunDelta::default()
                };
                state = state.apply(&delta);
                let whole = canonical::serialize(&state, Profile::Record).unwrap();
                assert_eq!(written.encode_state(&state).unwrap(), whole);
                assert_eq!(parse_state(&whole).unwrap(), state);
            }
        }
        state.meters.cost = Millicents(MAX_RECORD_NUMBER);
        assert_eq!(
            written.encode_state(&state),
            canonical::serialize(&state, Profile::Record).ok()
        );
        state.meters.cost = Millicents(MAX_RECORD_NUMBER + 1);
        assert!(written.encode_state(&state).is_none(), "beyond what a record holds");
    }

    #[test]
    fn what_does_not_change_is_not_written() {
        let text = |delta: &RunDelta| serde_json::to_string(delta).unwrap();
        assert_eq!(text(&RunDelta::default()), "{}");
        let all = RunDelta {
            cost: Millicents(1),
            denials: 2,
            label: None,
            latency_us: 3,
            prompt_tokens: 4,
            provenance: vec![Digest::from_bytes([10; 32])],
            tool_calls: 5,
            unreviewed_writes: 6,
        };
        let digest = "0a".repeat(32);
        let written = &format!(
            "{{\"cost\":1,\"denials\":2,\"latency_us\":3,\"prompt_tokens\":4,\
             \"provenance\":[\"sha256:{digest}\"],\"tool_calls\":5,\
             \"unreviewed_writes\":6}}"
        );
        assert_eq!(&text(&all), written);
        assert_eq!(serde_json::from_str::<RunDelta>(written).unwrap(), all);
    }

    #[test]
    fn every_meter_of_a_step_is_added_to_its_own() {
        let delta = RunDelta {
            cost: Millicents(1),
            denials: 2,
            label: Some(Label::new(Confidentiality::Internal, Integrity::Untrusted)),
            latency_us: 3,
            prompt_tokens: 4,
            provenance: Vec::new(),
            tool_calls: 5,
            unreviewed_writes: 6,
        };
        let twice = RunState::default().apply(&delta).apply(&delta);
        let meters = RunMeters {
            cost: Millicents(2),
            denials: 4,
            latency_us: 6,
            prompt_tokens: 8,
            tool_calls: 10,
        };
        assert_eq!((twice.meters, twice.label), (meters, delta.label.unwrap()));
        assert_eq!(twice.unreviewed_writes, 12);
    }

    #[test]
    fn a_record_of_another_version_is_no_state() {
        let whole = canonical::serialize(&RunState::default(), Profile::Record).unwrap();
        let text = String::from_utf8(whole).unwrap();
        assert!(parse_state(text.as_bytes()).is_ok());
        let newer = parse_state(text.replace("\"v\":1", "\"v\":2").as_bytes()).unwrap_err();
        assert!(newer.to_string().contains("its version is Some(2)"), "{newer}");
        assert!(parse_state(text.replace("\"v\":1", "\"w\":1").as_bytes()).is_err());
    }
}
