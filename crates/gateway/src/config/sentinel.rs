//! The sentinels that a gateway can arm.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_policy::signal::{
    CalibrationSource, LowConfidenceSentinel, MemoryOriginSentinel, SignalMonitor, SignalSource,
    ToolSequenceSentinel,
};

use super::node::Node;

/// A monitor of runs that reports signals. Arming one never loosens a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sentinel {
    /// Reports calls that rest on a guess.
    LowConfidenceAction,
    /// Reports calls that rest on the content of an external document.
    SuspiciousMemoryOrigin,
    /// Reports a write that follows a local read and a call to the outside.
    AnomalousToolSequence,
    /// Reports calls that rest on a tool whose confidence was badly calibrated.
    CalibrationFlags,
}

/// The keywords of the configuration.
pub(super) const SENTINELS: [(&str, Sentinel); 4] = [
    ("low-confidence-action", Sentinel::LowConfidenceAction),
    ("suspicious-memory-origin", Sentinel::SuspiciousMemoryOrigin),
    ("anomalous-tool-sequence", Sentinel::AnomalousToolSequence),
    ("calibration-flags", Sentinel::CalibrationFlags),
];

/// Parses a list of sentinels.
pub(super) fn read(node: &Node) -> BTreeSet<Sentinel> {
    node.list().iter().filter_map(|word| word.word(&SENTINELS)).collect()
}

/// The armed sentinels and one additional source as a signal monitor.
pub(crate) fn signal_monitor(
    armed: &BTreeSet<Sentinel>,
    own: Option<Arc<dyn SignalSource>>,
) -> SignalMonitor {
    let source = |sentinel: &Sentinel| -> Option<Arc<dyn SignalSource>> {
        Some(match sentinel {
            Sentinel::LowConfidenceAction => Arc::new(LowConfidenceSentinel::default()),
            Sentinel::SuspiciousMemoryOrigin => Arc::new(MemoryOriginSentinel),
            Sentinel::AnomalousToolSequence => Arc::new(ToolSequenceSentinel::new()),
            Sentinel::CalibrationFlags => return None,
        })
    };
    let watch = SignalMonitor::new(armed.iter().filter_map(source).chain(own).collect());
    if armed.contains(&Sentinel::CalibrationFlags) {
        return watch.with_calibration(Arc::new(CalibrationSource::default()));
    }
    watch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_arms_the_sentinel_of_that_name() {
        for (word, sentinel) in SENTINELS {
            let told = format!("{:?}", signal_monitor(&BTreeSet::from([sentinel]), None));
            assert!(told.contains(&format!("[\"{word}\"]")), "{told}");
        }
    }
}
