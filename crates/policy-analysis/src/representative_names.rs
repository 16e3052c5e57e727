//! Representatives of all names, by the patterns that they match.

use std::collections::BTreeSet;
use weaver_policy::Pattern;

/// The maximum number of names for one list of patterns.
const MAX_NAMES: usize = 1_024;

/// Names that produce every combination of matching patterns that any name can produce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepresentativeNames {
    /// The names, those that match the fewest patterns first.
    pub(crate) all: Vec<String>,
    /// False if a combination may be missing.
    pub(crate) complete: bool,
}

/// A text that occurs in no pattern.
fn unused_text(patterns: &[&Pattern]) -> Option<String> {
    let free = ['x', 'q', 'z', 'j', '7', '0', '_', 'Q', 'Z', 'X', '%', '+', '~', '§'];
    let used = |c: char| patterns.iter().any(|pattern| pattern.as_str().contains(c));
    free.into_iter().find(|c| !used(*c)).map(|c| String::from_iter([c, c, c]))
}

/// The fixed prefix and suffix of a pattern with stars, and whether it has fixed parts in between.
fn pattern_ends(pattern: &Pattern) -> Option<(&str, &str, bool)> {
    let (head, rest) = pattern.as_str().split_once('*')?;
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    Some((head, tail, middle.chars().any(|c| c != '*')))
}

/// One name for each pattern, and one that matches none of them except `*`.
pub(crate) fn one_per_pattern(patterns: Vec<&Pattern>) -> BTreeSet<String> {
    let fresh = unused_text(&patterns).unwrap_or_else(|| "xxx".to_owned());
    let mut out: BTreeSet<_> =
        patterns.iter().map(|pattern| pattern.as_str().replace('*', &fresh)).collect();
    out.insert(fresh);
    out
}

/// Representatives of all names for these patterns.
///
/// Which of the patterns with only a fixed prefix and suffix a name matches depends on the longest
/// prefix that it starts with, the longest suffix that it ends with, and whether the two overlap in
/// the name. A name is built for each of these cases, so the list is complete. A pattern with a
/// fixed part between two stars is tried too, but its combinations are not exhausted.
pub(crate) fn representative_names(patterns: &[&Pattern]) -> RepresentativeNames {
    let free = unused_text(patterns);
    let mut complete = free.is_some();
    let free = free.unwrap_or_else(|| "xxx".to_owned());
    let mut out = BTreeSet::new();
    let (mut heads, mut tails) = (BTreeSet::from([""]), BTreeSet::from([""]));
    for pattern in patterns {
        match pattern_ends(pattern) {
            None => {
                out.insert(pattern.as_str().to_owned());
            }
            Some((head, tail, middle)) => {
                complete &= !middle;
                heads.insert(head);
                tails.insert(tail);
                if middle {
                    out.insert(pattern.as_str().replace('*', &free));
                    out.insert(pattern.as_str().replace('*', ""));
                }
            }
        }
    }
    for head in &heads {
        for tail in &tails {
            if out.len() >= MAX_NAMES {
                complete = false;
                break;
            }
            out.insert(format!("{head}{free}{tail}"));
            overlaps(head, tail, &mut out);
        }
    }
    out.remove("");
    let mut all: Vec<_> = out.into_iter().collect();
    all.sort_by_key(|name| patterns.iter().filter(|pattern| pattern.matches(name)).count());
    RepresentativeNames { all, complete }
}

/// The names in which the prefix and the suffix overlap.
fn overlaps(head: &str, tail: &str, out: &mut BTreeSet<String>) {
    for (at, _) in tail.char_indices().skip(1).chain([(tail.len(), ' ')]) {
        if let Some((shared, rest)) = tail.split_at_checked(at)
            && !shared.is_empty()
            && head.ends_with(shared)
        {
            out.insert(format!("{head}{rest}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits(patterns: &[&Pattern], name: &str) -> Vec<bool> {
        patterns.iter().map(|pattern| pattern.matches(name)).collect()
    }

    proptest! {
        #[test]
        fn no_name_brings_about_what_no_representative_does(
            texts in proptest::collection::vec("[ab]{0,3}\\*[ab]{0,3}|[ab]{1,4}", 1..6),
            name in "[abc]{1,7}",
        ) {
            let patterns: Vec<_> = texts.iter().map(|t| Pattern::parse(t).unwrap()).collect();
            let patterns: Vec<_> = patterns.iter().collect();
            let names = representative_names(&patterns);
            prop_assert!(names.complete);
            let expected = fits(&patterns, &name);
            prop_assert!(names.all.iter().any(|n| fits(&patterns, n) == expected), "{name}: {names:?}");
        }
    }

    #[test]
    fn what_is_not_exhausted_says_so() {
        let pattern = Pattern::parse("a*b*c").unwrap();
        assert!(!representative_names(&[&pattern]).complete);
    }
}
