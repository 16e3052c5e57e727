//! Parses rule files, in which people write rules as TOML.

use serde::Deserialize;
use std::sync::Arc;
use weaver_types::{PERSONAL_KINDS, SECRET_KINDS, ValueFamily};

use super::anchor_matcher::MIN_LITERAL_BYTES;
use super::rule::{
    ContextWords, DEFAULT_CONTEXT_BYTES, DEFAULT_REACH, Finder, MAX_LOOKBEHIND, MAX_REACH, Pattern,
    Rule,
};
use super::{classifier, evidence, secrets, spoken, validators};

/// The most rules of one file, and its most bytes.
pub(crate) const MAX_RULES: usize = 2_000;
pub(crate) const MAX_FILE_BYTES: usize = 1 << 20;
/// What is wrong with a rule file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleFileError {
    /// It is not TOML, or has an unknown key.
    #[error("the rule file cannot be read: {0}")]
    Syntax(String),
    /// A rule cannot work as written.
    #[error("rule `{id}`: {problem}")]
    Rule {
        /// The rule.
        id: String,
        /// What is wrong, and what it must be.
        problem: String,
    },
    /// A requested kind of value has no rule.
    #[error("no rule finds values of the kind {0}")]
    Kind(String),
    /// The file is too large.
    #[error("the rule file is too large: {0}")]
    TooLarge(String),
}

impl RuleFileError {
    /// A stable code for the error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "rule_file_syntax",
            Self::Rule { .. } => "rule_invalid",
            Self::Kind(_) => "rule_kind_unknown",
            Self::TooLarge(_) => "rule_file_too_large",
        }
    }

    pub(crate) fn for_rule(id: &str, problem: impl Into<String>) -> Self {
        Self::Rule { id: id.to_owned(), problem: problem.into() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default, rename = "rule")]
    rules: Vec<RuleEntry>,
}

/// One rule as written; [`Rule`] documents the keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    family: Option<String>,
    anchors: Vec<String>,
    pattern: Option<String>,
    /// The name of a grader, in place of a pattern.
    grader: Option<String>,
    #[serde(default = "default_true")]
    boundary: bool,
    #[serde(default = "default_reach")]
    reach: usize,
    #[serde(default)]
    lookbehind: usize,
    #[serde(default)]
    trim: (usize, usize),
    #[serde(default)]
    extend: bool,
    #[serde(default)]
    url: bool,
    needs: Option<char>,
    #[serde(default)]
    needs_password_sign: bool,
    #[serde(default)]
    context_first: bool,
    #[serde(default)]
    validate: Vec<String>,
    entropy: Option<f64>,
    #[serde(default)]
    context: Vec<String>,
    within: Option<usize>,
    #[serde(default)]
    allow: Vec<String>,
    masks: Vec<(String, String)>,
    keeps: Vec<String>,
}

fn default_true() -> bool {
    true
}

fn default_reach() -> usize {
    DEFAULT_REACH
}

/// Parses the rules of a file. Patterns are compiled on first use.
pub(crate) fn parse_rules(text: &str) -> Result<Vec<Rule>, RuleFileError> {
    if text.len() > MAX_FILE_BYTES {
        return Err(RuleFileError::TooLarge(format!("{} of {MAX_FILE_BYTES} bytes", text.len())));
    }
    let file: RuleFile =
        toml::from_str(text).map_err(|error| RuleFileError::Syntax(error.to_string()))?;
    if file.rules.len() > MAX_RULES {
        return Err(RuleFileError::TooLarge(format!("{} of {MAX_RULES} rules", file.rules.len())));
    }
    file.rules.into_iter().map(RuleEntry::into_rule).collect()
}

