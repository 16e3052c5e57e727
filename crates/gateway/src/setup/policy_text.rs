//! Edits of a policy's text that leave all other bytes as they are.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::documents::toml_string;
use super::local_writes::RuleTexts;

/// The entry of a table.
pub(super) fn table_entry<'t, 'i>(
    table: &'t DeTable<'i>,
    name: &str,
) -> Option<&'t Spanned<DeValue<'i>>> {
    table.iter().find(|(key, _)| key.get_ref().as_ref() == name).map(|(_, value)| value)
}

/// Applies `read` to the rule of this name.
pub(super) fn find_rule<T>(
    text: &str,
    name: &str,
    read: impl FnOnce(&DeTable<'_>) -> Option<T>,
) -> Option<T> {
    let document = DeTable::parse(text).ok()?;
    let rules = table_entry(document.get_ref(), "rules")?;
    let DeValue::Array(rules) = rules.get_ref() else { return None };
    let mut tables = rules.iter().filter_map(|rule| rule.get_ref().as_table());
    let is_named = |rule: &&DeTable<'_>| {
        table_entry(rule, "name").and_then(|value| value.get_ref().as_str()) == Some(name)
    };
    read(tables.find(is_named)?)
}

/// The offset behind the line of an offset.
fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |end| at.saturating_add(end).saturating_add(1))
}

fn replaced(text: &str, span: Range<usize>, by: &str) -> Option<String> {
    let (before, after) = (text.get(..span.start)?, text.get(span.end..)?);
    Some(format!("{before}{by}{after}"))
}

/// Inserts lines below the version.
pub(super) fn below_version(text: &str, lines: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let version = table_entry(document.get_ref(), "version")?.span();
    let at = line_end(text, version.end);
    replaced(text, at..at, lines)
}

/// Inserts a line below the name of a rule.
pub(super) fn below_name(text: &str, rule: &str, line: &str) -> Option<String> {
    let name = find_rule(text, rule, |rule| Some(table_entry(rule, "name")?.span()))?;
    let at = line_end(text, name.end);
    replaced(text, at..at, &format!("{line}\n"))
}

/// The text without a rule that begins with a line `[[rules]]`, and without the comment above it.
pub(super) fn without_rule(text: &str, rule: &str) -> Option<String> {
    let name = find_rule(text, rule, |rule| Some(table_entry(rule, "name")?.span()))?;
    let start = text.get(..name.start)?.rfind("[[rules]]")?;
    let is_comment = |line: &str| line.starts_with('#');
    let above = text.get(..start)?.split_inclusive('\n').rev();
    let comment: usize = above.take_while(|line| is_comment(line)).map(str::len).sum();
    let body = line_end(text, name.end);
    let is_header = |line: &str| line.starts_with('[');
    let own = text.get(body..)?.split_inclusive('\n').take_while(|line| !is_header(line));
    let mut own: Vec<&str> = own.collect();
    if body.saturating_add(own.iter().map(|line| line.len()).sum()) < text.len() {
        // The comment above the next header is about that.
        while own.last().is_some_and(|line| is_comment(line)) {
            own.pop();
        }
    }
    let end = body.saturating_add(own.iter().map(|line| line.len()).sum());
    let mut start = start.saturating_sub(comment);
    // At the end of the text no blank line is left over.
    if end == text.len() && text.get(..start)?.ends_with("\n\n") {
        start = start.saturating_sub(1);
    }
    replaced(text, start..end, "")
}

/// The text in which a rule names a capability no longer. A rule that names no other is removed.
pub(super) fn without_capability(text: &str, rule: &str, capability: &str) -> Option<String> {
    let (span, others) = find_rule(text, rule, |rule| {
        let matches = table_entry(rule, "match")?.get_ref().as_table()?;
        let named = table_entry(matches, "capability")?;
        let names: Vec<String> = match named.get_ref() {
            DeValue::Array(items) => {
                let names = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
                names.collect::<Option<_>>()?
            }
            name => vec![name.as_str()?.to_owned()],
        };
        let others: Vec<String> = names.into_iter().filter(|name| name != capability).collect();
        Some((named.span(), others))
    })?;
    if others.is_empty() {
        return without_rule(text, rule);
    }
    let list: Vec<String> = others.iter().map(|name| toml_string(name)).collect();
    replaced(text, span, &format!("[{}]", list.join(", ")))
}

/// The text with these rules at its end, and their lists in its table of lists.
pub(super) fn with_rules(mut text: String, rules: &RuleTexts) -> String {
    const LISTS: &str = "\n[lists]\n";
    if !text.ends_with('\n') {
        text.push('\n');
    }
    match text.find(LISTS) {
        _ if rules.lists.is_empty() => text.push_str(&rules.rules),
        Some(at) => {
            text.insert_str(at.saturating_add(LISTS.len()), &rules.lists);
            text.push_str(&rules.rules);
        }
        None => text.push_str(&rules.joined()),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "version = 1 # one\n\n[principals.a]\n\n# About one.\n[[rules]]\nname = \"one\"\n\
        match = { capability = [\"a.b\", \"a.c\"] }\neffect = \"deny\"\n\n# About two.\n[[rules]]\n\
        name = \"two\"\nmatch = { capability = \"a.b\" }\neffect = \"deny\"\n";

    #[test]
    fn a_rule_goes_with_its_comment_and_leaves_that_of_the_next() {
        let without_one = without_rule(TEXT, "one").unwrap();
        let (before, rest) = TEXT.split_once("# About one.").unwrap();
        let (_, two) = rest.split_once("# About two.").unwrap();
        assert_eq!(without_one, format!("{before}# About two.{two}"));
        let without_two = without_rule(TEXT, "two").unwrap();
        assert_eq!(without_two, TEXT.split("\n# About two.").next().unwrap());
        assert_eq!(without_rule(TEXT, "three"), None);
    }

    #[test]
    fn a_capability_goes_out_of_a_rule_and_the_last_one_takes_it_along() {
        let one = without_capability(TEXT, "one", "a.b").unwrap();
        assert_eq!(one, TEXT.replace("[\"a.b\", \"a.c\"]", "[\"a.c\"]"));
        assert_eq!(without_capability(TEXT, "two", "a.b"), without_rule(TEXT, "two"));
    }

    #[test]
    fn lines_go_below_the_version_and_below_a_name() {
        let text = below_version(TEXT, "more = 1\n").unwrap();
        assert!(text.starts_with("version = 1 # one\nmore = 1\n\n"), "{text}");
        let text = below_name(TEXT, "two", "enforcement = \"enforce\"").unwrap();
        assert!(text.contains("name = \"two\"\nenforcement = \"enforce\"\nmatch"), "{text}");
    }
}
