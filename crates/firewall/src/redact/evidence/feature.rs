//! What speaks for a word as a value, or against it.

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A piece of evidence.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Feature {
            $($(#[$doc])* $name,)*
        }

        /// Every piece of evidence, and its name in the table of weights.
        pub(super) const FEATURES: &[(Feature, &str)] = &[$((Feature::$name, $text),)*];
    };
}

features! {
    // The form of the value.
    Digits3 = "digits-3",
    Digits4 = "digits-4",
    Digits6 = "digits-5-6",
    Digits8 = "digits-7-8",
    /// `418 820`
    Groups = "groups-of-digits",
    /// `27-63-08`
    JoinedDigits = "joined-digits",
    /// `41#7718`
    DigitsWithSign = "digits-with-sign",
    /// `58K2204`
    Code = "code",
    /// `INV-2204`, which is more often a number of something.
    Numbered = "numbered",
    /// `heather.Moor7`
    Joined = "joined",
    /// `lemon-drizzle-0947`
    JoinedSmall = "joined-small",
    /// `Zwiebel_kuchen`
    JoinedWords = "joined-words",
    /// `apfel-kern-haus`
    SmallWords = "small-words",
    /// `Nebelhorn41`
    Mixed = "mixed",
    MixedShort = "mixed-short",
    /// `Wabe&Honig24`
    WithSign = "with-sign",
    /// `kette&haken`
    WordsWithSign = "words-with-sign",
    /// `9f86d081884c7d65…`
    Hexadecimal = "hexadecimal",
    Uuid = "uuid",
    /// `q8Vn2LmZ7rKd0XbL5v`
    Token = "token",
    Shorter6 = "shorter-than-6",
    Shorter8 = "shorter-than-8",
    Shorter12 = "shorter-than-12",
    Shorter20 = "shorter-than-20",
    Longer = "longer",
    Year = "a-year",
    OwnName = "has-a-label",
    // What links it with the label.
    Sign = "link-sign",
    Arrow = "link-arrow",
    Markup = "link-markup",
    Slash = "link-slash",
    Comma = "link-comma",
    Answer = "link-answer",
    Verb = "link-verb",
    ChangedTo = "link-changed-to",
    Preposition = "link-preposition",
    Next = "link-none",
    Words = "link-words",
    NoWord = "no-word-between",
    FewWords = "words-between-1-2",
    SomeWords = "words-between-3-4",
    ManyWords = "words-between-5",
    Below = "below",
    Quoted = "quoted",
    Stop = "sentence-ends-between",
    Changed = "change-between",
    // What follows.
    EndsLine = "then-line-end",
    EndsClause = "then-clause-end",
    Call = "then-bracket",
    Named = "then-sign",
    Lower = "then-small-letter",
    Aside = "then-aside",
    Unit = "then-unit",
    OtherWord = "then-other-word",
    OtherSign = "then-other-sign",
    // What else is about.
    BehindLetter = "behind-letter",
    InName = "label-in-name",
    /// `Portkod`
    Compound = "label-in-compound",
    OtherThing = "other-thing",
    LabelName = "named-by-label",
    NeutralName = "named-neutrally",
    IdName = "named-as-id",
    OtherName = "named-otherwise",
    IdWord = "behind-id-word",
    NearPassword = "near-password",
    NearCode = "near-code",
    NearPin = "near-pin",
    NearKey = "near-key",
    NearLogin = "near-login",
    NearNetwork = "near-network",
    NearLock = "near-lock",
    NearThing = "near-thing",
    CodeLine = "line-of-code",
    Mail = "line-with-mail",
}

/// A set of evidence.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Features(u128);

impl Features {
    pub(super) fn add(&mut self, feature: Feature) {
        self.0 |= 1 << feature as u8;
    }

    pub(super) fn add_if(&mut self, is: bool, feature: Feature) {
        self.0 |= u128::from(is) << feature as u8;
    }

    pub(super) fn has(self, feature: Feature) -> bool {
        self.0 >> (feature as u8) & 1 == 1
    }
}
