//! The forms of a condition on one field, and what each form means.
//!
//! A field of match conditions has one of a few forms: keywords, patterns, names, a window of time.
//! Whatever depends on the form alone is written here or in terms of [`FieldCondition`], once for
//! all fields. [`MatchConditions`](crate::MatchConditions) lists the fields.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use weaver_types::{
    Confidentiality, Impact, Integrity, Operation, Rung, SafetyClass, SafetyMode, SensitivityTag,
    SinkKind, Timestamp, World,
};

use crate::name_condition::NameCondition;
use crate::pattern::Pattern;
use crate::time_window::TimeWindow;

/// The condition on one field of a match, by its form. An empty one imposes no condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldCondition<'m> {
    /// One of these keywords: bit *n* for variant *n* of their type.
    Keywords(u64),
    /// One of these patterns matches.
    Patterns(&'m [Pattern]),
    /// A condition on a set of names.
    Names(&'m NameCondition),
    /// Each of these names has a value that matches.
    NamedPatterns(&'m BTreeMap<String, Pattern>),
    /// The time is in this window.
    Time(Option<&'m TimeWindow>),
}

impl FieldCondition<'_> {
    /// Whether it imposes no condition.
    #[must_use]
    pub fn is_empty(self) -> bool {
        match self {
            Self::Keywords(keywords) => keywords == 0,
            Self::Patterns(patterns) => patterns.is_empty(),
            Self::Names(names) => names.is_empty(),
            Self::NamedPatterns(required) => required.is_empty(),
            Self::Time(window) => window.is_none(),
        }
    }
}

/// The condition on one field, to be read or cleared.
pub(crate) enum FieldConditionMut<'m> {
    Keywords(&'m mut dyn KeywordSet),
    Patterns(&'m mut Vec<Pattern>),
    Names(&'m mut NameCondition),
    NamedPatterns(&'m mut BTreeMap<String, Pattern>),
    Time(&'m mut Option<TimeWindow>),
}

impl FieldConditionMut<'_> {
    pub(crate) fn clear(self) {
        match self {
            Self::Keywords(keywords) => keywords.clear_keywords(),
            Self::Patterns(patterns) => patterns.clear(),
            Self::Names(names) => *names = NameCondition::default(),
            Self::NamedPatterns(required) => required.clear(),
            Self::Time(window) => *window = None,
        }
    }
}

/// A type that documents write as one of a few keywords.
pub(crate) trait Keywords {
    /// The keywords.
    const KEYWORDS: &'static [&'static str];
}

/// A set of keywords of one type, whichever that is.
pub(crate) trait KeywordSet {
    /// All keywords of the type.
    fn known_keywords(&self) -> &'static [&'static str];
    /// Adds a keyword; false if the type has no such keyword.
    fn insert_keyword(&mut self, keyword: &str) -> bool;
    fn clear_keywords(&mut self);
}

impl<T: MatchKeyword> KeywordSet for BTreeSet<T> {
    fn known_keywords(&self) -> &'static [&'static str] {
        T::KEYWORDS
    }

    fn insert_keyword(&mut self, keyword: &str) -> bool {
        match T::parse(keyword) {
            Some(value) => {
                self.insert(value);
                true
            }
            None => false,
        }
    }

    fn clear_keywords(&mut self) {
        self.clear();
    }
}

/// The type of a field: how its condition is compared with the field's value in a query.
pub(crate) trait Condition {
    /// The value of the field in a query.
    type Value<'q>: Copy;
    /// How many keywords the field has; 0 for the other forms.
    const KEYWORD_COUNT: usize = 0;

    /// Whether a query with this value meets the condition.
    fn is_met_by(&self, value: Self::Value<'_>) -> bool;

    /// The keywords that a value meets, as bits; 0 for the other forms.
    fn keyword_bits(_value: Self::Value<'_>) -> u64 {
        0
    }

    /// The condition by its form.
    fn form(&self) -> FieldCondition<'_>;

    /// The condition by its form, to be changed.
    fn form_mut(&mut self) -> FieldConditionMut<'_>;

    /// Whether it imposes no condition.
    fn is_unset(&self) -> bool {
        self.form().is_empty()
    }
}

/// A keyword that conditions list.
pub(crate) trait MatchKeyword: Copy + Ord + Keywords + DeserializeOwned {
    /// The value of a query that is compared with keywords.
    type Value<'q>: Copy;
    /// How many there are.
    const COUNT: usize;

    /// The bit of this keyword.
    fn bit(self) -> u64;

    /// The bits of the keywords that a value meets, at least one.
    fn bits_met_by(value: Self::Value<'_>) -> u64;

    /// The keyword with this text.
    fn parse(text: &str) -> Option<Self> {
        serde_json::from_value(serde_json::Value::String(text.to_owned())).ok()
    }
}

/// The bits of an enum. A variant that is missing here does not compile, since it would have no
/// bit in the lane of its field.
macro_rules! keyword_bit {
    ($($variant:ident)*) => {
        const COUNT: usize = [$(stringify!($variant)),*].len();

        fn bit(self) -> u64 {
            match self {
                $(Self::$variant)|* => 1 << self as u32,
            }
        }
    };
}

/// A query has one value of these types, and meets the keyword of that value alone.
macro_rules! single_valued {
    ($($type:ty: $($variant:ident)*;)*) => {$(
        impl MatchKeyword for $type {
            type Value<'q> = Self;

            keyword_bit!($($variant)*);

            fn bits_met_by(value: Self) -> u64 {
                value.bit()
            }
        }
    )*};
}

single_valued! {
    Impact: Read Write Destroy;
    World: Closed Open;
    SafetyClass: ReadOnly LocalWrite Network Destructive;
    Rung: L0 L1 L2 L3 L4 L5;
    SinkKind: None ExternalSend Payment Credential Destructive;
    SafetyMode: Normal Safe Strict;
    Confidentiality: Public Internal Confidential Restricted;
    Integrity: Trusted Untrusted;
    Operation: Invoke View;
}

/// A condition on the sensitivity of a capability: a kind of sensitive data, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensitivityCondition {
    /// The capability has no sensitivity tag.
    None,
    /// The agent's memory.
    Memory,
    /// Personal data.
    Pii,
    /// Payment card data.
    Pci,
    /// Credentials and keys.
    Secrets,
}

impl SensitivityCondition {
    /// The condition that a capability with this tag meets.
    pub(crate) fn of_tag(tag: SensitivityTag) -> Self {
        match tag {
            SensitivityTag::Memory => Self::Memory,
            SensitivityTag::Pii => Self::Pii,
            SensitivityTag::Pci => Self::Pci,
            SensitivityTag::Secrets => Self::Secrets,
        }
    }
}

impl MatchKeyword for SensitivityCondition {
    type Value<'q> = &'q BTreeSet<SensitivityTag>;

    keyword_bit!(None Memory Pii Pci Secrets);

    fn bits_met_by(tags: &BTreeSet<SensitivityTag>) -> u64 {
        if tags.is_empty() {
            return Self::None.bit();
        }
        tags.iter().fold(0, |bits, tag| bits | Self::of_tag(*tag).bit())
    }
}

impl<T: MatchKeyword> Condition for BTreeSet<T> {
    type Value<'q> = T::Value<'q>;
    const KEYWORD_COUNT: usize = T::COUNT;

    fn is_met_by(&self, value: Self::Value<'_>) -> bool {
        let met = T::bits_met_by(value);
        self.is_empty() || self.iter().any(|keyword| keyword.bit() & met != 0)
    }

    fn keyword_bits(value: Self::Value<'_>) -> u64 {
        T::bits_met_by(value)
    }

    fn form(&self) -> FieldCondition<'_> {
        FieldCondition::Keywords(self.iter().fold(0, |bits, keyword| bits | keyword.bit()))
    }

    fn form_mut(&mut self) -> FieldConditionMut<'_> {
        FieldConditionMut::Keywords(self)
    }
}

impl Condition for Vec<Pattern> {
    type Value<'q> = Option<&'q str>;

    fn is_met_by(&self, value: Option<&str>) -> bool {
        self.is_empty() || value.is_some_and(|text| self.iter().any(|one| one.matches(text)))
    }

    fn form(&self) -> FieldCondition<'_> {
        FieldCondition::Patterns(self)
    }

    fn form_mut(&mut self) -> FieldConditionMut<'_> {
        FieldConditionMut::Patterns(self)
    }
}

