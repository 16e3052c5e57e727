//! The sentinels that a gateway can arm.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_policy::Finding;
use weaver_policy::signal::{
    AnomalousToolSequence, LowConfidenceAction, SignalSource, SuspiciousMemoryOrigin, Watch,
};

use super::node::Node;

/// A watcher of a run that asks for more care. Arming one never loosens a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sentinel {
    /// Speaks of a call that rests on a guess.
    LowConfidenceAction,
    /// Speaks of a call that rests on what an external document said.
    SuspiciousMemoryOrigin,
    /// Speaks of a write after a local read and a call that reached out.
    AnomalousToolSequence,
}

/// The words of the configuration.
const WORDS: [(&str, Sentinel); 3] = [
    ("low-confidence-action", Sentinel::LowConfidenceAction),
    ("suspicious-memory-origin", Sentinel::SuspiciousMemoryOrigin),
    ("anomalous-tool-sequence", Sentinel::AnomalousToolSequence),
];

/// Reads a list of sentinels.
pub(super) fn read(node: &Node, out: &mut Vec<Finding>) -> BTreeSet<Sentinel> {
    let mut armed = BTreeSet::new();
    for word in node.list(out) {
        armed.extend(word.word(&WORDS, out));
    }
    armed
}

/// The sentinels, ready to watch, with one more source.
pub(crate) fn watch(armed: &BTreeSet<Sentinel>, own: Option<Arc<dyn SignalSource>>) -> Watch {
    let source = |sentinel: &Sentinel| -> Arc<dyn SignalSource> {
        match sentinel {
            Sentinel::LowConfidenceAction => Arc::new(LowConfidenceAction::default()),
            Sentinel::SuspiciousMemoryOrigin => Arc::new(SuspiciousMemoryOrigin),
            Sentinel::AnomalousToolSequence => Arc::new(AnomalousToolSequence::new()),
        }
    };
    Watch::new(armed.iter().map(source).chain(own).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_arms_the_sentinel_of_that_name() {
        for (word, sentinel) in WORDS {
            let told = format!("{:?}", watch(&BTreeSet::from([sentinel]), None));
            assert!(told.contains(&format!("[\"{word}\"]")), "{told}");
        }
    }
}
