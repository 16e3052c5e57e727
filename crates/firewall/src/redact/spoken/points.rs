//! The points of a word: for its form and for its place.

/// The points that a value needs: those of its form and those of its place.
pub(crate) const NEEDED: i32 = 6;

/// The points of a form.
pub(crate) mod form {
    /// `Vencejo-386*`, `6SFlbRi3Lrm`: no word, name or version is like it.
    pub(crate) const MADE: i32 = 7;
    /// `Snegir-44`, `heather.Moor7`: letters, digits and a sign.
    pub(crate) const JOINED: i32 = 5;
    /// `Nebelhorn41`, `ab#cd`: letters with digits or with a sign.
    pub(crate) const MIXED: i32 = 3;
    /// `wet-socks-drying`: words, which only a pair or the key of a network may be.
    pub(crate) const WORDS: i32 = 2;
    /// `kiluvõileib`: a word that nobody says of passwords.
    pub(crate) const WORD: i32 = 1;
}

/// The points of a place.
pub(crate) mod place {
    /// A sign is directly before the value: `password: x`, `user / x`.
    pub(crate) const SIGN: i32 = 4;
    /// A verb is: `is x`, `lautet ab heute x`, `was changed to x`.
    pub(crate) const VERB: i32 = 3;
    /// Only a word for a wireless network is between: `clave wifi x`.
    pub(crate) const NETWORK: i32 = 4;
    /// The label is.
    pub(crate) const ADJACENT: i32 = 3;
    /// Each word between label and value, beyond the first.
    pub(crate) const WORD_BETWEEN: i32 = -1;
    /// The value is in quotation marks, or emphasised.
    pub(crate) const QUOTED: i32 = 1;
    /// A clause ends behind it.
    pub(crate) const ENDS_CLAUSE: i32 = 1;
    /// An account is named nearby in the line.
    pub(crate) const ACCOUNT: i32 = 1;
    /// The label is in another script than the value, and a word is between them, or none.
    pub(crate) const OTHER_SCRIPT: i32 = 3;
    pub(crate) const OTHER_SCRIPT_LINKED: i32 = 1;
    /// The sentence says what passwords must be.
    pub(crate) const DEMAND: i32 = -4;
    /// A word is told as a password, near an account or a network.
    pub(crate) const TOLD: i32 = 1;
    /// The label is short.
    pub(crate) const SHORT_LABEL: i32 = -1;
}