impl Condition for NameCondition {
    type Value<'q> = &'q BTreeSet<String>;

    fn is_met_by(&self, names: &BTreeSet<String>) -> bool {
        NameCondition::is_met_by(self, names)
    }

    fn form(&self) -> FieldCondition<'_> {
        FieldCondition::Names(self)
    }

    fn form_mut(&mut self) -> FieldConditionMut<'_> {
        FieldConditionMut::Names(self)
    }
}

impl Condition for BTreeMap<String, Pattern> {
    type Value<'q> = &'q BTreeMap<String, String>;

    fn is_met_by(&self, values: &BTreeMap<String, String>) -> bool {
        self.iter()
            .all(|(name, pattern)| values.get(name).is_some_and(|value| pattern.matches(value)))
    }

    fn form(&self) -> FieldCondition<'_> {
        FieldCondition::NamedPatterns(self)
    }

    fn form_mut(&mut self) -> FieldConditionMut<'_> {
        FieldConditionMut::NamedPatterns(self)
    }
}

impl Condition for Option<TimeWindow> {
    type Value<'q> = Timestamp;

    fn is_met_by(&self, now: Timestamp) -> bool {
        self.as_ref().is_none_or(|window| window.contains(now))
    }

    fn form(&self) -> FieldCondition<'_> {
        FieldCondition::Time(self.as_ref())
    }

    fn form_mut(&mut self) -> FieldConditionMut<'_> {
        FieldConditionMut::Time(self)
    }
}
