//! Ids in the order of something that mostly grows.

use std::collections::VecDeque;

use weaver_types::HandleId;

/// Ids in the order of their keys, then of themselves. New ones mostly go to the end, and those that
/// leave are mostly the first.
#[derive(Debug)]
pub(super) struct Queue<K>(VecDeque<(K, HandleId)>);

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<K: Ord> Queue<K> {
    pub(super) fn add(&mut self, key: K, id: HandleId) {
        let new = (key, id);
        if self.0.back().is_none_or(|last| *last < new) {
            self.0.push_back(new);
        } else {
            let at = self.0.partition_point(|known| *known < new);
            self.0.insert(at, new);
        }
    }

    pub(super) fn remove(&mut self, key: K, id: &HandleId) {
        let find = |(known, of): &(K, HandleId)| known.cmp(&key).then_with(|| of.cmp(id));
        if let Ok(at) = self.0.binary_search_by(find) {
            self.0.remove(at);
        }
    }

    pub(super) fn first(&self) -> Option<&(K, HandleId)> {
        self.0.front()
    }

    pub(super) fn last(&self) -> Option<&(K, HandleId)> {
        self.0.back()
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, HandleId)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_queue_is_a_sorted_set(steps: Vec<(bool, u8, u8)>) {
            let (mut queue, mut set) = (Queue::default(), BTreeSet::new());
            for (add, key, id) in steps {
                let id = HandleId::parse(format!("h{}", id % 4)).unwrap();
                let key = key % 8;
                if add && set.insert((key, id.clone())) {
                    queue.add(key, id);
                } else {
                    queue.remove(key, &id);
                    set.remove(&(key, id));
                }
                prop_assert!(queue.iter().eq(&set));
            }
        }
    }
}
