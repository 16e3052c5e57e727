//! The sentinels that a gateway can arm.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_policy::signal::{
    AnomalousToolSequence, CalibrationFlags, LowConfidenceAction, SignalMonitor, SignalSource,
    SuspiciousMemoryOrigin,
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
    /// Speaks of a call that rests on a tool which was wrong more often than it was sure.
    CalibrationFlags,
}

/// The words of the configuration.
pub(super) const SENTINELS: [(&str, Sentinel); 4] = [
    ("low-confidence-action", Sentinel::LowConfidenceAction),
    ("suspicious-memory-origin", Sentinel::SuspiciousMemoryOrigin),
    ("anomalous-tool-sequence", Sentinel::AnomalousToolSequence),
    ("calibration-flags", Sentinel::CalibrationFlags),
];

/// Reads a list of sentinels.
pub(super) fn read(node: &Node) -> BTreeSet<Sentinel> {
    node.list().iter().filter_map(|word| word.word(&SENTINELS)).collect()
}

/// The sentinels, ready to watch, with one more source.
pub(crate) fn watch(
    armed: &BTreeSet<Sentinel>,
    own: Option<Arc<dyn SignalSource>>,
) -> SignalMonitor {
    let source = |sentinel: &Sentinel| -> Option<Arc<dyn SignalSource>> {
        Some(match sentinel {
            Sentinel::LowConfidenceAction => Arc::new(LowConfidenceAction::default()),
            Sentinel::SuspiciousMemoryOrigin => Arc::new(SuspiciousMemoryOrigin),
            Sentinel::AnomalousToolSequence => Arc::new(AnomalousToolSequence::new()),
            Sentinel::CalibrationFlags => return None,
        })
    };
    let watch = SignalMonitor::new(armed.iter().filter_map(source).chain(own).collect());
    if armed.contains(&Sentinel::CalibrationFlags) {
        return watch.with_calibration(Arc::new(CalibrationFlags::default()));
    }
    watch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_arms_the_sentinel_of_that_name() {
        for (word, sentinel) in SENTINELS {
            let told = format!("{:?}", watch(&BTreeSet::from([sentinel]), None));
            assert!(told.contains(&format!("[\"{word}\"]")), "{told}");
        }
    }
}
