//! An ordered map from ids to values that compares the first bytes of an id as one number, so that
//! a search rarely follows a pointer.
//!
//! The numbers are *poor man's normalized keys* (Graefe, *Implementing Sorting in Database
//! Systems*, 2006).

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// How many bytes of an id are compared as one number.
const PREFIX_BYTES: usize = 16;

/// Values by id, ordered by id.
#[derive(Debug)]
pub(crate) struct IdMap<T> {
    buckets: BTreeMap<u128, Bucket<T>>,
}

/// The values whose ids share a prefix.
#[derive(Debug)]
enum Bucket<T> {
    /// The common case.
    One(Arc<str>, T),
    Many(BTreeMap<Arc<str>, T>),
}

impl<T> Default for IdMap<T> {
    fn default() -> Self {
        Self { buckets: BTreeMap::new() }
    }
}

/// The first bytes of an id as a number with the same order; short ids are padded with zeros.
fn prefix_of(id: &str) -> u128 {
    let bytes = id.as_bytes();
    if let Some(whole) = bytes.first_chunk::<PREFIX_BYTES>() {
        return u128::from_be_bytes(*whole);
    }
    let mut padded = [0; PREFIX_BYTES];
    for (to, from) in padded.iter_mut().zip(bytes) {
        *to = *from;
    }
    u128::from_be_bytes(padded)
}

impl<T> IdMap<T> {
    pub(crate) fn get(&self, id: &str) -> Option<&T> {
        match self.buckets.get(&prefix_of(id))? {
            Bucket::One(own, value) => (own.as_ref() == id).then_some(value),
            Bucket::Many(ids) => ids.get(id),
        }
    }

    /// Inserts a value and returns the previous one.
    pub(crate) fn insert(&mut self, id: &Arc<str>, value: T) -> Option<T> {
        use std::collections::btree_map::Entry;
        let mut found = match self.buckets.entry(prefix_of(id)) {
            Entry::Vacant(free) => {
                free.insert(Bucket::One(Arc::clone(id), value));
                return None;
            }
            Entry::Occupied(found) => found,
        };
        match found.get_mut() {
            Bucket::One(own, before) if own == id => Some(std::mem::replace(before, value)),
            Bucket::Many(ids) => ids.insert(Arc::clone(id), value),
            ids @ Bucket::One(..) => {
                let one = std::mem::replace(ids, Bucket::Many(BTreeMap::new()));
                if let (Bucket::One(own, before), Bucket::Many(ids)) = (one, ids) {
                    ids.extend([(own, before), (Arc::clone(id), value)]);
                }
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<T> {
        use std::collections::btree_map::Entry;
        let Entry::Occupied(mut found) = self.buckets.entry(prefix_of(id)) else { return None };
        match found.get_mut() {
            Bucket::One(own, _) if own.as_ref() != id => None,
            Bucket::One(..) => match found.remove() {
                Bucket::One(_, value) => Some(value),
                Bucket::Many(_) => None,
            },
            Bucket::Many(ids) => {
                let value = ids.remove(id);
                if ids.is_empty() {
                    found.remove();
                }
                value
            }
        }
    }

    /// The values whose ids are greater than `after`, ordered by id.
    pub(crate) fn after<'m>(
        &'m self,
        after: Option<&'m str>,
    ) -> impl Iterator<Item = (&'m str, &'m T)> {
        let buckets = self.buckets.range(after.map_or(0, prefix_of)..);
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        buckets.flat_map(move |(_, ids)| {
            let (one, many) = match ids {
                Bucket::One(own, value) => (Some((own, value)), None),
                Bucket::Many(ids) => (None, Some(ids.range::<str, _>((from, Bound::Unbounded)))),
            };
            let one = one.filter(|(own, _)| after.is_none_or(|after| own.as_ref() > after));
            let all = one.into_iter().chain(many.into_iter().flatten());
            all.map(|(id, value)| (id.as_ref(), value))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bucket that differ before, at and after the end of the front, some with zero bytes.
    fn id() -> impl Strategy<Value = String> {
        let front =
            prop_oneof![Just(""), Just("a"), Just("fourteen_bytes"), Just("fifteen___bytes")];
        (front, "[ab\0\u{e9}]{0,4}").prop_map(|(front, rest)| front.to_owned() + &rest)
    }

    fn list<'m>(found: impl Iterator<Item = (&'m str, &'m u8)>) -> Vec<(String, u8)> {
        found.map(|(id, value)| (id.to_owned(), *value)).collect()
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_map_holds(
            steps in proptest::collection::vec((id(), proptest::option::of(0..9_u8)), 0..60),
            after in proptest::option::of(id()),
        ) {
            let (mut map, mut plain) = (IdMap::default(), BTreeMap::new());
            for (id, value) in steps {
                let before = match value {
                    Some(value) => (map.insert(&id.as_str().into(), value), plain.insert(id.clone(), value)),
                    None => (map.remove(&id), plain.remove(&id)),
                };
                prop_assert_eq!(before.0, before.1);
                prop_assert_eq!(map.get(&id), plain.get(&id));
            }
            let from = after.clone().map_or(Bound::Unbounded, Bound::Excluded);
            let rest = plain.range((from, Bound::Unbounded)).map(|(id, value)| (id.as_str(), value));
            prop_assert_eq!(list(map.after(after.as_deref())), list(rest));
            for id in plain.keys() {
                map.remove(id);
            }
            prop_assert!(map.buckets.is_empty(), "nothing is left behind");
        }
    }
}
