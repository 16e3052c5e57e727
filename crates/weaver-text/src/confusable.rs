//! Detects names that look alike, by the skeletons of UTS 39.
//!
//! Two names with the same [`skeleton`] look alike (`pay` with a Cyrillic `а`, `fi1e` and `file`).
//! [`folded_skeleton`] ignores case as well. Use skeletons to refuse a name that resembles another,
//! never to look up or store one: identifiers are compared exactly.

use unicode_security::confusable_detection::skeleton as uts39;

/// The UTS 39 skeleton of a name, case kept. Linear time.
///
/// ```
/// use weaver_text::confusable::skeleton;
///
/// assert_eq!(skeleton("p\u{430}y.send"), skeleton("pay.send"));
/// assert_eq!(skeleton("fi1es.read"), skeleton("files.read"));
/// assert_ne!(skeleton("files.read"), skeleton("files.write"));
/// ```
pub fn skeleton(name: &str) -> String {
    uts39(name).collect()
}

/// The skeleton of the lower-case name: equal for `getUser` and `getuser`.
pub fn folded_skeleton(name: &str) -> String {
    skeleton(&name.to_lowercase())
}

/// Whether two names look alike, with or without regard to case. True for equal names.
pub fn are_confusable(one: &str, other: &str) -> bool {
    one == other
        || skeleton(one) == skeleton(other)
        || folded_skeleton(one) == folded_skeleton(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_alike() {
        let pairs = [
            ("pay.send", "p\u{430}y.send"),
            ("Issue", "lssue"),
            ("files.v10", "files.vlO"),
            ("getUser", "getuser"),
            ("\u{410}lpha", "alpha"),
            ("modern", "rnodern"),
            ("read", "\u{ff52}ead"),
            ("caf\u{e9}", "cafe\u{301}"),
        ];
        for (one, other) in pairs {
            assert!(are_confusable(one, other) && are_confusable(other, one), "{one} {other}");
        }
    }

    #[test]
    fn names_that_differ_to_the_eye_are_not() {
        let names = [
            "a.b", "a.c", "a_b", "a-b", "ab", "fs.read", "fs.reads", "list", "lists", "tool_2",
            "tool_3", "日本", "本日", "",
        ];
        for (at, one) in names.iter().enumerate() {
            for (other_at, other) in names.iter().enumerate() {
                assert_eq!(are_confusable(one, other), at == other_at, "{one} {other}");
            }
        }
    }
}
