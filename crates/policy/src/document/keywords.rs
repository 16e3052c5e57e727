//! The words of the documents, for messages that name them.

use weaver_types::{
    Confidentiality, Impact, Integrity, JustificationSource, Operation, ResponseMode, Rung,
    SafetyClass, SafetyMode, SensitivityTag, SinkKind, World,
};

use crate::bounds::Enforcement;
use crate::enforcement::RuleEnforcement;
use crate::limit::LimitKey;
use crate::matching::Sensitivity;
use crate::provenance::ValueOrigin;
use crate::time_window::Day;

/// A type that documents write as one of a few words.
pub(super) trait Keywords {
    /// The words.
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
    Sensitivity: "none" "memory" "pii" "pci" "secrets";
    Day: "mon" "tue" "wed" "thu" "fri" "sat" "sun";
    ValueOrigin: "user" "trusted";
    LimitKey: "principal" "capability" "run" "agent";
    Enforcement: "off" "observe" "enforce";
    RuleEnforcement: "observe" "enforce";
    ResponseMode: "raw" "auto" "table" "summary" "handle_only";
}
