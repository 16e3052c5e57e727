//! Rule files: rules as a person writes them.

use serde::Deserialize;
use std::sync::Arc;
use weaver_types::{PERSONAL_KINDS, SECRET_KINDS, ValueFamily};

use super::anchor_matcher::SHORTEST;
use super::rule::{Context, MAX_REACH, Pattern, REACH, Rule, WITHIN};
use super::validate;

/// The most rules of one file, and its most bytes.
pub(crate) const MAX_RULES: usize = 2_000;
pub(crate) const MAX_FILE: usize = 1 << 20;
/// What is wrong with a rule file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleFileError {
    /// It is not TOML, or has a key that rules do not have.
    #[error("the rule file cannot be read: {0}")]
    Syntax(String),
    /// A rule cannot work as it is written.
    #[error("rule `{id}`: {problem}")]
    Rule {
        /// The rule.
        id: String,
        /// What is wrong, and what it must be.
        problem: String,
    },
    /// There is no rule for a kind of value that was asked for.
    #[error("no rule finds values of the kind {0}")]
    Kind(String),
    /// There is too much of it.
    #[error("the rule file is too large: {0}")]
    TooLarge(String),
}

impl RuleFileError {
    /// A stable word for the kind of error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "rule_file_syntax",
            Self::Rule { .. } => "rule_invalid",
            Self::Kind(_) => "rule_kind_unknown",
            Self::TooLarge(_) => "rule_file_too_large",
        }
    }

    pub(crate) fn rule(id: &str, problem: impl Into<String>) -> Self {
        Self::Rule { id: id.to_owned(), problem: problem.into() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "rule")]
    rules: Vec<RuleEntry>,
}

/// One rule as it is written; [`Rule`] says what each key means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    family: Option<String>,
    anchors: Vec<String>,
    pattern: String,
    #[serde(default = "yes")]
    boundary: bool,
    #[serde(default = "reach")]
    reach: usize,
    #[serde(default)]
    trim: (usize, usize),
    #[serde(default)]
    extend: bool,
    #[serde(default)]
    url: bool,
    needs: Option<char>,
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

fn yes() -> bool {
    true
}

fn reach() -> usize {
    REACH
}

/// The rules of a file. Patterns are compiled when they are first needed.
pub(crate) fn read(text: &str) -> Result<Vec<Rule>, RuleFileError> {
    if text.len() > MAX_FILE {
        return Err(RuleFileError::TooLarge(format!("{} of {MAX_FILE} bytes", text.len())));
    }
    let file: File =
        toml::from_str(text).map_err(|error| RuleFileError::Syntax(error.to_string()))?;
    if file.rules.len() > MAX_RULES {
        return Err(RuleFileError::TooLarge(format!("{} of {MAX_RULES} rules", file.rules.len())));
    }
    file.rules.into_iter().map(RuleEntry::rule).collect()
}

impl RuleEntry {
    fn rule(self) -> Result<Rule, RuleFileError> {
        let wrong = |problem: String| RuleFileError::rule(&self.id, problem);
        if !is_name(&self.id, b'-') {
            return Err(wrong("an id is made of a-z, 0-9 and `-`".to_owned()));
        }
        if !is_name(&self.kind, b'_') {
            return Err(wrong(format!("the type `{}` is not made of a-z, 0-9 and `_`", self.kind)));
        }
        if self.anchors.is_empty() {
            return Err(wrong("`anchors` is empty: name a literal at which a match starts".into()));
        }
        if let Some(short) = self.anchors.iter().find(|a| a.len() < SHORTEST) {
            return Err(wrong(format!("the anchor `{short}` must have at least {SHORTEST} bytes")));
        }
        if self.reach == 0 || self.reach > MAX_REACH {
            return Err(wrong(format!("`reach` must be from 1 to {MAX_REACH}")));
        }
        let within = self.within.unwrap_or(WITHIN);
        if within > MAX_REACH {
            return Err(wrong(format!("`within` must be at most {MAX_REACH}")));
        }
        let context = match self.context.as_slice() {
            [] => None,
            words => Some(Context::new(words, within).map_err(|error| wrong(error.to_string()))?),
        };
        let needs = match self.needs {
            Some(sign) if !sign.is_ascii() => {
                return Err(wrong(format!("`needs` is `{sign}`; it must be one ASCII character")));
            }
            needs => needs.and_then(|sign| u8::try_from(sign).ok()),
        };
        let checks = self.checks()?;
        let family = self.family()?;
        Ok(Rule {
            id: Arc::from(self.id.as_str()),
            kind: Arc::from(self.kind.as_str()),
            family,
            anchors: self.anchors.iter().map(|a| a.to_ascii_lowercase()).collect(),
            pattern: Pattern::new(self.pattern),
            boundary: self.boundary,
            reach: self.reach,
            trim: self.trim,
            extend: self.extend,
            url: self.url,
            needs,
            checks,
            entropy: self.entropy,
            context,
            allow: self.allow.iter().map(|word| word.to_ascii_lowercase()).collect(),
            masks: self.masks,
            keeps: self.keeps,
        })
    }

    /// Secret, unless the rule says otherwise of a kind of its own.
    fn family(&self) -> Result<ValueFamily, RuleFileError> {
        let known = ValueFamily::of(&self.kind);
        let Some(word) = &self.family else { return Ok(known) };
        let family = match word.as_str() {
            "secret" => ValueFamily::Secret,
            "personal" => ValueFamily::Personal,
            other => {
                let problem = format!("`family` is `{other}`; write \"secret\" or \"personal\"");
                return Err(RuleFileError::rule(&self.id, problem));
            }
        };
        let is_listed = [&PERSONAL_KINDS[..], &SECRET_KINDS[..]].concat().contains(&&*self.kind);
        if is_listed && family != known {
            let problem = format!("values of the type `{}` are {}", self.kind, known.as_str());
            return Err(RuleFileError::rule(&self.id, format!("{problem}; leave `family` out")));
        }
        Ok(family)
    }

    fn checks(&self) -> Result<Vec<validate::Check>, RuleFileError> {
        self.validate
            .iter()
            .map(|name| {
                validate::by_name(name).ok_or_else(|| {
                    let near = weaver_text::suggest::nearest(name, validate::names());
                    let hint =
                        near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                    RuleFileError::rule(&self.id, format!("there is no validator `{name}`{hint}"))
                })
            })
            .collect()
    }
}

fn is_name(text: &str, joint: u8) -> bool {
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
        read(&text).map(|mut rules| rules.remove(0)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_has_at_most_a_mebibyte() {
        let blanks = |count: usize| read(&format!("{RULE}{}", " ".repeat(count - RULE.len())));
        assert_eq!(blanks(MAX_FILE).unwrap().len(), 1);
        assert!(matches!(blanks(MAX_FILE + 1), Err(RuleFileError::TooLarge(_))));
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
        assert_eq!((rule.reach, rule.trim, rule.needs), (REACH, (0, 0), None));
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
            |length: usize| read(&format!("{RULE}#{}", "x".repeat(length - RULE.len() - 1)));
        assert!(filled(MAX_FILE).is_ok());
        assert_eq!(filled(MAX_FILE + 1).err().unwrap().code(), "rule_file_too_large");
        assert!(read(&RULE.repeat(MAX_RULES)).is_ok());
        assert!(read(&RULE.repeat(MAX_RULES + 1)).is_err());
    }
}
