//! Canonical objects that are written member by member.

use serde::ser::Serialize;

use super::Stop;
use super::out::{Keys, Out};
use crate::canonical::{CanonicalError, CanonicalFault, Profile, RecordBytes, closely};

/// Bytes for which there is room from the beginning: what an event has, more or less.
const ROOM: usize = 2_048;

/// A canonical object that is written member by member, in any order.
///
/// ```
/// use weaver_types::canonical::{Members, Profile};
///
/// let mut object = Members::new(Profile::Record);
/// object.add("type", "call").add("at", &7);
/// assert_eq!(&*object.finish()?, br#"{"at":7,"type":"call"}"#);
/// # Ok::<(), weaver_types::canonical::CanonicalError>(())
/// ```
#[derive(Debug)]
pub struct Members {
    out: Out,
    keys: Keys,
    profile: Profile,
    failed: Option<CanonicalError>,
    /// Whether the long way wrote a part, which counts the depth of that part alone.
    unsure: bool,
}

impl Members {
    /// An object without members.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let mut out = Out::new(profile, ROOM);
        out.depth = 1;
        Self { out, keys: Keys::at(0), profile, failed: None, unsure: false }
    }

    /// Adds a member. What cannot be written is said by [`Members::finish`].
    pub fn add<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> &mut Self {
        if self.name(key).is_err() {
            return self.fail(CanonicalFault::Serialize.nowhere());
        }
        let begin = self.out.bytes.len();
        if value.serialize(&mut self.out).is_err() {
            self.out.bytes.truncate(begin);
            self.out.depth = 1;
            match closely(value, self.profile) {
                Ok(bytes) => self.out.bytes.word(&bytes),
                Err(error) => return self.fail(error.inside_key(key)),
            }
            self.unsure = true;
        }
        self
    }

    #[inline(never)]
    fn name(&mut self, key: &str) -> Result<(), Stop> {
        self.out.name(&mut self.keys, key)
    }

    fn fail(&mut self, error: CanonicalError) -> &mut Self {
        self.failed.get_or_insert(error);
        self
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`CanonicalError`]: a value that the profile refuses or that does not serialise, a key that
    /// stands twice or is no plain text.
    pub fn finish(mut self) -> Result<RecordBytes, CanonicalError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let end = self.out.end(&self.keys, b"}");
        end.map_err(|Stop| CanonicalFault::DuplicateKey.nowhere())?;
        let bytes = self.out.bytes.into_vec();
        if self.unsure {
            return Ok(bytes.into());
        }
        Ok(RecordBytes::written(bytes, self.profile))
    }
}
