//! Builds a canonical JSON object member by member.

use serde::ser::Serialize;

use super::Uncommon;
use super::fast_serializer::{FastSerializer, OpenObjectState};
use crate::canonical::{CanonicalError, CanonicalFault, Profile, RecordBytes, fall_back};

/// Initial capacity in bytes; most events fit.
const INITIAL_CAPACITY: usize = 2_048;

/// A canonical JSON object that is built member by member, in any order.
///
/// ```
/// use weaver_types::canonical::{ObjectBuilder, Profile};
///
/// let mut object = ObjectBuilder::new(Profile::Record);
/// object.add("type", "call").add("at", &7);
/// assert_eq!(&*object.finish()?, br#"{"at":7,"type":"call"}"#);
/// # Ok::<(), weaver_types::canonical::CanonicalError>(())
/// ```
#[derive(Debug)]
pub struct ObjectBuilder {
    out: FastSerializer,
    keys: OpenObjectState,
    profile: Profile,
    first_error: Option<CanonicalError>,
    /// True when the fallback wrote a part: it checks nesting for that part alone, so the whole
    /// must be checked again.
    has_unchecked_part: bool,
}

impl ObjectBuilder {
    /// An object without members.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let mut out = FastSerializer::new(profile, INITIAL_CAPACITY);
        out.depth = 1;
        Self {
            out,
            keys: OpenObjectState::at(0),
            profile,
            first_error: None,
            has_unchecked_part: false,
        }
    }

    /// Adds a member. [`ObjectBuilder::finish`] reports a value that could not be written.
    pub fn add<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> &mut Self {
        if self.write_name(key).is_err() {
            return self.fail(CanonicalFault::Serialize.without_place());
        }
        let begin = self.out.bytes.len();
        if let Err(error) = self.out.write(value) {
            self.out.bytes.truncate(begin);
            (self.out.depth, self.out.is_uncommon, self.out.is_not_finite) = (1, false, false);
            match fall_back(value, self.profile, error) {
                Ok(bytes) => self.out.bytes.write_raw(&bytes),
                Err(error) => return self.fail(error.inside_key(key)),
            }
            self.has_unchecked_part = true;
        }
        self
    }

    #[inline(never)]
    fn write_name(&mut self, key: &str) -> Result<(), Uncommon> {
        self.out.write_name(&mut self.keys, key)
    }

    fn fail(&mut self, error: CanonicalError) -> &mut Self {
        self.first_error.get_or_insert(error);
        self
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`CanonicalError`]: a value that the profile refuses or that does not serialise, a key that
    /// stands twice or is no plain text.
    pub fn finish(mut self) -> Result<RecordBytes, CanonicalError> {
        if let Some(error) = self.first_error {
            return Err(error);
        }
        let end = self.out.end_object(&self.keys, b"}");
        end.map_err(|Uncommon| CanonicalFault::DuplicateKey.without_place())?;
        let bytes = self.out.bytes.into_vec();
        if self.has_unchecked_part {
            return Ok(bytes.into());
        }
        Ok(RecordBytes::from_writer(bytes, self.profile))
    }
}
