//! Chunks in, frames out: each within its budget, and all of them together within the same.

use serde_json::Value;
use weaver_types::{Frame, Handle, RawChunk, RawContent, RawResult, ResponseMode, Status, Warning};

use super::intake::{Intake, Row};
use super::line::Lines;
use super::row_window::RowWindow;
use super::stream_whole::StreamWhole;
use crate::budget::Reservation;
use crate::firewall::Firewall;
use crate::frame::{compose, json_len};
use crate::redact::Redactor;
use crate::spec::{FrameSpec, Limits};

/// Characters that are kept back for the last frame, beyond its smallest form without a handle:
/// the handle, and what is said of the stream.
const END_ROOM: usize = 1_000;
/// What a frame has around its warnings where it has any.
const WARNINGS: &str = r#""warnings":,"#;
/// Tokens that are kept back for it.
const END_TOKENS: u32 = 500;
/// A part is worth its frame when it has at least this share of the whole budget.
const SHARE: usize = 8;

/// And so it is with so many rows.
const MANY: usize = 10;

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// All of it came.
    Complete,
    /// Its time was over before all of it came.
    TimedOut,
    /// It broke off with an error.
    Failed,
    /// Whoever asked went away.
    Cancelled,
}

impl StreamEnd {
    /// The word for it in the last frame.
    fn word(self) -> Option<&'static str> {
        match self {
            Self::Complete => None,
            Self::TimedOut => Some("stream_timed_out"),
            Self::Failed => Some("stream_failed"),
            Self::Cancelled => Some("stream_cancelled"),
        }
    }
}

/// Makes the frames of one stream.
///
/// As a table, rows and redacted lines are shown as they come; as a summary or a handle, the last
/// frame alone shows something. The JSON of all frames together has at most `max_chars`
/// characters ([`Firewall::min_chars`] and a handle at the least), they have at most `max_rows`
/// rows, and no more tokens than were reserved. What goes beyond is counted. Pieces of text are
/// redacted as the one text that they are, and so are the strings of each field of neighbouring
/// rows: a row waits until nothing that follows can make a value of what it shows.
///
/// Raw mode shows each chunk as it came, as [`Firewall::frame`] does, within the tokens alone.
#[derive(Debug)]
pub struct FrameStream<'a> {
    firewall: Firewall,
    /// The same rules for rows that went through them.
    again: Redactor,
    spec: FrameSpec<'a>,
    mode: ResponseMode,
    /// Characters that are kept back for the last frame.
    end_room: usize,
    reserved: Option<Reservation>,
    intake: Intake,
    whole: StreamWhole,
    chars_left: usize,
    share: usize,
    parts: u64,
    chunks: u64,
    /// No further part fits.
    full: bool,
    withheld: u64,
}

impl<'a> FrameStream<'a> {
    /// A stream whose frames keep to this spec, and to what is reserved where tokens are counted.
    /// The spec's handle is not used; the last frame gets its own.
    #[must_use]
    pub fn new(firewall: &Firewall, spec: FrameSpec<'a>, reserved: Option<Reservation>) -> Self {
        let limits = Limits::of(&spec);
        let firewall = firewall.showing(spec.disclosure());
        let mode = match limits.mode {
            _ if spec.strict => ResponseMode::HandleOnly,
            // What comes in parts is never there as a whole: its parts are rows.
            ResponseMode::Auto => ResponseMode::Table,
            mode => mode,
        };
        Self {
            end_room: END_ROOM + spec.capability.id().as_str().len(),
            mode,
            reserved,
            intake: intake(&firewall, &limits),
            again: firewall.redactor().again(),
            firewall,
            whole: StreamWhole::default(),
            chars_left: limits.chars,
            share: limits.chars / SHARE,
            parts: 0,
            chunks: 0,
            full: false,
            withheld: 0,
            spec: FrameSpec { handle: None, mode, ..spec },
        }
    }