impl RuleEntry {
    fn into_rule(self) -> Result<Rule, RuleFileError> {
        let wrong = |problem: String| RuleFileError::for_rule(&self.id, problem);
        if !is_identifier(&self.id, b'-') {
            return Err(wrong("an id is made of a-z, 0-9 and `-`".to_owned()));
        }
        if !is_identifier(&self.kind, b'_') {
            return Err(wrong(format!("the type `{}` is not made of a-z, 0-9 and `_`", self.kind)));
        }
        if self.anchors.is_empty() {
            return Err(wrong("`anchors` is empty: name a literal at which a match starts".into()));
        }
        if let Some(short) = self.anchors.iter().find(|a| a.len() < MIN_LITERAL_BYTES) {
            return Err(wrong(format!(
                "the anchor `{short}` must have at least {MIN_LITERAL_BYTES} bytes"
            )));
        }
        if self.reach == 0 || self.reach > MAX_REACH {
            return Err(wrong(format!("`reach` must be from 1 to {MAX_REACH}")));
        }
        if self.lookbehind > MAX_LOOKBEHIND {
            return Err(wrong(format!("`lookbehind` must be at most {MAX_LOOKBEHIND}")));
        }
        let within = self.within.unwrap_or(DEFAULT_CONTEXT_BYTES);
        if within > MAX_REACH {
            return Err(wrong(format!("`within` must be at most {MAX_REACH}")));
        }
        let context = match self.context.as_slice() {
            [] => None,
            words => {
                Some(ContextWords::new(words, within).map_err(|error| wrong(error.to_string()))?)
            }
        };
        let needs = match self.needs {
            Some(sign) if !sign.is_ascii() => {
                return Err(wrong(format!("`needs` is `{sign}`; it must be one ASCII character")));
            }
            needs => needs.and_then(|sign| u8::try_from(sign).ok()),
        };
        let finder = self.finder()?;
        let checks = self.checks()?;
        let family = self.family()?;
        Ok(Rule {
            id: Arc::from(self.id.as_str()),
            kind: Arc::from(self.kind.as_str()),
            family,
            anchors: self.anchors.iter().map(|a| a.to_ascii_lowercase()).collect(),
            finder,
            boundary: self.boundary,
            reach: self.reach,
            lookbehind: self.lookbehind,
            trim: self.trim,
            extend: self.extend,
            url: self.url,
            needs,
            needs_password_sign: self.needs_password_sign,
            context_first: self.context_first,
            checks,
            entropy: self.entropy,
            context,
            allow: self.allow.iter().map(|word| word.to_ascii_lowercase()).collect(),
            masks: self.masks,
            keeps: self.keeps,
        })
    }

    fn finder(&self) -> Result<Finder, RuleFileError> {
        match (&self.pattern, &self.grader) {
            (Some(pattern), None) => {
                Ok(Finder::Pattern(Pattern::with_lookbehind(pattern.clone(), self.lookbehind)))
            }
            (None, Some(name)) if name == "column" => Ok(Finder::Column(secrets::cells_below)),
            (None, Some(name)) if name == "selected_column" => {
                Ok(Finder::Column(secrets::selected_cells))
            }
            (None, Some(name)) if name == "classifier" => Ok(Finder::Values(classifier::values)),
            (None, Some(name)) => spoken::by_name(name)
                .map(Finder::Grader)
                .or_else(|| evidence::by_name(name).map(Finder::Values))
                .ok_or_else(|| {
                    RuleFileError::for_rule(&self.id, format!("there is no grader `{name}`"))
                }),
            _ => Err(RuleFileError::for_rule(&self.id, "it needs a `pattern`")),
        }
    }

    /// The family of the values: that of a known kind; otherwise the one the rule states, or
    /// secret.
    fn family(&self) -> Result<ValueFamily, RuleFileError> {
        let known = ValueFamily::of(&self.kind);
        let Some(word) = &self.family else { return Ok(known) };
        let family = match word.as_str() {
            "secret" => ValueFamily::Secret,
            "personal" => ValueFamily::Personal,
            other => {
                let problem = format!("`family` is `{other}`; write \"secret\" or \"personal\"");
                return Err(RuleFileError::for_rule(&self.id, problem));
            }
        };
        let is_listed = [&PERSONAL_KINDS[..], &SECRET_KINDS[..]].concat().contains(&&*self.kind);
        if is_listed && family != known {
            let problem = format!("values of the type `{}` are {}", self.kind, known.as_str());
            return Err(RuleFileError::for_rule(
                &self.id,
                format!("{problem}; leave `family` out"),
            ));
        }
        Ok(family)
    }

    fn checks(&self) -> Result<Vec<validators::Validator>, RuleFileError> {
        self.validate
            .iter()
            .map(|name| {
                validators::by_name(name).ok_or_else(|| {
                    let near = weaver_text::suggest::nearest(name, validators::names());
                    let hint =
                        near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                    RuleFileError::for_rule(
                        &self.id,
                        format!("there is no validator `{name}`{hint}"),
                    )
                })
            })
            .collect()
    }
}

