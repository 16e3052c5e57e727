//! The known word nearest to a misspelt one.
//!
//! The distance counts insertions, deletions, replacements and swaps of neighbours, each letter edited
//! at most once (*optimal string alignment*, after Damerau, *A technique for computer detection and
//! correction of spelling errors*, 1964): the four slips that make most misspellings of one letter.
//! Three rows of the table are kept, and words of very different length are not compared.

/// Maximum length of words that are compared, in characters.
const MAX_CHARS: usize = 64;

/// The word of `known` nearest to `word`, if its distance is at most one edit for words of up to five
/// characters, or a third of the length of longer ones. An edit inserts, deletes or replaces a
/// character, or swaps two neighbours. Case is ignored. Ties go to the first in alphabetical order.
///
/// ```
/// use weaver_text::suggest::nearest;
/// assert_eq!(nearest("requre", ["require", "match"]), Some("require"));
/// assert_eq!(nearest("colour", ["require", "match"]), None);
/// ```
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = characters(word)?;
    let limit = (word.len() / 3).max(1);
    known
        .into_iter()
        .filter_map(|candidate| {
            let other = characters(candidate)?;
            let far = word.len().abs_diff(other.len()) > limit;
            let edits = if far { return None } else { distance(&word, &other) };
            (edits <= limit).then_some((edits, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// The lower-case characters of a word; `None` if it is empty or too long.
fn characters(word: &str) -> Option<Vec<char>> {
    let chars: Vec<char> = word.chars().take(MAX_CHARS + 1).flat_map(char::to_lowercase).collect();
    (!chars.is_empty() && chars.len() <= MAX_CHARS).then_some(chars)
}

/// The optimal string alignment distance, computed row by row.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut last_a = None;
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        let mut left = i + 1;
        row.push(left);
        let mut last_b = None;
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let mut cost = (at(&above, j) + usize::from(x != y)).min(at(&above, j + 1) + 1);
            cost = cost.min(left + 1);
            if last_a == Some(y) && last_b == Some(x) && j > 0 {
                cost = cost.min(at(&before, j - 1) + 1);
            }
            row.push(cost);
            left = cost;
            last_b = Some(y);
        }
        last_a = Some(x);
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let d = |a: &str, b: &str| distance(&characters(a).unwrap(), &characters(b).unwrap());
        assert_eq!(d("requre", "require"), 1);
        assert_eq!(d("mathc", "match"), 1);
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("abc", "abc"), 0);
        assert_eq!(d("a", "xyz"), 3);
    }

    #[test]
    fn the_nearest_wins_and_ties_are_alphabetical() {
        assert_eq!(nearest("role", ["rules", "roles", "rung"]), Some("roles"));
        assert_eq!(nearest("cap", ["map", "gap"]), Some("gap"));
        assert_eq!(nearest("REQUIRE", ["require"]), Some("require"));
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest(&"a".repeat(9999), ["a"]), None);
    }
}
