//! The record of a call whose end is not recorded yet.

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, Profile};
use weaver_types::{CapabilityId, Label, PrincipalId, RunId};

use crate::error::KernelError;
use crate::versioned_record::parse_versioned;

/// The ledger's record of a call without a recorded end. The fields stand in the order in which
/// they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenCall {
    pub(crate) capability: CapabilityId,
    /// The thousandths of a cent that are charged if the end is never seen.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) cost: u64,
    /// The microseconds that are charged then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) latency_us: u64,
    pub(crate) principal: PrincipalId,
    pub(crate) run: RunId,
    /// The tokens that are charged then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) tokens: u64,
    pub(crate) v: u8,
    /// The label that the run takes on then.
    pub(crate) worst: Label,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl OpenCall {
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        canonical::serialize(self, Profile::Record).ok()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, KernelError> {
        let stored = |problem: String| KernelError::StoredRecord { what: "an open call", problem };
        parse_versioned(bytes, Profile::Record, 1..=1).map_err(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(cost: u64, latency_us: u64, tokens: u64) -> OpenCall {
        OpenCall {
            capability: CapabilityId::parse("fs.read").unwrap(),
            cost,
            latency_us,
            principal: PrincipalId::parse("ana").unwrap(),
            run: RunId::parse("run_1").unwrap(),
            tokens,
            v: 1,
            worst: Label::clean(),
        }
    }

    #[test]
    fn what_is_nothing_is_not_written_and_the_rest_reads_back() {
        for (call, members) in [(open(0, 0, 0), ""), (open(7, 8, 9), "cost latency_us tokens")] {
            let bytes = call.to_bytes().unwrap();
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let written: Vec<&str> = ["cost", "latency_us", "tokens"]
                .into_iter()
                .filter(|key| value.get(key).is_some())
                .collect();
            assert_eq!(written.join(" "), members);
            assert_eq!(OpenCall::parse(&bytes).unwrap(), call);
        }
        let text = String::from_utf8(open(0, 0, 0).to_bytes().unwrap()).unwrap();
        let newer = OpenCall::parse(text.replace("\"v\":1", "\"v\":2").as_bytes()).unwrap_err();
        assert!(newer.to_string().contains("its version is Some(2)"), "{newer}");
        assert!(OpenCall::parse(b"").is_err());
    }
}
