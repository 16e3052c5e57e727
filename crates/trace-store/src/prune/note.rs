//! The payload of a `log.pruned` event.

use serde_json::{Value, json};
use weaver_types::EventKind;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, LedgerError, MAX_BATCH_PRUNE};

/// The version of the note, its field `v`.
pub const NOTE_VERSION: u64 = 1;
/// The longest name of who pruned, in characters.
pub const MAX_BY: usize = 200;

/// Why payloads were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// They were old enough.
    Age,
    /// They were about a principal.
    Principal,
    /// They bore a tag.
    Tag,
    /// They were of a kind.
    Kind,
}

impl Reason {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Age, Self::Principal, Self::Tag, Self::Kind];

    /// The stable text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Principal => "principal",
            Self::Tag => "tag",
            Self::Kind => "kind",
        }
    }

    /// Reads the stable text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == text)
    }
}

/// What a `log.pruned` event says: canonical JSON with the fields `v`, `ranges`, `reason`, `by`.
///
/// It is never pruned itself, so it must not tell what was to be forgotten: `reason` says that a
/// principal was the reason, not which one, and `by` is who removed the payloads.
///
/// ```
/// use weaver_trace_store::prune::{Note, Reason};
///
/// let note = Note::of(vec![7, 4, 5], Reason::Age, "operator")?;
/// assert_eq!(note.ranges(), [(4, 5), (7, 7)]);
/// let bytes = note.to_bytes()?;
/// assert_eq!(bytes, br#"{"by":"operator","ranges":[[4,5],[7,7]],"reason":"age","v":1}"#);
/// assert_eq!(Note::parse(&bytes)?, note);
/// # Ok::<(), weaver_trace_store::prune::NoteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    ranges: Vec<(u64, u64)>,
    reason: Reason,
    by: String,
}

/// Bytes or values that are no note of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// The bytes are not the canonical JSON of a note.
    #[error("the note on pruned payloads is not in its canonical form")]
    Form,
    /// A field is missing, of the wrong form, or unknown.
    #[error("field `{0}` of the note on pruned payloads is missing, unknown or malformed")]
    Field(&'static str),
    /// A later version.
    #[error(
        "the note on pruned payloads has version {found}, this build knows up to {NOTE_VERSION}"
    )]
    Newer {
        /// The version found.
        found: u64,
    },
}

impl NoteError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Form => "pruned.form",
            Self::Field(_) => "pruned.field",
            Self::Newer { .. } => "pruned.newer",
        }
    }
}

impl Note {
    /// A note of these events, given in any order.
    ///
    /// # Errors
    /// [`NoteError::Field`], when there are none or more than [`MAX_BATCH_PRUNE`], when one is
    /// named twice, or when `by` is empty, longer than [`MAX_BY`] or has control characters.
    pub fn of(
        mut seqs: Vec<u64>,
        reason: Reason,
        by: impl Into<String>,
    ) -> Result<Self, NoteError> {
        seqs.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for seq in seqs {
            match ranges.last_mut() {
                Some((_, last)) if *last == seq => return Err(NoteError::Field("ranges")),
                Some((_, last)) if last.checked_add(1) == Some(seq) => *last = seq,
                _ => ranges.push((seq, seq)),
            }
        }
        Self { ranges, reason, by: by.into() }.checked()
    }

    /// First and last of each run of events, in ascending order, with a gap between any two.
    #[must_use]
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Who removed them.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.by
    }

    /// How many events it names.
    #[must_use]
    pub fn count(&self) -> u64 {
        let lengths = self.ranges.iter().map(|(first, last)| last.saturating_sub(*first));
        lengths.fold(0, |sum, length| sum.saturating_add(length).saturating_add(1))
    }

    /// Whether it names this event.
    #[must_use]
    pub fn names(&self, seq: u64) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= seq);
        let before = after.checked_sub(1).and_then(|index| self.ranges.get(index));
        before.is_some_and(|(_, last)| seq <= *last)
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`NoteError::Form`], when a number lies beyond 2^53.
    pub fn to_bytes(&self) -> Result<Vec<u8>, NoteError> {
        let note = json!({
            "v": NOTE_VERSION,
            "ranges": self.ranges,
            "reason": self.reason.as_str(),
            "by": self.by,
        });
        canonical::to_bytes(&note, Profile::Record).map_err(|_| NoteError::Form)
    }

    /// Reads the canonical bytes, and nothing but them.
    ///
    /// # Errors
    /// [`NoteError`], when they are not what [`Note::to_bytes`] writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoteError> {
        let note = canonical::parse(bytes, Profile::Record).map_err(|_| NoteError::Form)?;
        let version = note.get("v").and_then(Value::as_u64).ok_or(NoteError::Field("v"))?;
        if version > NOTE_VERSION {
            return Err(NoteError::Newer { found: version });
        }
        let text = |name| note.get(name).and_then(Value::as_str).ok_or(NoteError::Field(name));
        let ranges = note.get("ranges").and_then(Value::as_array);
        let ranges = ranges.ok_or(NoteError::Field("ranges"))?.iter().map(range);
        let note = Self {
            ranges: ranges.collect::<Option<_>>().ok_or(NoteError::Field("ranges"))?,
            reason: Reason::parse(text("reason")?).ok_or(NoteError::Field("reason"))?,
            by: text("by")?.to_owned(),
        }
        .checked()?;
        if note.to_bytes()? == bytes { Ok(note) } else { Err(NoteError::Form) }
    }

    fn checked(self) -> Result<Self, NoteError> {
        let most = u64::try_from(MAX_BATCH_PRUNE).unwrap_or(u64::MAX);
        let mut before = None;
        for (first, last) in &self.ranges {
            let apart = before.is_none_or(|before: u64| *first > before.saturating_add(1));
            if first > last || !apart {
                return Err(NoteError::Field("ranges"));
            }
            before = Some(*last);
        }
        if self.ranges.is_empty() || self.count() > most {
            return Err(NoteError::Field("ranges"));
        }
        let long = self.by.chars().count() > MAX_BY;
        if self.by.is_empty() || long || self.by.chars().any(char::is_control) {
            return Err(NoteError::Field("by"));
        }
        Ok(self)
    }
}

