//! The keywords of the document language, and reading them.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::Value;
use weaver_text::suggest::nearest;
use weaver_types::{
    Confidentiality, Impact, Integrity, JustificationSource, Operation, ResponseMode, Rung,
    SafetyClass, SafetyMode, SensitivityTag, SinkKind, World,
};

use super::node::Node;
use super::reader::{DocumentReader, excerpt};
use crate::enforcement::RuleEnforcement;
use crate::field_condition::{KeywordSet, Keywords, SensitivityCondition};
use crate::policy_settings::ContractEnforcement;
use crate::provenance::ValueOrigin;
use crate::rate_limit::LimitKey;
use crate::time_window::Weekday;

/// What to write instead of an unknown word.
pub(super) fn remedy_among(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write one of {}", known.join(", ")),
    }
}

impl Node<'_> {
    /// A keyword of the type.
    pub(super) fn keyword<T: Keywords + DeserializeOwned>(
        &self,
        reader: &mut DocumentReader<'_>,
    ) -> Option<T> {
        self.known_text(reader, T::KEYWORDS, |text| {
            serde_json::from_value(Value::String(text.to_owned())).ok()
        })
    }

    /// What `read` makes of the text, which is one of `known`.
    pub(super) fn known_text<T>(
        &self,
        reader: &mut DocumentReader<'_>,
        known: &[&str],
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(reader)?;
        let found = read(text);
        if found.is_none() {
            let message = format!("unknown word `{}`", excerpt(text));
            self.report(reader, "policy.word", message, remedy_among(text, known));
        }
        found
    }

    /// Adds one keyword or a list of keywords to the set.
    pub(super) fn read_keywords(&self, reader: &mut DocumentReader<'_>, set: &mut dyn KeywordSet) {
        for node in self.one_or_many(reader) {
            let known = set.known_keywords();
            node.known_text(reader, known, |text| set.insert_keyword(text).then_some(()));
        }
    }

    /// One keyword or a list of keywords.
    pub(super) fn keywords<T: Keywords + DeserializeOwned + Ord>(
        &self,
        reader: &mut DocumentReader<'_>,
    ) -> BTreeSet<T> {
        self.one_or_many(reader).iter().filter_map(|node| node.keyword(reader)).collect()
    }
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
