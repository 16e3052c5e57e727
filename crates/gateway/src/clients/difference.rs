//! Shows a change of a text as removed and added lines.

use std::cmp::Reverse;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// What stands for a secret.
const MASK: &str = "•••";

/// The change in `diff -u` format, as one hunk from the first to the last differing line. Values in
/// `secrets` are masked, also where the text has them in the form of a JSON string.
#[must_use]
pub fn unified_diff(name: &str, old: &str, new: &str, secrets: &[String]) -> String {
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old.lines().collect(), new.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = old_lines.iter().zip(&new_lines).take_while(same).count();
    let shorter = old_lines.len().min(new_lines.len()) - head;
    let tail =
        old_lines.iter().rev().zip(new_lines.iter().rev()).take(shorter).take_while(same).count();
    let (old_end, new_end) = (old_lines.len() - tail, new_lines.len() - tail);
    if head == old_end && head == new_end {
        return String::new();
    }
    let start = head.saturating_sub(CONTEXT);
    let after = tail.min(CONTEXT);
    let mut out = format!(
        "--- {name}\n+++ {name}\n@@ -{},{} +{},{} @@\n",
        start + 1,
        old_end + after - start,
        start + 1,
        new_end + after - start
    );
    let mut secrets: Vec<String> =
        secrets.iter().flat_map(|secret| [secret.clone(), in_json(secret)]).collect();
    // A secret may be a part of another one.
    secrets.sort_by_key(|secret| Reverse(secret.len()));
    let mut put = |sign: char, lines: &[&str]| {
        for line in lines {
            let mask = |line: String, secret: &String| line.replace(secret.as_str(), MASK);
            let shown = secrets.iter().fold((*line).to_owned(), mask);
            out.push_str(&format!("{sign}{shown}\n"));
        }
    };
    put(' ', old_lines.get(start..head).unwrap_or_default());
    put('-', old_lines.get(head..old_end).unwrap_or_default());
    put('+', new_lines.get(head..new_end).unwrap_or_default());
    put(' ', old_lines.get(old_end..old_end + after).unwrap_or_default());
    out
}

/// A text as a JSON string has it, without the quotation marks.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_in_every_form_that_the_text_has() {
        let old = r#""a": "p\"ss\\word", "b": "postgres://u:p@h", "c": "p@h""#;
        let secrets = [r#"p"ss\word"#, "p@h", "postgres://u:p@h"].map(str::to_owned);
        let shown = unified_diff("x", old, "", &secrets);
        assert_eq!(shown.lines().nth(3), Some(r#"-"a": "•••", "b": "•••", "c": "•••""#), "{shown}");
    }

    #[test]
    fn one_hunk_with_its_surroundings_and_no_secret() {
        let old = "a\nb\nc\nd\ntoken-123\nf\ng\n";
        let new = "a\nb\nc\nd\nweaver\nf\ng\n";
        let wanted = "--- x\n+++ x\n@@ -2,6 +2,6 @@\n b\n c\n d\n-•••\n+weaver\n f\n g\n";
        assert_eq!(unified_diff("x", old, new, &["token-123".to_owned()]), wanted);
        assert_eq!(unified_diff("x", old, old, &[]), "");
    }
}
