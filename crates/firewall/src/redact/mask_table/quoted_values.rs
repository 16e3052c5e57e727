//! Finds values in error messages, which quote them in various ways: escaped, within a JSON
//! pointer, or truncated.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use weaver_types::JsonPointer;

use super::disclosed_values::MIN_PIECE_BYTES;

/// How many bytes of a value identify it, since messages truncate long values.
const MIN_QUOTED_BYTES: usize = 8;

/// Replaces values by their masks. Each value is searched in all of [`quoted_forms`]; of
/// overlapping matches, the one that begins first determines the mask.
pub(super) fn mask_quoted<'t, 'm>(
    text: &'t str,
    values: impl Iterator<Item = (String, &'m str)>,
) -> Cow<'t, str> {
    let mut found: Vec<(Range<usize>, &str)> = Vec::new();
    for (value, mask) in values.filter(|(value, _)| value.len() >= MIN_PIECE_BYTES) {
        for form in quoted_forms(&value) {
            found.extend(occurrences(text, &form).map(|range| (range, mask)));
        }
    }
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by(|(a, _), (b, _)| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (range, mask) in found {
        if range.start >= at {
            out.push_str(text.get(at..range.start).unwrap_or_default());
            out.push_str(mask);
        }
        at = at.max(range.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// The forms in which messages quote a value: verbatim, escaped by `Debug` or JSON, and as part of
/// a JSON pointer, itself possibly escaped.
fn quoted_forms(value: &str) -> Vec<String> {
    let pointer = JsonPointer::escape_step(value);
    let mut forms = Vec::new();
    for plain in [value.to_owned(), pointer] {
        let json = Value::from(plain.as_str()).to_string();
        forms.extend([
            plain.escape_debug().to_string(),
            plain.escape_default().to_string(),
            json.trim_matches('"').to_owned(),
            plain,
        ]);
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Where a form occurs in a text, in full or truncated after [`MIN_QUOTED_BYTES`].
fn occurrences<'t>(text: &'t str, form: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let head =
        form.get(..form.ceil_char_boundary(MIN_QUOTED_BYTES.min(form.len()))).unwrap_or(form);
    text.match_indices(head).map(|(start, _)| {
        let rest = text.get(start..).unwrap_or_default();
        let same = rest.chars().zip(form.chars()).take_while(|(a, b)| a == b);
        start..start + same.map(|(c, _)| c.len_utf8()).sum::<usize>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_hidden_however_a_message_quotes_it() {
        let value = "plo/ver~\"and\"\u{e4}\u{200b}heron";
        let hidden =
            |text: &str| mask_quoted(text, [(value.to_owned(), "[X_1]")].into_iter()).into_owned();
        for form in quoted_forms(value) {
            assert_eq!(hidden(&format!("at `{form}`: no")), "at `[X_1]`: no");
            let cut: String = form.chars().take(12).collect();
            assert_eq!(hidden(&format!("at `{cut}...")), "at `[X_1]...");
        }
        assert_eq!(hidden("plo/ver"), "plo/ver", "less than a head");
        assert!(matches!(
            mask_quoted("plo", [(value.to_owned(), "[X_1]")].into_iter()),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn of_values_that_overlap_nothing_is_seen() {
        let values = [("abcd".to_owned(), "[A_1]"), ("abcd-efgh".to_owned(), "[B_1]")];
        assert_eq!(mask_quoted("x abcd-efgh abcd", values.into_iter()), "x [B_1] [A_1]");
        let values = [("abcd-ef".to_owned(), "[A_1]"), ("d-efgh".to_owned(), "[B_1]")];
        assert_eq!(mask_quoted("x abcd-efgh y", values.into_iter()), "x [A_1] y");
        let own = [("MASK".to_owned(), "[MASK_1]"), ("heron".to_owned(), "[MASK_2]")];
        assert_eq!(mask_quoted("heron MASK", own.into_iter()), "[MASK_2] [MASK_1]");
    }
}
