//! Results that arrive in chunks, turned into bounded, redacted frames.

mod frames;
mod pending_rows;
mod row_window;
mod stream_collector;
mod text_lines;

use weaver_types::Frame;

pub use frames::{FrameStream, StreamEnd};
pub use stream_collector::{MAX_COLLECTED_BYTES, StreamCollector};

/// The output of a stream: parts, then one last frame.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// A part; more follow.
    Part(Frame),
    /// The last frame. It says how the stream ended and names the handle of the whole result.
    End(Frame),
}

impl StreamItem {
    /// The frame of either variant.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        match self {
            Self::Part(frame) | Self::End(frame) => frame,
        }
    }
}
