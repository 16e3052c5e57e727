//! The state of a run: meters and label, a fold over the run's events.
//!
//! The state is kept in memory while the run is active and written with every batch that changes
//! it, so that a restart goes on where the last commit ended. Each event carries the change it
//! made, under the key `run`, so that the fold over the events gives the same state.

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, Buffer, Profile};
use weaver_types::ledger::{Namespace, Put, RecordKey};
use weaver_types::{Digest, Label, Millicents, RunId, RunMeters, Tenant};

use crate::error::KernelError;

/// The largest number of a record.
const LARGEST: u64 = 1 << 53;
/// Bytes of a state beside its label, with the longest numbers.
const AROUND_LABEL: usize = 192;

/// What is known of a run. The fields stand in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunState {
    /// The join of the labels of all that the model was shown.
    pub label: Label,
    /// What it has used up.
    pub meters: RunMeters,
    /// The version of this form.
    pub v: u8,
}

/// What one event changes, in the order in which it is written.
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
    /// Digests of the records of [`Namespace::Provenance`] that are written with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provenance: Vec<Digest>,
    /// Calls executed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tool_calls: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_free(cost: &Millicents) -> bool {
    cost.0 == 0
}

impl Default for RunState {
    fn default() -> Self {
        Self { v: 1, meters: RunMeters::default(), label: Label::clean() }
    }
}

impl RunState {
    /// The state after the change.
    #[must_use]
    pub fn after(mut self, delta: &RunDelta) -> Self {
        self.meters.tool_calls = self.meters.tool_calls.saturating_add(delta.tool_calls);
        self.meters.denials = self.meters.denials.saturating_add(delta.denials);
        self.meters.prompt_tokens = self.meters.prompt_tokens.saturating_add(delta.prompt_tokens);
        self.meters.latency_us = self.meters.latency_us.saturating_add(delta.latency_us);
        let cost = self.meters.cost.0.saturating_add(delta.cost.0);
        self.meters.cost = Millicents(cost);
        if let Some(label) = &delta.label {
            self.label = self.label.join(label);
        }
        self
    }
}

/// The label of a run as it was written last. It soon stays the same, and is most of the record.
#[derive(Debug, Default)]
pub(crate) struct WrittenLabel(Option<(Label, Vec<u8>)>);

impl WrittenLabel {
    /// The canonical bytes of this label.
    fn of(&mut self, label: &Label) -> Option<&[u8]> {
        if self.0.as_ref().is_none_or(|(last, _)| last != label) {
            let bytes = canonical::of(label, Profile::Record).ok()?;
            self.0 = Some((label.clone(), bytes));
        }
        self.0.as_ref().map(|(_, bytes)| bytes.as_slice())
    }

    /// The canonical bytes of a state.
    fn state(&mut self, state: &RunState) -> Option<Vec<u8>> {
        let RunState { label, meters, v } = state;
        let RunMeters { cost, denials, latency_us, prompt_tokens, tool_calls } = *meters;
        let meters = [
            ("cost", cost.0),
            ("denials", denials),
            ("latency_us", latency_us),
            ("prompt_tokens", prompt_tokens),
            ("tool_calls", tool_calls),
        ];
        let label = self.of(label)?;
        let mut out = Buffer::with_room(label.len() + AROUND_LABEL);
        out.word(b"{\"label\":");
        out.word(label);
        out.word(b",\"meters\":");
        for (place, (name, value)) in meters.into_iter().enumerate() {
            out.member(if place == 0 { b'{' } else { b',' }, name);
            out.number(Some(value).filter(|value| *value <= LARGEST)?);
        }
        out.word(b"},\"v\":");
        out.number((*v).into());
        out.push(b'}');
        Some(out.into_vec())
    }
}

/// The ledger's record of a state.
pub(crate) fn put(
    tenant: &Tenant,
    run: &RunId,
    state: &RunState,
    label: &mut WrittenLabel,
) -> Option<Put> {
    Some(Put { key: key(tenant, run), value: label.state(state)?, expires_at: None })
}

/// Where the state of a run is stored.
pub(crate) fn key(tenant: &Tenant, run: &RunId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Run, run)
}

/// Reads a stored state.
pub(crate) fn read(bytes: &[u8]) -> Result<RunState, KernelError> {
    let stored = |problem: String| KernelError::Stored { what: "a run", problem };
    let value = canonical::parse(bytes, Profile::Record).map_err(|e| stored(e.to_string()))?;
    let version = value.get("v").and_then(serde_json::Value::as_u64);
    if version != Some(1) {
        return Err(stored(format!(
            "its version is {version:?}, this build knows 1; use a newer build"
        )));
    }
    serde_json::from_value(value).map_err(|e| stored(e.to_string()))
}

#[cfg(test)]
mod tests {
    use weaver_types::{CallId, Confidentiality, Integrity};

    use super::*;

    #[test]
    fn a_state_put_together_is_the_one_written_whole() {
        let mut written = WrittenLabel::default();
        let mut state = RunState::default();
        let untrusted = Label::of(Confidentiality::Internal, Integrity::Untrusted);
        let secret = Label::of(Confidentiality::Restricted, Integrity::Trusted);
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
                    ..RunDelta::default()
                };
                state = state.after(&delta);
                let whole = canonical::of(&state, Profile::Record).unwrap();
                assert_eq!(written.state(&state).unwrap(), whole);
                assert_eq!(read(&whole).unwrap(), state);
            }
        }
        state.meters.cost = Millicents(LARGEST);
        assert_eq!(written.state(&state), canonical::of(&state, Profile::Record).ok());
        state.meters.cost = Millicents(LARGEST + 1);
        assert!(written.state(&state).is_none(), "beyond what a record holds");
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
        };
        let digest = "0a".repeat(32);
        let written = &format!(
            "{{\"cost\":1,\"denials\":2,\"latency_us\":3,\"prompt_tokens\":4,\
             \"provenance\":[\"sha256:{digest}\"],\"tool_calls\":5}}"
        );
        assert_eq!(&text(&all), written);
        assert_eq!(serde_json::from_str::<RunDelta>(written).unwrap(), all);
    }

    #[test]
    fn every_meter_of_a_step_is_added_to_its_own() {
        let delta = RunDelta {
            cost: Millicents(1),
            denials: 2,
            label: Some(Label::of(Confidentiality::Internal, Integrity::Untrusted)),
            latency_us: 3,
            prompt_tokens: 4,
            provenance: Vec::new(),
            tool_calls: 5,
        };
        let twice = RunState::default().after(&delta).after(&delta);
        let meters = RunMeters {
            cost: Millicents(2),
            denials: 4,
            latency_us: 6,
            prompt_tokens: 8,
            tool_calls: 10,
        };
        assert_eq!((twice.meters, twice.label), (meters, delta.label.unwrap()));
    }

    #[test]
    fn a_record_of_another_version_is_no_state() {
        let whole = canonical::of(&RunState::default(), Profile::Record).unwrap();
        let text = String::from_utf8(whole).unwrap();
        assert!(read(text.as_bytes()).is_ok());
        let newer = read(text.replace("\"v\":1", "\"v\":2").as_bytes()).unwrap_err();
        assert!(newer.to_string().contains("its version is Some(2)"), "{newer}");
        assert!(read(text.replace("\"v\":1", "\"w\":1").as_bytes()).is_err());
    }
}
