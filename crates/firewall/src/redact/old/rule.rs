//! What a rule is: data, with its own examples.

/// How a rule finds values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Find {
    /// A pattern that is run only near one of its anchors. Where the pattern has groups, the first
    /// group that took part is masked; otherwise the whole match.
    Near {
        /// Literals, in ASCII of any case, one of which every match holds or follows.
        anchors: &'static [&'static str],
        /// Bytes looked at before an anchor. The window then grows to the end of the word.
        before: usize,
        /// Bytes looked at after an anchor. The window then grows to the end of the word.
        after: usize,
        /// A byte pattern, ASCII classes.
        pattern: &'static str,
        /// Whether the masked text is really such a value.
        check: fn(&str) -> bool,
    },
    /// A scan of the whole text in linear time: byte ranges of the values.
    Scan(fn(&str) -> Vec<std::ops::Range<usize>>),
}

/// One rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// Its name.
    pub(crate) id: &'static str,
    /// The kind of value, as counts and warnings name it.
    pub(crate) kind: &'static str,
    /// How it finds values.
    pub(crate) find: Find,
    /// Texts and what of them is masked.
    pub(crate) masks: &'static [(&'static str, &'static str)],
    /// Texts in which it masks nothing.
    pub(crate) keeps: &'static [&'static str],
}

/// A check that accepts everything.
pub(crate) fn any(_: &str) -> bool {
    true
}
