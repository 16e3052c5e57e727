//! Recognises queries of graphs, documents and logs that only read: Cypher, GQL, SPARQL, KQL, Flux,
//! InfluxQL, AQL, Gremlin, XPath and XQuery.
//!
//! The language is not known, so a text has to be harmless in each of them. It is read token by
//! token:
//!
//! - where the languages differ (comments, escapes, markup), it is refused;
//! - a word that changes something or reaches out in one of the languages is refused, unless it is
//!   the name of a property, a label or a member;
//! - a word behind an operand has to be one with which the languages say what to read, so that no
//!   unknown clause can follow;
//! - a call is one of a known function that computes, of a known step, or of a known procedure that
//!   tells what the database holds;
//! - a text in quotes is no address and no part of one.

mod tokens;
mod words;

use serde_json::Value;

use super::each_text_passes;
use tokens::{Kind, Token, tokens};

/// Whether a query, or each of a list, only reads. Whatever else may hold a query does not; `None`
/// for values that hold none.
pub(super) fn is_reading(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(_) | Value::Number(_) => Some(false),
        _ => each_text_passes(value, only_reads),
    }
}

fn only_reads(text: &str) -> bool {
    tokens(text).is_some_and(|tokens| Query { tokens: &tokens }.only_reads())
}

struct Query<'q, 't> {
    tokens: &'q [Token<'t>],
}

impl Query<'_, '_> {
    fn only_reads(&self) -> bool {
        let builds_texts = self.tokens.iter().enumerate().any(|(n, token)| {
            const BUILDS: [&str; 7] =
                ["concat", "strcat", "string-join", "join", "iri", "uri", "group_concat"];
            self.is_called(n) && BUILDS.contains(&lower(token).as_str())
        });
        self.begins_well()
            && self.tokens.iter().enumerate().all(|(n, token)| match token.kind {
                Kind::Word => self.is_harmless_word(n, token),
                Kind::Quoted => self.is_harmless_text(n, token, builds_texts),
                Kind::Number => self.may_follow(n) && !self.is_before(n, "("),
                // `$f(x)` calls what the variable names.
                Kind::Variable => {
                    let calls = token.text.starts_with('$')
                        && self.is_before(n, "(")
                        && self.at(n, 1).is_some_and(|next| next.adjoins);
                    self.may_follow(n) && !calls
                }
                Kind::Iri => !self.is_behind(n, "from") && !self.is_behind(n, "named"),
                // Where it is no comment, a bracket behind it would belong to its last word.
                Kind::Comment => {
                    let continued = ["(", ".", ":", "{", "["];
                    !continued.iter().any(|mark| self.is_before(n, mark))
                        && !split(token.text).any(|word| words::changes(&word))
                }
                Kind::Symbol => !(token.text == "{" && self.is_behind(n, "q")),
            })
    }

