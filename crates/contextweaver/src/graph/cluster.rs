//! Groups by what items say.
//!
//! Farthest-first traversal (Gonzalez 1985, "Clustering to minimize the maximum intercluster
//! distance"): each new centre is the item that is farthest from all centres so far, and each item
//! goes to its nearest centre. It takes one pass for each centre and starts at the first item
//! instead of a random one, so equal catalogs give equal graphs.

use super::seed::{Seeds, Word};

/// Puts items into at most `most` groups: some that are far from one another are chosen, and each
/// item goes to the nearest of them.
pub(super) fn groups(
    seeds: &Seeds<'_>,
    items: &[usize],
    most: usize,
    page: usize,
) -> Vec<Vec<usize>> {
    let wanted = items.len().div_ceil(page).clamp(2, most);
    let words = |at: usize| seeds.get(at).map_or(&[][..], |seed| seed.words.as_slice());
    let Some(first) = items.first() else { return Vec::new() };
    // For each item how near the nearest chosen one is, and which it is.
    let mut nearest: Vec<(u32, usize)> = vec![(0, 0); items.len()];
    let mut chosen = *first;
    for number in 0..wanted {
        let centre = words(chosen);
        let mut farthest = (u32::MAX, chosen);
        for (at, near) in items.iter().zip(&mut nearest) {
            let likeness = likeness(centre, words(*at));
            if number == 0 || likeness > near.0 {
                *near = (likeness, number);
            }
            if near.0 < farthest.0 {
                farthest = (near.0, *at);
            }
        }
        if farthest.0 == ONE {
            break;
        }
        chosen = farthest.1;
    }
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); wanted];
    for (at, (_, number)) in items.iter().zip(nearest) {
        if let Some(group) = groups.get_mut(number) {
            group.push(*at);
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Wholly alike.
const ONE: u32 = 1 << 16;

/// The words in both among those in either, in units of 1/65,536.
fn likeness(a: &[Word], b: &[Word]) -> u32 {
    let (mut x, mut y, mut both) = (a.iter().peekable(), b.iter().peekable(), 0);
    while let (Some(one), Some(other)) = (x.peek(), y.peek()) {
        match one.cmp(other) {
            std::cmp::Ordering::Less => drop(x.next()),
            std::cmp::Ordering::Greater => drop(y.next()),
            std::cmp::Ordering::Equal => {
                both += 1;
                x.next();
                y.next();
            }
        }
    }
    let all = a.len() + b.len() - both;
    // Two without words are as far from one another as can be: no word says that they are alike.
    u32::try_from((both << 16).checked_div(all).unwrap_or(0)).unwrap_or(ONE)
}
