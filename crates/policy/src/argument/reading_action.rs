//! Recognises what a call asks for by one word: `list`, `getItems`, `describe-instances`.

use serde_json::Value;

use super::change::takes_away;
use super::{each_passes, is_listed};

/// Whether the value of an argument that says what is done asks for something to be read or computed. So
/// must each of a list; an item that is an object says it by its name. `None` for values that say nothing.
pub(super) fn is_reading(value: &Value) -> Option<bool> {
    if value.as_str().is_some_and(|text| text.trim().is_empty()) {
        return None;
    }
    each_passes(value, |item| {
        let named = ["name", "action", "operation", "op"].iter().find_map(|key| item.get(key));
        named.unwrap_or(item).as_str().is_some_and(reads)
    })
}

pub(super) fn reads(text: &str) -> bool {
    // What starts a second command, or calls something.
    let is_plain = !text.contains([';', '|', '&', '`', '$', '(', '<', '>', '\n', '\r']);
    let words = words(text);
    let is_known = |word: &String| is_listed(word, READING);
    is_plain
        && words.first().is_some_and(is_known)
        && !words.iter().any(|word| takes_away(word) || changes(word))
}

/// The words of a name or a text, in lower case: at white space, marks, and capitals behind small letters.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        let begins = c.is_uppercase() && (before.is_lowercase() || before.is_numeric());
        if !c.is_alphanumeric() || begins {
            found.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = found.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    found.retain(|word| !word.is_empty());
    found
}

/// Whether a word changes something or reaches somebody.
fn changes(word: &str) -> bool {
    const CHANGES: &str = "\
        apply approve call cancel close commit create deploy disable edit enable eval exec \
        execute grant import insert install invoke merge modify move overwrite patch pay post \
        publish push put rename replace restart run save send set start stop transfer update \
        upload write";
    is_listed(word, &[CHANGES])
}

/// Words that ask for something, and names of what is computed and of ways to search and to show.
const READING: &[&str] =
    &["all analyze and any ask auto average avg basic batch between bm25 brief calculate \
     categories check compact compare contains content convert correlation count cosine csv \
     date decode default describe detailed determinant diff difference discover discovery \
     distance distinct divide divisors doc docs eigenvalues encode equals estimate exact exists \
     explain extended factor factorial fast fetch filter find format fts full fuzzy gcd get gt \
     gte has hash head help histogram history html hybrid id in info inspect inverse invert iqr \
     is json kendall kurtosis lcm levenshtein like linear list log logs lookup lt lte markdown \
     match max maximum mean median min minimal minimum mode multiply none normal not now open \
     options or outline parse pearson percentile power preview prime product quantile query \
     quick range rank raw read regex schema search select semantic show similarity simple size \
     skewness spearman sqrt stat statistics stats status std stdev strict subtract sum \
     summarize summary tail test text timestamp top totient trace transpose tree usage validate \
     variance verbose verify version view walk xml zscore z brzycki epley lander linear \
     lombardi oconner wathan driving walking bicycling transit"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_reads_is_told_by_its_first_word() {
        for value in [
            json!("list"),
            json!("GetItems"),
            json!(" describe-instances"),
            json!("GET"),
            json!(["mean", "z_score"]),
            json!([{ "name": "find", "arguments": {} }]),
        ] {
            assert_eq!(is_reading(&value), Some(true), "{value}");
        }
        for value in [
            json!("delete"),
            json!(" delete"),
            json!("\ndelete"),
            json!("bulkDelete"),
            json!("hard-reset"),
            json!("write"),
            json!("TerminateInstances"),
            json!("RunInstances"),
            json!("put-user-policy"),
            json!("eth_sendTransaction"),
            json!("cmd.run"),
            json!("repo delete x --yes"),
            json!("list; rm -rf /"),
            json!("search_and_replace"),
            json!("get-and-delete"),
            json!("frobnicate"),
            json!(["list", "delete"]),
            json!([{ "name": "drop" }]),
            json!({ "list": 1 }),
        ] {
            assert_eq!(is_reading(&value), Some(false), "{value}");
        }
        for value in [json!(null), json!(5), json!(""), json!([])] {
            assert_eq!(is_reading(&value), None, "{value}");
        }
    }
}
