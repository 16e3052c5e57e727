//! Ids of beliefs, belief classes and agent decisions.

use std::fmt;
use std::sync::Arc;

use weaver_text::escape::needs_escape;
use weaver_text::invisible::is_invisible;
use weaver_types::IdError;

/// The maximum length in bytes: a capability's id with a prefix.
const MAX_BYTES: usize = 528;

const RULE: &str = "1 to 528 bytes of visible characters without blanks";

fn is_valid_name(text: &str) -> bool {
    let hidden = |c: char| c.is_whitespace() || is_invisible(c) || needs_escape(c);
    !text.is_empty() && text.len() <= MAX_BYTES && !text.chars().any(hidden)
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Parses a name: 1 to 528 bytes of visible characters without spaces.
            ///
            /// # Errors
            /// [`IdError`], when the text breaks that rule.
            pub fn parse(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                if is_valid_name(text) {
                    return Ok(Self(Arc::from(text)));
                }
                let shown = text.escape_debug().take(80).collect();
                Err(IdError { kind: $kind, rule: RULE, text: shown })
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names! {
    /// Names a belief within a run.
    BeliefId, "belief id";
    /// Names a class of beliefs whose confidence is compared with outcomes.
    BeliefClass, "belief class";
    /// Names a decision that an agent recorded.
    DecisionId, "decision id";
}
