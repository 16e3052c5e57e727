//! The bytes of a record, with a mark for those that our own writer produced.

use std::ops::Deref;

use super::{Profile, is_canonical};

/// Bytes that are meant to be canonical under [`Profile::Record`].
/// Bytes that should be canonical under [`Profile::Record`].
///
/// Output of [`record`](super::record) or [`ObjectBuilder`](super::ObjectBuilder) is canonical by
/// construction and is not checked again. Bytes from elsewhere are checked by
/// [`RecordBytes::is_canonical`].
/// ```
/// use weaver_types::canonical::{self, RecordBytes};
///
/// assert!(canonical::record(&[7])?.is_canonical());
/// assert!(RecordBytes::from(b"{}".to_vec()).is_canonical());
/// assert!(!RecordBytes::from(b"{ }".to_vec()).is_canonical());
/// # Ok::<(), weaver_types::canonical::CanonicalError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RecordBytes {
    bytes: Vec<u8>,
    known_canonical: bool,
}

impl RecordBytes {
    /// Bytes that this module's writer has just produced under `profile`.
    pub(super) fn from_writer(bytes: Vec<u8>, profile: Profile) -> Self {
        Self { bytes, known_canonical: profile == Profile::Record }
    }

    /// True when the bytes are canonical under [`Profile::Record`].
    #[must_use]
    pub fn is_canonical(&self) -> bool {
        self.known_canonical || is_canonical(&self.bytes, Profile::Record)
    }

    /// The bytes.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }
}

impl Deref for RecordBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Vec<u8>> for RecordBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, known_canonical: false }
    }
}

/// Equality compares the bytes and ignores where they came from.
impl PartialEq for RecordBytes {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for RecordBytes {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::canonical::{MAX_DEPTH, ObjectBuilder};

    #[test]
    fn only_the_profile_of_records_is_taken_on_trust() {
        for (profile, sure) in
            [(Profile::Record, true), (Profile::Document, false), (Profile::Foreign, false)]
        {
            let mut members = ObjectBuilder::new(profile);
            members.add("n", &1);
            assert_eq!(members.finish().unwrap().known_canonical, sure, "{profile:?}");
        }
        let mut deep = ObjectBuilder::new(Profile::Record);
        let nested = (0..MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
        deep.add("n", &nested);
        assert!(!deep.finish().is_ok_and(|bytes| bytes.is_canonical()));
    }
}