fn is_identifier(text: &str, joint: u8) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == joint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "[[rule]]\nid = 'own-1'\ntype = 'own_kind'\nanchors = ['ABcd']\n\
                        pattern = 'abcd[0-9]{4}'\nmasks = [['abcd1234', 'abcd1234']]\nkeeps = ['abcd']\n";

    /// The rule with a line replaced or added.
    fn with(old: &str, new: &str) -> Result<Rule, String> {
        let text = if old.is_empty() { format!("{RULE}{new}\n") } else { RULE.replace(old, new) };
        parse_rules(&text).map(|mut rules| rules.remove(0)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_has_at_most_a_mebibyte() {
        let blanks =
            |count: usize| parse_rules(&format!("{RULE}{}", " ".repeat(count - RULE.len())));
        assert_eq!(blanks(MAX_FILE_BYTES).unwrap().len(), 1);
        assert!(matches!(blanks(MAX_FILE_BYTES + 1), Err(RuleFileError::TooLarge(_))));
    }

    #[test]
    fn a_rule_is_read_with_what_it_does_not_say() {
        let rule = with("", "").unwrap();
        assert_eq!(
            (&*rule.id, &*rule.kind, rule.family),
            ("own-1", "own_kind", ValueFamily::Secret)
        );
        assert_eq!(rule.anchors, ["abcd"]);
        assert!(rule.boundary && !rule.extend && !rule.url && rule.context.is_none());
        assert_eq!((rule.reach, rule.trim, rule.needs), (DEFAULT_REACH, (0, 0), None));
        let more = "boundary = false\nneeds = '-'\nfamily = 'personal'\nallow = ['ABC']";
        let rule = with("", more).unwrap();
        assert!(!rule.boundary && rule.needs == Some(b'-') && rule.allow == ["abc"]);
        assert_eq!(rule.family, ValueFamily::Personal);
    }

    #[test]
    fn names_are_short_and_of_small_letters_digits_and_one_sign() {
        let id = |id: &str| with("own-1", id).is_ok();
        assert!(id("a") && id("a-1") && id(&"a".repeat(64)));
        assert!(!id("") && !id("A") && !id("a_1") && !id("a b") && !id(&"a".repeat(65)));
        let kind = |kind: &str| with("own_kind", kind).is_ok();
        assert!(kind("a") && kind("a_1"));
        assert!(!kind("") && !kind("A") && !kind("a-1") && !kind(&"a".repeat(65)));
    }

    #[test]
    fn what_cannot_work_is_refused_with_its_reason() {
        for (old, new, problem) in [
            ("['ABcd']", "[]", "`anchors` is empty"),
            ("['ABcd']", "['ABcd', 'a']", "the anchor `a` must have at least"),
            ("", "reach = 0", "`reach` must be from 1 to"),
            ("", "reach = 1025", "`reach` must be from 1 to 1024"),
            ("", "within = 1025", "`within` must be at most 1024"),
            ("", "needs = '\u{e4}'", "it must be one ASCII character"),
            ("", "family = 'other'", "write \"secret\" or \"personal\""),
            ("", "validate = ['lunh']", "did you mean `luhn`?"),
            ("own_kind'", "email'\nfamily = 'secret'", "leave `family` out"),
            ("", "unknown = 1", "cannot be read"),
        ] {
            let error = with(old, new).err().unwrap_or_default();
            assert!(error.contains(problem), "{new}: {error}");
        }
        for good in ["reach = 1", "reach = 1024", "within = 1024", "validate = ['luhn']"] {
            assert!(with("", good).is_ok(), "{good}");
        }
        assert!(with("own_kind'", "email'\nfamily = 'personal'").is_ok());
    }

    #[test]
    fn a_file_has_a_most_of_bytes_and_rules() {
        let filled =
            |length: usize| parse_rules(&format!("{RULE}#{}", "x".repeat(length - RULE.len() - 1)));
        assert!(filled(MAX_FILE_BYTES).is_ok());
        assert_eq!(filled(MAX_FILE_BYTES + 1).err().unwrap().code(), "rule_file_too_large");
        assert!(parse_rules(&RULE.repeat(MAX_RULES)).is_ok());
        assert!(parse_rules(&RULE.repeat(MAX_RULES + 1)).is_err());
    }
}
