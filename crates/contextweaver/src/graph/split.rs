//! One group into several.

use std::collections::BTreeMap;

use super::seed::Seeds;
use super::{Strategy, cluster, label};

/// A group that is still to be split.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) label: String,
    /// Places in the list of seeds.
    pub(super) items: Vec<usize>,
    /// How many segments of the namespace its items share and have been used.
    pub(super) level: usize,
}

/// How groups are split.
pub(super) struct Splitter<'a> {
    pub(super) seeds: &'a Seeds<'a>,
    /// In how many items each word stands.
    pub(super) everywhere: Vec<u32>,
    pub(super) strategy: Strategy,
    pub(super) page: usize,
}

impl Splitter<'_> {
    /// Two or more groups, at most as many as a page holds, none with more than `room` items.
    pub(super) fn split(&self, part: &Part, room: usize) -> Vec<Part> {
        let fits = |parts: &Vec<Part>| {
            (2..=self.page).contains(&parts.len())
                && parts.iter().all(|part| part.items.len() <= room)
        };
        let by_namespace = matches!(self.strategy, Strategy::Auto | Strategy::Namespace);
        let by_words = matches!(self.strategy, Strategy::Auto | Strategy::Clustering);
        let namespaces = by_namespace.then(|| self.namespaces(part)).filter(fits);
        let mut parts = namespaces
            .or_else(|| by_words.then(|| self.clusters(part)).filter(fits))
            .unwrap_or_else(|| self.alphabet(part));
        let labels = parts.iter().map(|part| part.label.clone()).collect();
        for (part, label) in parts.iter_mut().zip(label::distinct(labels)) {
            part.label = label;
        }
        parts
    }

    /// By the first segment that is not the same for all; neighbours together where there are more
    /// than a page holds.
    fn namespaces(&self, part: &Part) -> Vec<Part> {
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
        let whole = |(name, items): (&str, Vec<usize>)| Part {
            label: label::segment(name),
            items,
            level: level + 1,
        };
        if groups.len() <= self.page {
            return groups.into_iter().map(whole).collect();
        }
        let share = part.items.len() / self.page;
        let (large, small): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(_, items)| items.len() > share);
        let buckets = self.page.saturating_sub(large.len()).max(1);
        let mut parts: Vec<Part> = large.into_iter().map(whole).collect();
        parts.extend(together(small, buckets, level));
        parts.sort_by(|a, b| a.label.cmp(&b.label));
        parts
    }

    fn clusters(&self, part: &Part) -> Vec<Part> {
        let groups = cluster::groups(self.seeds, &part.items, self.page, self.page);
        if groups.len() < 2 {
            return Vec::new();
        }
        let named = |items: Vec<usize>| Part {
            label: label::words(self.seeds, &items, &self.everywhere),
            items,
            level: part.level,
        };
        groups.into_iter().map(named).collect()
    }

    /// By name, in parts of nearly the same size.
    fn alphabet(&self, part: &Part) -> Vec<Part> {
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
            let label = label::range(name(items.first()), name(items.last()));
            Part { label, items: items.to_vec(), level: part.level }
        };
        (0..count).map(chunk).collect()
    }
}

/// Puts neighbouring namespaces into a bounded number of groups of about the same size.
fn together(groups: Vec<(&str, Vec<usize>)>, buckets: usize, level: usize) -> Vec<Part> {
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
        Part { label: label::range(first, last), items, level }
    };
    parts.into_values().map(part).collect()
}
