//! Splits one group into several.

use std::collections::BTreeMap;

use super::seed::FeatureTable;
use super::{Strategy, cluster, label};

/// A group that has not been added to the graph yet.
#[derive(Debug, Clone)]
pub(super) struct PendingGroup {
    pub(super) label: String,
    /// Indices into the table of features.
    pub(super) items: Vec<usize>,
    /// How many leading segments of the namespace have been used for grouping.
    pub(super) level: usize,
}

/// How groups are split.
pub(super) struct Splitter<'a> {
    pub(super) seeds: &'a FeatureTable<'a>,
    /// How many items contain each word.
    pub(super) document_frequencies: Vec<u32>,
    pub(super) strategy: Strategy,
    pub(super) page: usize,
}

impl Splitter<'_> {
    /// Splits a group into at least two groups and at most as many as a page holds, none with more
    /// than `max_items` items.
    pub(super) fn split(&self, part: &PendingGroup, max_items: usize) -> Vec<PendingGroup> {
        let fits = |parts: &Vec<PendingGroup>| {
            (2..=self.page).contains(&parts.len())
                && parts.iter().all(|part| part.items.len() <= max_items)
        };
        let by_namespace = matches!(self.strategy, Strategy::Auto | Strategy::Namespace);
        let by_words = matches!(self.strategy, Strategy::Auto | Strategy::Clustering);
        let namespaces = by_namespace.then(|| self.by_namespace(part)).filter(fits);
        let mut parts = namespaces
            .or_else(|| by_words.then(|| self.by_words(part)).filter(fits))
            .unwrap_or_else(|| self.by_name(part));
        let labels = parts.iter().map(|part| part.label.clone()).collect();
        for (part, label) in parts.iter_mut().zip(label::deduplicate(labels)) {
            part.label = label;
        }
        parts
    }

    /// Groups by the first namespace segment in which the items differ. If there are more groups than
    /// a page holds, large ones stay and neighbouring small ones are merged.
    fn by_namespace(&self, part: &PendingGroup) -> Vec<PendingGroup> {
        let mut level = part.level;
        let segment = |at: &usize, level| self.seeds.segment(*at, level);
        while let Some(first) = part.items.first().and_then(|at| segment(at, level))
            && part.items.iter().all(|at| segment(at, level) == Some(first))
        {
            level += 1;
        }
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for at in &part.items {
            groups.entry(segment(at, level).unwrap_or_default()).or_default().push(*at);
        }
        if groups.len() < 2 {
            return Vec::new();
        }
        let one_namespace = |(name, items): (&str, Vec<usize>)| PendingGroup {
            label: label::namespace_name(name),
            items,
            level: level + 1,
        };
        if groups.len() <= self.page {
            return groups.into_iter().map(one_namespace).collect();
        }
        let average = part.items.len() / self.page;
        let (large, small): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(_, items)| items.len() > average);
        let buckets = self.page.saturating_sub(large.len()).max(1);
        let mut parts: Vec<PendingGroup> = large.into_iter().map(one_namespace).collect();
        parts.extend(merge_small(small, buckets, level));
        parts.sort_by(|a, b| a.label.cmp(&b.label));
        parts
    }

    fn by_words(&self, part: &PendingGroup) -> Vec<PendingGroup> {
        let groups = cluster::farthest_first(self.seeds, &part.items, self.page, self.page);
        if groups.len() < 2 {
            return Vec::new();
        }
        let cluster = |items: Vec<usize>| PendingGroup {
            label: label::cluster_name(self.seeds, &items, &self.document_frequencies),
            items,
            level: part.level,
        };
        groups.into_iter().map(cluster).collect()
    }

    /// Groups alphabetically by name, into parts of nearly equal size.
    fn by_name(&self, part: &PendingGroup) -> Vec<PendingGroup> {
        let mut items = part.items.clone();
        let key = |at: &usize| self.seeds.get(*at).map(|seed| (&seed.name, &seed.item.id));
        items.sort_by(|a, b| key(a).cmp(&key(b)));
        let count = items.len().div_ceil(self.page).clamp(2, self.page);
        let name = |at: Option<&usize>| {
            at.and_then(|at| self.seeds.get(*at)).map_or("", |seed| seed.name.as_str())
        };
        let chunk = |n: usize| {
            let (from, to) = (items.len() * n / count, items.len() * (n + 1) / count);
            let items = items.get(from..to).unwrap_or_default();
            let label = label::range_name(name(items.first()), name(items.last()));
            PendingGroup { label, items: items.to_vec(), level: part.level }
        };
        (0..count).map(chunk).collect()
    }
}

/// Merges neighbouring namespaces into a bounded number of groups of about equal size.
fn merge_small(groups: Vec<(&str, Vec<usize>)>, buckets: usize, level: usize) -> Vec<PendingGroup> {
    let total: usize = groups.iter().map(|(_, items)| items.len()).sum();
    let mut parts: BTreeMap<usize, (Vec<&str>, Vec<usize>)> = BTreeMap::new();
    let mut before = 0;
    for (name, items) in groups {
        let bucket = (before * buckets).checked_div(total).unwrap_or(0);
        before += items.len();
        let (names, all) = parts.entry(bucket).or_default();
        names.push(name);
        all.extend(items);
    }
    let part = |(names, items): (Vec<&str>, Vec<usize>)| {
        let (first, last) = (names.first().unwrap_or(&""), names.last().unwrap_or(&""));
        PendingGroup { label: label::range_name(first, last), items, level }
    };
    parts.into_values().map(part).collect()
}
