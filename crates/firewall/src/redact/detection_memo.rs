//! Remembers where the values of long texts are, so that a frame which tries several sizes scans
//! each text once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use super::engine::Detection;

/// The shortest text that is remembered, in bytes.
const MIN_TEXT_BYTES: usize = 1_024;
/// How many bytes of texts are remembered.
const MAX_BYTES: usize = 4 * 1_024 * 1_024;

/// The detections in long texts, for one set of rules and masks.
///
/// A clone is empty: it may belong to other rules. It lives as long as a frame is built, so that no
/// text of a result stays in memory.
#[derive(Default)]
pub(super) struct DetectionMemo {
    texts: Mutex<Texts>,
}

#[derive(Default)]
struct Texts {
    found: BTreeMap<Box<str>, Arc<[Detection]>>,
    bytes: usize,
}

impl DetectionMemo {
    /// The detections in a text, which `detect` finds if they are not known.
    pub(super) fn get_or_detect(
        &self,
        text: &str,
        detect: impl FnOnce() -> Vec<Detection>,
    ) -> Vec<Detection> {
        if text.len() < MIN_TEXT_BYTES {
            return detect();
        }
        let known = self.texts.lock().ok().and_then(|texts| texts.found.get(text).cloned());
        if let Some(known) = known {
            return known.to_vec();
        }
        let found = detect();
        if let Ok(mut texts) = self.texts.lock()
            && texts.bytes + text.len() <= MAX_BYTES
        {
            texts.bytes += text.len();
            texts.found.insert(Box::from(text), Arc::from(found.as_slice()));
        }
        found
    }
}

impl Clone for DetectionMemo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for DetectionMemo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetectionMemo").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_scanned_once_and_a_clone_knows_nothing() {
        let (long, short) = ("a".repeat(MIN_TEXT_BYTES), "a".repeat(MIN_TEXT_BYTES - 1));
        let found = || vec![Detection { range: 1..2, rule: 3 }];
        let memo = DetectionMemo::default();
        assert_eq!(memo.get_or_detect(&long, found), found());
        assert_eq!(memo.get_or_detect(&long, Vec::new), found());
        assert_eq!(memo.clone().get_or_detect(&long, Vec::new), []);
        assert_eq!(memo.get_or_detect(&short, found), found());
        assert_eq!(memo.get_or_detect(&short, Vec::new), []);
        let huge = "b".repeat(MAX_BYTES);
        assert_eq!(memo.get_or_detect(&huge, found), found());
        assert_eq!(memo.get_or_detect(&huge, Vec::new), [], "memory is bounded");
        assert!(!format!("{memo:?}").contains("aaa"));
    }
}