    /// Takes a chunk; gives a part once there is enough to show, the first one at once.
    pub fn push(&mut self, chunk: RawChunk) -> Option<Frame> {
        self.chunks = self.chunks.saturating_add(1);
        let frame = match self.mode {
            ResponseMode::Raw => self.unredacted(&chunk),
            ResponseMode::Table => {
                self.intake.push(&chunk);
                self.part()
            }
            ResponseMode::Auto | ResponseMode::Summary | ResponseMode::HandleOnly => None,
        };
        self.whole.push(chunk);
        frame
    }

    /// What came so far as one result, to be stored. Of more than
    /// [`MAX_WHOLE`](crate::MAX_WHOLE) bytes, the head, with the finding `stream_cut`.
    #[must_use]
    pub fn whole(&mut self) -> RawResult {
        std::mem::take(&mut self.whole).into_raw()
    }

    /// Tokens of all parts so far; 0 where none are counted.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.reserved.as_ref().map_or(0, Reservation::counted)
    }

    /// How many parts were made.
    #[must_use]
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// How many chunks came.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// The last frame, and what was reserved, with all frames counted. `whole` is what
    /// [`FrameStream::whole`] gave; the handle stands for it.
    #[must_use]
    pub fn end(
        mut self,
        how: StreamEnd,
        whole: &RawResult,
        handle: Option<&Handle>,
    ) -> (Frame, Option<Reservation>) {
        if self.mode == ResponseMode::Table {
            self.intake.finish();
        }
        let mut reserved = self.reserved.take();
        let said = self.said(how);
        let spec = FrameSpec { handle, ..self.spec.clone() };
        let first = self.last(whole, &spec, &said);
        let mut frame = match &mut reserved {
            Some(reserved) => {
                reserved.fit(first, &spec, |spec| Some(self.last(whole, spec, &said)))
            }
            None => first,
        };
        frame.status = match how {
            StreamEnd::Complete => frame.status,
            _ if self.chunks > 0 => Status::Partial,
            _ => Status::Error,
        };
        (frame, reserved)
    }

    fn last(&self, whole: &RawResult, spec: &FrameSpec<'_>, said: &[Warning]) -> Frame {
        let room = json_len(&said) + WARNINGS.len();
        let mut spec = spec.clone();
        let chars =
            self.chars_left.min(usize::try_from(spec.budget.max_chars).unwrap_or(usize::MAX));
        spec.budget.max_chars = narrow(chars.saturating_sub(room));
        spec.budget.max_rows = spec.budget.max_rows.min(narrow(self.intake.room()));
        let shows_rest = spec.mode == ResponseMode::Table
            && !(self.intake.is_binary() && self.parts == 0 && self.intake.rows().is_empty());
        let mut frame = if shows_rest || spec.mode == ResponseMode::Raw {
            self.table(whole, &spec)
        } else {
            self.firewall.frame(whole, &spec)
        };
        merge(&mut frame.warnings, said);
        frame
    }

    /// A frame of what no frame has shown yet; its status and origin are those of `of`.
    fn table(&self, of: &RawResult, spec: &FrameSpec<'_>) -> Frame {
        let limits = Limits::of(spec);
        compose(self.firewall.redactor(), of, spec, &limits, |renderer, draft| {
            for row in self.intake.rows() {
                draft.rows.extend(match row {
                    Row::Value(value) => renderer.row(value, 1),
                    Row::Masked(value) => renderer.masked_row(&self.again, value, 1),
                    Row::Line(line) => renderer.line(line),
                });
            }
        })
    }

    /// What the last frame says of the stream as a whole.
    fn said(&self, how: StreamEnd) -> Vec<Warning> {
        let mut said = Vec::new();
        let mut say = |kind: String, count: u64| {
            if count > 0 {
                said.push(Warning { kind, count });
            }
        };
        for (kind, count) in self.intake.counts() {
            say(format!("redacted_{kind}"), count);
        }
        say("fields_not_joined".to_owned(), self.intake.unjoined());
        say("rows_omitted".to_owned(), self.intake.omitted());
        say("chunks_omitted".to_owned(), self.withheld);
        let broken = self.intake.is_binary() && self.parts > 0 || self.intake.is_broken();
        say("bytes_withheld".to_owned(), broken.into());
        if let Some(word) = how.word() {
            say(word.to_owned(), 1);
        }
        if json_len(&said) > END_ROOM / 2 {
            let count = said.iter().fold(0_u64, |sum, warning| sum.saturating_add(warning.count));
            let word = how.word().unwrap_or("content_omitted").to_owned();
            said = vec![Warning { kind: word, count }];
        }
        said
    }

    /// A part with all pending rows, if it is worth a frame and there is room for it.
    fn part(&mut self) -> Option<Frame> {
        let worth =
            self.parts == 0 || self.intake.size() >= self.share || self.intake.rows().len() >= MANY;
        if self.full || self.intake.rows().is_empty() || !worth {
            return None;
        }
        let least = self.firewall.min_chars(&self.spec);
        let room = self.chars_left.saturating_sub(least + self.end_room);
        if room < least + self.share.min(self.intake.size()) {
            self.full = true;
            return None;
        }
        let mut spec = self.spec.clone();
        spec.budget.max_chars = narrow(room);
        spec.budget.max_rows = spec.budget.max_rows.min(narrow(self.intake.room()));
        let mut frame = self.table(&RawResult::json(Value::Null), &spec);
        frame.is_final = false;
        if !self.takes(&frame) {
            return None;
        }
        self.intake.shown(frame.table.len());
        self.parts += 1;
        self.chars_left = self.chars_left.saturating_sub(json_chars(&frame));
        Some(frame)
    }

    fn unredacted(&mut self, chunk: &RawChunk) -> Option<Frame> {
        if self.full {
            self.withheld = self.withheld.saturating_add(1);
            return None;
        }
        let content = match chunk.clone() {
            RawChunk::Json(value) => RawContent::Json(value),
            RawChunk::Text(text) => RawContent::Text(text),
            RawChunk::Bytes(bytes) => match String::from_utf8(bytes) {
                Ok(text) => RawContent::Text(text),
                Err(error) => RawContent::Binary {
                    media_type: "application/octet-stream".to_owned(),
                    bytes: error.into_bytes(),
                },
            },
        };
        let raw = RawResult { content, ..RawResult::text("") };
        let mut frame = self.firewall.frame(&raw, &self.spec);
        frame.is_final = false;
        if !self.takes(&frame) {
            self.withheld = self.withheld.saturating_add(1);
            return None;
        }
        self.parts += 1;
        Some(frame)
    }

    /// Counts a part, where tokens are counted and there is room for it.
    fn takes(&mut self, frame: &Frame) -> bool {
        let Some(reserved) = &mut self.reserved else { return true };
        let takes = reserved.takes(frame, END_TOKENS);
        if takes {
            // It is on its way: what happens to the rest of the stream changes nothing of it.
            reserved.spend();
        }
        self.full |= !takes;
        takes
    }
}

fn intake(firewall: &Firewall, limits: &Limits) -> Intake {
    let names = limits.names().showing(firewall.redactor().disclosure());
    let rows = RowWindow::new(firewall.shared_redactor(), names);
    Intake::new(Lines::new(firewall.stream()), rows, limits.rows)
}

/// Adds warnings to those that are there, each kind once.
fn merge(warnings: &mut Vec<Warning>, said: &[Warning]) {
    for more in said {
        match warnings.iter_mut().find(|warning| warning.kind == more.kind) {
            Some(warning) => warning.count = warning.count.saturating_add(more.count),
            None => warnings.push(more.clone()),
        }
    }
    warnings.sort_by(|a, b| a.kind.cmp(&b.kind));
}

fn json_chars(frame: &Frame) -> usize {
    serde_json::to_string(frame).map_or(usize::MAX / 4, |json| json.chars().count())
}

fn narrow(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
