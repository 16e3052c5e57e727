//! The encodings and disguises that can be decoded.

use std::fmt;

/// An encoding or disguise of a value in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// Zero-width characters, soft hyphens, bidi controls, variation selectors, control characters.
    Invisible,
    /// Unicode tag characters that spell ASCII.
    Tag,
    /// Full-width, mathematical, circled and other characters that are equivalent to ASCII.
    Compatible,
    /// Terminal escape sequences.
    Ansi,
    /// `%40`, `%u0040`.
    Percent,
    /// `&#64;`, `&#x40;`, `&commat;`.
    Entity,
    /// Backslash escapes of JSON and programming languages, at any depth of nesting.
    Escape,
    /// Base64 and base64url, also wrapped into lines.
    Base64,
    /// Hexadecimal digits, contiguous or in pairs.
    Hex,
    /// A value split by a line break. Heuristic: may join separate words.
    Joined,
    /// `jane[.]roe[at]example[.]com`, and ` at ` and ` dot ` near such marks.
    Defanged,
    /// `4 0 1 2 8 8`. Heuristic: may join the columns of a table.
    Spaced,
    /// Words written backwards. Heuristic: reverses long words with digits or `@`.
    Reversed,
}

impl Layer {
    /// Every layer, in the order of the enum.
    pub const ALL: [Self; 13] = [
        Self::Invisible,
        Self::Tag,
        Self::Compatible,
        Self::Ansi,
        Self::Percent,
        Self::Entity,
        Self::Escape,
        Self::Base64,
        Self::Hex,
        Self::Joined,
        Self::Defanged,
        Self::Spaced,
        Self::Reversed,
    ];
}

/// A set of layers.
///
/// ```
/// use weaver_text::reveal::{Layer, Layers};
///
/// let layers = Layers::ENCODED.with(Layer::Joined).without(Layer::Hex);
/// assert!(layers.contains(Layer::Base64) && !layers.contains(Layer::Hex));
/// assert_eq!(Layers::only(Layer::Hex).iter().collect::<Vec<_>>(), [Layer::Hex]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Layers(u16);

impl Layers {
    /// No layer.
    pub const NONE: Self = Self(0);
    /// The layers that decode encodings: all but the four heuristics, which rewrite plain text.
    pub const ENCODED: Self = Self((1 << Layer::Joined as u16) - 1);
    /// Every layer, heuristics included.
    pub const ALL: Self = Self((1 << Layer::ALL.len()) - 1);

    /// The set with one layer.
    pub const fn only(layer: Layer) -> Self {
        Self(1 << layer as u16)
    }

    /// This set with `layer`.
    #[must_use]
    pub const fn with(self, layer: Layer) -> Self {
        Self(self.0 | Self::only(layer).0)
    }

    /// This set without `layer`.
    #[must_use]
    pub const fn without(self, layer: Layer) -> Self {
        Self(self.0 & !Self::only(layer).0)
    }

    /// The layers in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The layers in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether `layer` is in the set.
    pub const fn contains(self, layer: Layer) -> bool {
        self.0 & Self::only(layer).0 != 0
    }

    /// Whether the two sets share a layer.
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The layers in the set, in the order of the enum.
    pub fn iter(self) -> impl Iterator<Item = Layer> {
        Layer::ALL.into_iter().filter(move |layer| self.contains(*layer))
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
