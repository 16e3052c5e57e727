//! Canonical objects that are written member by member.

use serde::ser::Serialize;

use super::out::{Object, Out};
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
    profile: Profile,
    failed: Option<CanonicalError>,
    /// Whether the long way wrote a part, which counts the depth of that part alone.
    unsure: bool,
}

impl Members {
    /// An object without members.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let mut out = Out::with_room(profile, ROOM);
        out.bytes.push(b'{');
        out.depth = 1;
        Self { out, profile, failed: None, unsure: false }
    }

    /// Adds a member. What cannot be written is said by [`Members::finish`].
    pub fn add<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> &mut Self {
        let before = self.out.members.len();
        let mut object = Object { start: 1, base: 0, ..Object::of(&mut self.out) };
        let Ok(()) = object.name(key) else {
            return self.fail(CanonicalFault::Serialize.nowhere());
        };
        let begin = object.out.bytes.len();
        if value.serialize(&mut *object.out).is_err() {
            object.out.bytes.truncate(begin);
            object.out.members.truncate(before);
            object.out.depth = 1;
            match closely(value, self.profile) {
                Ok(bytes) => object.out.bytes.extend_from_slice(&bytes),
                Err(error) => return self.fail(error.inside_key(key)),
            }
            object.member_ends();
            self.unsure = true;
            return self;
        }
        object.member_ends();
        self
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
        match self.failed {
            Some(error) => return Err(error),
            None if self.out.arrange(1, 0).is_err() => {
                return Err(CanonicalFault::DuplicateKey.nowhere());
            }
            None => {}
        }
        self.out.bytes.push(b'}');
        if self.unsure {
            return Ok(self.out.bytes.into());
        }
        Ok(RecordBytes::written(self.out.bytes, self.profile))
    }
}
