//! The keywords of the document language, for messages that list them.

use weaver_types::{
    Confidentiality, Impact, Integrity, JustificationSource, Operation, ResponseMode, Rung,
    SafetyClass, SafetyMode, SensitivityTag, SinkKind, World,
};

use crate::enforcement::RuleEnforcement;
use crate::match_conditions::SensitivityCondition;
use crate::policy_settings::ContractEnforcement;
use crate::provenance::ValueOrigin;
use crate::rate_limit::LimitKey;
use crate::time_window::Weekday;

/// A type that documents write as one of a few keywords.
pub(super) trait Keywords {
    /// The keywords.
    const KEYWORDS: &'static [&'static str];
}

macro_rules! words {
    ($($type:ty: $($word:literal)*;)*) => {$(
        impl Keywords for $type {
            const KEYWORDS: &'static [&'static str] = &[$($word),*];
        }
    )*

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn every_word_is_read() {
                $($(
                    let word = serde_json::Value::String($word.to_owned());
                    assert!(serde_json::from_value::<$type>(word).is_ok(), $word);
                )*)*
            }
        }
    };
}

words! {
    Impact: "read" "write" "destroy";
    World: "closed" "open";
    SafetyClass: "read_only" "local_write" "network" "destructive";
    Rung: "L0" "L1" "L2" "L3" "L4" "L5";
    SinkKind: "none" "external_send" "payment" "credential" "destructive";
    Operation: "invoke" "view";
    SafetyMode: "NORMAL" "SAFE" "STRICT";
    JustificationSource: "human" "host" "model";
    Confidentiality: "public" "internal" "confidential" "restricted";
    Integrity: "trusted" "untrusted";
    SensitivityTag: "memory" "pii" "pci" "secrets";
    SensitivityCondition: "none" "memory" "pii" "pci" "secrets";
    Weekday: "mon" "tue" "wed" "thu" "fri" "sat" "sun";
    ValueOrigin: "user" "trusted";
    LimitKey: "principal" "capability" "run" "agent";
    ContractEnforcement: "off" "observe" "enforce";
    RuleEnforcement: "observe" "enforce";
    ResponseMode: "raw" "auto" "table" "summary" "handle_only";
}
