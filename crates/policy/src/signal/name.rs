//! Names of beliefs, their classes and the decisions that rest on them.

use std::fmt;
use std::sync::Arc;

use weaver_text::escape::needs_escape;
use weaver_text::invisible::is_invisible;
use weaver_types::IdError;

/// The longest name, in bytes: the id of a capability with a word before it.
const MAX_BYTES: usize = 528;

const RULE: &str = "1 to 528 bytes of visible characters without blanks";

fn fits(text: &str) -> bool {
    let hidden = |c: char| c.is_whitespace() || is_invisible(c) || needs_escape(c);
    !text.is_empty() && text.len() <= MAX_BYTES && !text.chars().any(hidden)
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Reads a name: 1 to 528 bytes of visible characters without blanks.
            ///
            /// # Errors
            /// [`IdError`], when the text breaks that rule.
            pub fn parse(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                if fits(text) {
                    return Ok(Self(Arc::from(text)));
                }
                let shown = text.escape_debug().take(80).collect();
                Err(IdError { kind: $kind, rule: RULE, text: shown })
            }

            /// The text, as it was read.
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
