//! Names that a reader takes for one another.
//!
//! [`skeleton`] is that of UTS 39: two names with the same skeleton look alike (`pay` with a
//! Cyrillic `а`, `fi1e` and `file`). [`folded`] is the same regardless of case. Use them to refuse
//! a second name beside a first, never to look one up or to store it: identifiers are compared as
//! they are.

use unicode_security::confusable_detection::skeleton as uts39;

/// The skeleton of a name as it is written. Linear time.
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

/// The skeleton of a name in lower case: `getUser` and `getuser` have the same.
pub fn folded(name: &str) -> String {
    skeleton(&name.to_lowercase())
}

/// Whether two names may be taken for one another. A name is like itself.
pub fn alike(one: &str, other: &str) -> bool {
    one == other || skeleton(one) == skeleton(other) || folded(one) == folded(other)
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
            assert!(alike(one, other) && alike(other, one), "{one} {other}");
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
                assert_eq!(alike(one, other), at == other_at, "{one} {other}");
            }
        }
    }
}
