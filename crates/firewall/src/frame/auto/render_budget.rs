//! How much may be shown, and whether texts fit into it. Texts that fit by their length are not
//! counted: the first count of a process builds the tables of the vocabulary, which takes longer than
//! everything else that is done for a small result.

use std::borrow::Cow;

use weaver_text::token::TokenCounter;

use crate::spec::EffectiveLimits;

/// How many tokens may be shown, and how many characters where a rule limits them.
#[derive(Clone, Copy)]
pub(crate) struct RenderBudget {
    pub(crate) tokens: usize,
    pub(crate) chars: usize,
}

impl RenderBudget {
    pub(super) fn from_limits(limits: &EffectiveLimits) -> Self {
        Self { tokens: limits.tokens, chars: limits.chars }
    }

    /// True if the text fits.
    pub(crate) fn fits_text(self, text: &str, limits: &EffectiveLimits) -> bool {
        limits.token_counter().within(text, self.tokens)
            && (text.len() <= self.chars || text.chars().count() <= self.chars)
    }

    /// The tokens of a text, or `usize::MAX` if there are more than the budget has.
    pub(crate) fn token_count(self, text: &str, limits: &EffectiveLimits) -> usize {
        let counted = limits.token_counter().count_up_to(text, self.tokens.saturating_add(1));
        counted.tokens().unwrap_or(usize::MAX)
    }
}

/// Several texts that share one budget.
pub(super) struct SharedBudget {
    budget: RenderBudget,
    counter: &'static dyn TokenCounter,
    /// The most tokens and characters that the texts can have by their lengths.
    most_tokens: usize,
    most_chars: usize,
    /// The texts that are not counted, because they fit by their lengths.
    uncounted: Vec<String>,
    tokens: usize,
    chars: usize,
}

impl SharedBudget {
    pub(super) fn from_limits(limits: &EffectiveLimits) -> Self {
        Self::new(RenderBudget::from_limits(limits), limits.token_counter())
    }

    fn new(budget: RenderBudget, counter: &'static dyn TokenCounter) -> Self {
        let uncounted = Vec::new();
        Self { budget, counter, most_tokens: 0, most_chars: 0, uncounted, tokens: 0, chars: 0 }
    }

    /// Adds a text. False if the texts do not fit together.
    pub(super) fn add(&mut self, text: Cow<'_, str>) -> bool {
        let RenderBudget { tokens, chars } = self.budget;
        let most = self.counter.most_tokens(&text).unwrap_or(usize::MAX);
        self.most_tokens = self.most_tokens.saturating_add(most);
        self.most_chars = self.most_chars.saturating_add(text.len());
        self.uncounted.push(text.into_owned());
        if self.most_tokens <= tokens && self.most_chars <= chars {
            return true;
        }
        for text in self.uncounted.drain(..) {
            let counted = self.counter.count_up_to(&text, tokens.saturating_add(1));
            self.tokens = self.tokens.saturating_add(counted.tokens().unwrap_or(usize::MAX));
            self.chars = self.chars.saturating_add(text.chars().count());
        }
        self.tokens <= tokens && self.chars <= chars
    }
}

#[cfg(all(test, feature = "tiktoken"))]
mod tests {
    use weaver_text::token::Tiktoken;

    use super::*;

    #[test]
    fn texts_that_fit_by_their_lengths_are_not_counted() {
        let budget = RenderBudget { tokens: 10, chars: usize::MAX };
        let mut shared = SharedBudget::new(budget, &Tiktoken::O200K);
        assert!(shared.add("0123".into()) && shared.add("456789".into()));
        assert_eq!(shared.tokens, 0);
        // Now their lengths say nothing, and each of them counts.
        assert!(shared.add(" and so on".into()));
        assert!((5..=10).contains(&shared.tokens), "{}", shared.tokens);
        assert!(!shared.add(" word".repeat(9).into()));
    }

    #[test]
    fn texts_share_the_characters_of_a_budget() {
        let budget = RenderBudget { tokens: 100, chars: 5 };
        let mut shared = SharedBudget::new(budget, &Tiktoken::O200K);
        assert!(shared.add("\u{e9}\u{e9}\u{e9}".into()) && shared.add("ab".into()));
        assert!(!shared.add("c".into()));
    }
}
