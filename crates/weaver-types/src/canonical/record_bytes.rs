//! The bytes of a record, and whether this module wrote them.

use std::ops::Deref;

use super::{Profile, is_canonical};

/// Bytes that are meant to be canonical under [`Profile::Record`].
///
/// What [`record`](super::record) or [`Members`](super::Members) wrote is so by construction and is
/// not read again. Bytes from anywhere else are checked where it matters.
///
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
    written_here: bool,
}

impl RecordBytes {
    /// Bytes that the writer of this module has just made under `profile`.
    pub(super) fn written(bytes: Vec<u8>, profile: Profile) -> Self {
        Self { bytes, written_here: profile == Profile::Record }
    }

    /// True when the bytes are canonical under [`Profile::Record`].
    #[must_use]
    pub fn is_canonical(&self) -> bool {
        self.written_here || is_canonical(&self.bytes, Profile::Record)
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
        Self { bytes, written_here: false }
    }
}

/// Where the bytes come from makes no difference.
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
    use crate::canonical::{MAX_DEPTH, Members};

    #[test]
    fn only_the_profile_of_records_is_taken_on_trust() {
        for (profile, sure) in
            [(Profile::Record, true), (Profile::Document, false), (Profile::Foreign, false)]
        {
            let mut members = Members::new(profile);
            members.add("n", &1);
            assert_eq!(members.finish().unwrap().written_here, sure, "{profile:?}");
        }
        let mut deep = Members::new(Profile::Record);
        let nested = (0..MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
        deep.add("n", &nested);
        assert!(!deep.finish().is_ok_and(|bytes| bytes.is_canonical()));
    }
}
