//! Groups items by their words.
//!
//! Farthest-first traversal (Gonzalez 1985, "Clustering to minimize the maximum intercluster
//! distance"): each new centre is the item that is farthest from all centres so far, and each item
//! joins its nearest centre. It takes one pass per centre, and starts at the first item instead of a
//! random one, so that equal catalogs give equal graphs.

use super::seed::{FeatureTable, WordId};

/// Puts items into at most `max_groups` groups.
pub(super) fn farthest_first(
    seeds: &FeatureTable<'_>,
    items: &[usize],
    max_groups: usize,
    page_size: usize,
) -> Vec<Vec<usize>> {
    let group_count = items.len().div_ceil(page_size).clamp(2, max_groups);
    let words = |index: usize| seeds.get(index).map_or(&[][..], |seed| seed.words.as_slice());
    let Some(first) = items.first() else { return Vec::new() };
    // For each item, the similarity to its nearest centre, and the group of that centre.
    let mut nearest: Vec<(u32, usize)> = vec![(0, 0); items.len()];
    let mut centre = *first;
    for group in 0..group_count {
        let centre_words = words(centre);
        let mut farthest = (u32::MAX, centre);
        for (index, near) in items.iter().zip(&mut nearest) {
            let similarity = jaccard(centre_words, words(*index));
            if group == 0 || similarity > near.0 {
                *near = (similarity, group);
            }
            if near.0 < farthest.0 {
                farthest = (near.0, *index);
            }
        }
        if farthest.0 == IDENTICAL {
            break;
        }
        centre = farthest.1;
    }
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); group_count];
    for (index, (_, group)) in items.iter().zip(nearest) {
        if let Some(group) = groups.get_mut(group) {
            group.push(*index);
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// The similarity of equal sets.
const IDENTICAL: u32 = 1 << 16;

/// The Jaccard similarity of two sorted sets, in units of 1/65,536.
fn jaccard(a: &[WordId], b: &[WordId]) -> u32 {
    let (mut x, mut y, mut shared) = (a.iter().peekable(), b.iter().peekable(), 0);
    while let (Some(one), Some(other)) = (x.peek(), y.peek()) {
        match one.cmp(other) {
            std::cmp::Ordering::Less => drop(x.next()),
            std::cmp::Ordering::Greater => drop(y.next()),
            std::cmp::Ordering::Equal => {
                shared += 1;
                x.next();
                y.next();
            }
        }
    }
    let union = a.len() + b.len() - shared;
    // Two items without words count as dissimilar, because they have nothing in common.
    u32::try_from((shared << 16).checked_div(union).unwrap_or(0)).unwrap_or(IDENTICAL)
}
