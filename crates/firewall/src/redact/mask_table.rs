//! Placeholders: masks that tell values apart without telling them.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// The most values that are told apart; those that come later get the plain mask.
pub(crate) const MAX_VALUES: usize = 10_000;

/// The numbers that values have in one run: the same value gets the same placeholder, `[EMAIL_1]`.
///
/// One-way: what is kept of a value is a keyed hash, whose key never leaves the process.
#[derive(Debug, Default)]
pub struct Placeholders {
    keys: [RandomState; 2],
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<[u64; 2], u32>,
    next: HashMap<String, u32>,
}

impl Placeholders {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The placeholder of a value of this kind; nothing when there are too many.
    pub(crate) fn of(&self, kind: &str, value: &str) -> Option<String> {
        let name = kind.to_ascii_uppercase();
        let [first, second] = &self.keys;
        let hash = [first.hash_one((kind, value)), second.hash_one((kind, value))];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let number = match known.numbers.get(&hash) {
            Some(number) => *number,
            None if known.numbers.len() >= MAX_VALUES => return None,
            None => {
                let next = known.next.entry(name.clone()).or_default();
                *next += 1;
                let number = *next;
                known.numbers.insert(hash, number);
                number
            }
        };
        Some(format!("[{name}_{number}]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_has_the_same_number() {
        let held = Placeholders::new();
        assert_eq!(held.of("email", "a@b.co").unwrap(), "[EMAIL_1]");
        assert_eq!(held.of("email", "c@d.co").unwrap(), "[EMAIL_2]");
        assert_eq!(held.of("us_ssn", "a@b.co").unwrap(), "[US_SSN_1]");
        assert_eq!(held.of("email", "a@b.co").unwrap(), "[EMAIL_1]");
    }

    #[test]
    fn the_table_is_bounded() {
        let held = Placeholders::new();
        for n in 0..MAX_VALUES {
            assert!(held.of("id", &n.to_string()).is_some());
        }
        assert_eq!(held.of("id", "one more"), None);
        assert_eq!(held.of("id", "7").unwrap(), "[ID_8]");
    }
}