    fn at(&self, n: usize, ahead: usize) -> Option<&Token<'_>> {
        self.tokens.get(n.checked_add(ahead)?)
    }

    fn before(&self, n: usize, behind: usize) -> Option<&Token<'_>> {
        self.tokens.get(n.checked_sub(behind)?)
    }

    fn is_before(&self, n: usize, text: &str) -> bool {
        self.at(n, 1).is_some_and(|next| next.text == text)
    }

    fn is_behind(&self, n: usize, word: &str) -> bool {
        self.before(n, 1).is_some_and(|last| last.text.eq_ignore_ascii_case(word))
    }

    fn is_called(&self, n: usize) -> bool {
        self.is_before(n, "(")
    }

    /// A query begins with a word for reading, a path, or the name of a table and a pipe.
    fn begins_well(&self) -> bool {
        let start = self.tokens.iter().position(|token| token.kind != Kind::Comment);
        let Some((n, first)) = start.and_then(|n| Some((n, self.tokens.get(n)?))) else {
            return true;
        };
        let next = self.at(n, 1).map_or("", |next| next.text);
        match first.kind {
            Kind::Word if words::reads(&lower(first)) || lower(first) == "call" => true,
            Kind::Word | Kind::Quoted => {
                matches!(next, "" | "|" | "/" | "//" | "[" | "(" | ":")
                    || first.text == "g" && next == "."
            }
            Kind::Symbol => matches!(first.text, "(" | "/" | "//" | "{" | "@" | "*" | "["),
            Kind::Variable | Kind::Iri => true,
            Kind::Number | Kind::Comment => false,
        }
    }

    fn is_harmless_word(&self, n: usize, token: &Token<'_>) -> bool {
        let word = lower(token);
        let is_member = self.is_name_of_member(n, token);
        if self.is_called(n) {
            return self.is_harmless_call(n, &word);
        }
        if word == "call" && !is_member {
            return self.tells_schema(n);
        }
        // Its own label service is within Wikidata, unless the query says otherwise.
        if word == "service" && !is_member {
            return self.is_label_service(n);
        }
        if !is_member && split(token.text).any(|part| words::changes(&part)) {
            return false;
        }
        // `from(host: …)` of Flux asks another database.
        let is_flux_option = matches!(word.as_str(), "host" | "token" | "org" | "orgid")
            && self.is_before(n, ":")
            && self.tokens.first().is_some_and(|first| lower(first) == "from");
        if is_flux_option {
            return false;
        }
        // `FROM <address>` may be fetched.
        if self.is_behind(n, "from") && (word == "named" || self.is_prefix(n)) {
            return false;
        }
        if self.is_behind(n, "|") || self.is_behind(n, "|>") {
            let ends_alternative = || {
                self.at(n, 1).is_some_and(|next| {
                    matches!(
                        next.text,
                        "]" | ")" | "|" | "*" | "{" | ":" | "/" | "^" | "[" | "+" | "."
                    )
                })
            };
            return words::is_piped(&word) || self.is_prefix(n) || ends_alternative();
        }
        is_member || words::reads(&word) || self.may_follow(n)
    }

    /// Whether a word is a label, a property, or the name of a member or an argument.
    fn is_name_of_member(&self, n: usize, token: &Token<'_>) -> bool {
        let is_property =
            self.is_behind(n, ".") && self.before(n, 1).is_some_and(|mark| mark.adjoins);
        token.adjoins && (self.is_behind(n, ":") || is_property) || self.is_prefix(n)
    }

    /// Whether a colon stands directly behind.
    fn is_prefix(&self, n: usize) -> bool {
        self.at(n, 1).is_some_and(|next| next.text == ":" && next.adjoins)
    }

    /// Whether an operand may stand here: behind an operator, a bracket that opens, a word for
    /// reading, or as a part of a triple.
    fn may_follow(&self, n: usize) -> bool {
        let Some(last) = self.before(n, 1) else { return true };
        let behind = n.saturating_sub(1);
        let is_word = self.tokens.get(n).is_some_and(|token| token.kind == Kind::Word);
        let is_variable = self.tokens.get(n).is_some_and(|token| token.kind == Kind::Variable);
        match (last.kind, last.text) {
            (Kind::Word, _) => {
                let word = lower(last);
                words::reads(&word)
                    || word == "call"
                    || self.is_prefix(behind)
                    || self.is_local_name(behind) && !is_word
            }
            (Kind::Variable | Kind::Iri, _) => !is_word,
            (Kind::Quoted | Kind::Number, _) => false,
            // What is behind the first line.
            (Kind::Comment, _) => behind == 0,
            (Kind::Symbol, "*") => !self.is_wildcard(behind),
            (Kind::Symbol, ")" | "}" | "]") => is_variable,
            (Kind::Symbol, ";") => !is_word || self.is_let() && self.is_before(n, "|"),
            (Kind::Symbol, _) => true,
        }
    }

    /// Whether it gives something a name first, as KQL does.
    fn is_let(&self) -> bool {
        self.tokens.first().is_some_and(|first| lower(first) == "let")
    }

    fn is_local_name(&self, n: usize) -> bool {
        self.tokens.get(n).is_some_and(|token| token.adjoins) && self.is_behind(n, ":")
    }

    /// Whether a star stands for everything, and multiplies nothing.
    fn is_wildcard(&self, n: usize) -> bool {
        self.before(n, 1).is_none_or(|last| match last.kind {
            Kind::Word => words::reads(&lower(last)),
            Kind::Symbol => !matches!(last.text, ")" | "]" | "}"),
            _ => false,
        })
    }

    /// Whether a text is no address and no part of one that is put together.
    fn is_harmless_text(&self, n: usize, token: &Token<'_>, builds_texts: bool) -> bool {
        let joins = |near: Option<&Token<'_>>| {
            near.is_some_and(|near| matches!(near.text, "+" | "||" | "&"))
        };
        let is_joined = builds_texts || joins(self.before(n, 1)) || joins(self.at(n, 1));
        let is_part = is_joined && token.text.contains(['/', '\\']);
        let last = self.before(n, 1).map(|last| last.kind);
        let follows = self.may_follow(n) || matches!(last, Some(Kind::Variable | Kind::Iri));
        !token.text.contains("://") && !is_part && follows && !self.is_called(n)
    }

    /// Whether a call does no more than compute or read.
    fn is_harmless_call(&self, n: usize, word: &str) -> bool {
        let traverses = || {
            let is_traversal = self.tokens.first().is_some_and(|first| first.text == "g");
            is_traversal && words::traverses(word)
        };
        // Behind the dot at the end of a triple: `?a ?b ?c . FILTER(…)`.
        let adjoins = self.tokens.get(n).is_some_and(|token| token.adjoins);
        if self.is_behind(n, ".") && !adjoins && words::reads(word) {
            return true;
        }
        let name = self.full_name(n);
        if let Some((first, _)) = name.split_once('.') {
            return first.is_empty() && traverses()
                || matches!(first, "g" | "__" | "p")
                    && name.matches('.').count() == 1
                    && traverses()
                || words::computes(&name)
                || words::tells(&name) && self.is_call_of(n, &name);
        }
        if self.is_behind(n, ":") && adjoins {
            let prefix = self.before(n, 2).map(lower).unwrap_or_default();
            return prefix == "fn" && words::computes(word)
                || words::computes(&format!("{prefix}:{word}"));
        }
        if self.is_behind(n, "call") {
            return words::tells(word);
        }
        // Flux writes with `to(…)`.
        let is_known = words::computes(word) || words::reads(word) && word != "to";
        is_known && !words::changes(word) || traverses()
    }

    /// The name that ends with this word, in lower case. It begins with a dot where it is that of a step.
    fn full_name(&self, n: usize) -> String {
        const LONGEST: usize = 6;
        let mut name = self.tokens.get(n).map(lower).unwrap_or_default();
        let mut at = n;
        for _ in 0..LONGEST {
            if !self.is_behind(at, ".") {
                break;
            }
            let owner = self.before(at, 2).filter(|token| token.kind == Kind::Word);
            let Some(owner) = owner else {
                // Of what the call before gave, or of a text or a number, which have no steps.
                let is_step = self.before(at, 2).is_some_and(|token| token.text == ")");
                return if is_step && at == n { format!(".{name}") } else { "?.".to_owned() };
            };
            name = format!("{}.{name}", lower(owner));
            at = at.saturating_sub(2);
        }
        name
    }

    /// Whether the name, with its dots, stands directly behind `CALL`.
    fn is_call_of(&self, n: usize, name: &str) -> bool {
        let start = n.saturating_sub(name.matches('.').count().saturating_mul(2));
        self.is_behind(start, "call")
    }

    /// Whether a procedure is called that only tells what the database holds.
    fn tells_schema(&self, n: usize) -> bool {
        let after = self.tokens.get(n.saturating_add(1)..).unwrap_or_default();
        let open = after.iter().position(|token| token.text == "(");
        let name = after.get(..open.unwrap_or_default()).unwrap_or_default();
        let is_plain = name.iter().all(|token| token.kind == Kind::Word || token.text == ".");
        let name: String = name.iter().map(lower).collect();
        is_plain && words::tells(&name)
    }

    /// Whether it is `SERVICE wikibase:label`, of Wikidata's own.
    fn is_label_service(&self, n: usize) -> bool {
        let ahead = |count: usize| self.at(n, count).map_or("", |token| token.text);
        let is_label = ahead(1) == "wikibase" && ahead(2) == ":" && ahead(3) == "label";
        let is_redefined = self.tokens.windows(2).any(|two| {
            let [a, b] = two else { return false };
            a.text.eq_ignore_ascii_case("prefix") && lower(b) == "wikibase"
        });
        is_label && !is_redefined
    }
}

fn lower(token: &Token<'_>) -> String {
    token.text.to_lowercase()
}

/// The words of a text, in lower case.
fn split(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests;
