//! The hash of a feature: FNV-1a with 32 bits.

/// A feature while it is put together.
#[derive(Debug, Clone, Copy)]
pub(super) struct FeatureHash(u32);

impl FeatureHash {
    /// A feature of this kind.
    pub(super) fn new(kind: &str) -> Self {
        Self(0x811c_9dc5).text(kind).byte(0)
    }

    fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }

    pub(super) fn text(self, text: &str) -> Self {
        text.bytes().fold(self, Self::byte)
    }

    /// Adds a text in lower case.
    pub(super) fn lower(self, text: &str) -> Self {
        text.chars().flat_map(char::to_lowercase).fold(self, Self::char)
    }

    pub(super) fn char(self, c: char) -> Self {
        self.text(c.encode_utf8(&mut [0; 4]))
    }

    pub(super) fn number(self, number: usize) -> Self {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        number.to_le_bytes().into_iter().fold(self.byte(1), Self::byte)
    }

    /// The hash, with its high bits mixed into the low ones, which are what a table uses.
    pub(super) fn finish(self) -> u32 {
        self.0 ^ (self.0 >> 15)
    }
}