fn range(value: &Value) -> Option<(u64, u64)> {
    match value.as_array()?.as_slice() {
        [first, last] => Some((first.as_u64()?, last.as_u64()?)),
        _ => None,
    }
}

/// What a batch prunes, sorted. It is refused unless its notes name exactly that.
pub(crate) fn of_batch(batch: &Batch) -> Result<Vec<u64>, LedgerError> {
    let refuse = |what: String| Err(LedgerError::Malformed(what));
    let mut noted = Vec::new();
    for event in batch.events.iter().filter(|event| event.kind == EventKind::Pruned) {
        let note = Note::parse(&event.payload)
            .map_err(|error| LedgerError::Malformed(error.to_string()))?;
        noted.extend(note.ranges.iter().flat_map(|(first, last)| *first..=*last));
        if noted.len() > MAX_BATCH_PRUNE {
            return refuse(format!("it prunes more than {MAX_BATCH_PRUNE} events"));
        }
    }
    if batch.prune.len() > MAX_BATCH_PRUNE {
        let count = batch.prune.len();
        return refuse(format!("it prunes {count} events, at most {MAX_BATCH_PRUNE}"));
    }
    let mut prune = batch.prune.clone();
    prune.sort_unstable();
    noted.sort_unstable();
    if prune != noted {
        return refuse(
            "its events of the kind log.pruned do not name exactly what it prunes".to_owned(),
        );
    }
    if prune.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        return refuse("it prunes an event twice".to_owned());
    }
    Ok(prune)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_read() {
        let note = Note::of(vec![0, 1, 2, 9], Reason::Tag, "a").unwrap();
        let text = String::from_utf8(note.to_bytes().unwrap()).unwrap();
        assert_eq!(text, r#"{"by":"a","ranges":[[0,2],[9,9]],"reason":"tag","v":1}"#);
        assert_eq!(Note::parse(text.as_bytes()).unwrap(), note);
        assert_eq!(note.count(), 4);
        let named: Vec<u64> = (0..12).filter(|seq| note.names(*seq)).collect();
        assert_eq!(named, [0, 1, 2, 9]);
        for (from, to) in [
            ("[[0,2],[9,9]]", "[]"),
            ("[[0,2],[9,9]]", "[[9,9],[0,2]]"),
            ("[[0,2],[9,9]]", "[[0,2],[2,9]]"),
            ("[[0,2],[9,9]]", "[[0,2],[3,9]]"),
            ("[[0,2],[9,9]]", "[[0,2,3]]"),
            ("[[0,2],[9,9]]", "[[2,0]]"),
            ("[[0,2],[9,9]]", "[[0,1024]]"),
            ("[[0,2],[9,9]]", "[[0,9007199254740991]]"),
            ("\"tag\"", "\"whim\""),
            ("\"a\"", "\"\""),
            ("\"a\"", "\"a\\n\""),
            ("\"v\":1", "\"v\":0"),
            ("\"v\":1", "\"v\":1,\"w\":1"),
            ("\"v\":1", "\"v\": 1"),
        ] {
            assert!(Note::parse(text.replace(from, to).as_bytes()).is_err(), "{to}");
        }
        let newer = text.replace("\"v\":1", "\"v\":2");
        assert_eq!(Note::parse(newer.as_bytes()), Err(NoteError::Newer { found: 2 }));
    }

    #[test]
    fn a_note_has_bounds() {
        let most = u64::try_from(MAX_BATCH_PRUNE).unwrap();
        assert!(Note::of((0..most).collect(), Reason::Age, "a").is_ok());
        assert!(Note::of((0..=most).collect(), Reason::Age, "a").is_err());
        assert!(Note::of(Vec::new(), Reason::Age, "a").is_err());
        assert!(Note::of(vec![3, 3], Reason::Age, "a").is_err());
        assert!(Note::of(vec![3], Reason::Age, "x".repeat(MAX_BY + 1)).is_err());
    }
}
