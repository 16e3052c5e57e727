//! Reads and writes lines with bounded buffers.

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// The longest line that is read, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// The queue of lines to a client.
pub(crate) type Outbox = mpsc::Sender<Vec<u8>>;

/// A line that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The line without the line feed.
    Complete(Vec<u8>),
    /// It was longer than [`MAX_LINE_BYTES`] and was skipped.
    TooLong,
}

/// The next line that is not blank; `None` at the end.
pub(crate) async fn read(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> std::io::Result<Option<Line>> {
    let mut line: Vec<u8> = Vec::new();
    let mut too_long = false;
    loop {
        let buffer = reader.fill_buf().await?;
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let is_line_end = newline.is_some() || buffer.is_empty();
        let is_stream_end = buffer.is_empty();
        let consumed = newline.map_or(buffer.len(), |index| index + 1);
        if !too_long {
            line.extend(buffer.iter().take(newline.unwrap_or(consumed)));
        }
        reader.consume(consumed);
        if line.len() > MAX_LINE_BYTES {
            too_long = true;
            line = Vec::new();
        }
        if is_line_end && too_long {
            return Ok(Some(Line::TooLong));
        }
        if is_line_end && line.iter().any(|byte| !byte.is_ascii_whitespace()) {
            return Ok(Some(Line::Complete(line)));
        }
        if is_stream_end {
            return Ok(None);
        }
        if is_line_end {
            line.clear();
        }
    }
}

/// Writes the queued lines until all senders are dropped.
pub(crate) async fn write(
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut writer: impl AsyncWrite + Unpin + Send,
) {
    while let Some(line) = queue.recv().await {
        let mut ok = writer.write_all(&line).await.is_ok();
        while let Ok(line) = queue.try_recv() {
            ok = ok && writer.write_all(&line).await.is_ok();
        }
        if !ok || writer.flush().await.is_err() {
            // The client is gone; its requests are still recorded.
            queue.close();
        }
    }
}

/// Queues a line only while more than half of the queue is free, so that lines that come without end
/// leave room for others.
pub(crate) fn try_send_to_spare_room(outbox: &Outbox, line: Vec<u8>) {
    if outbox.capacity() > outbox.max_capacity() / 2 {
        let _ = outbox.try_send(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_end_leave_half_of_the_queue_to_others() {
        let (outbox, mut lines) = mpsc::channel(8);
        for _ in 0..20 {
            try_send_to_spare_room(&outbox, b"log".to_vec());
        }
        assert_eq!(outbox.capacity(), 4);
        outbox.try_send(b"a change".to_vec()).unwrap();
        let (single, _only) = mpsc::channel(1);
        try_send_to_spare_room(&single, b"log".to_vec());
        assert_eq!(single.capacity(), 0);
        lines.close();
    }

    fn all(input: &[u8]) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut reader = tokio::io::BufReader::with_capacity(1000, input);
            let mut lines = Vec::new();
            while let Some(line) = read(&mut reader).await.unwrap() {
                lines.push(line);
            }
            lines
        })
    }

    #[test]
    fn blank_lines_are_none_and_the_last_needs_no_end() {
        let whole = |text: &str| Line::Complete(text.as_bytes().to_vec());
        assert_eq!(all(b"\n \r\na\n\nb"), [whole("a"), whole("b")]);
        assert_eq!(all(b" \n "), []);
    }

    #[test]
    fn a_line_is_bounded_exactly_also_at_the_end() {
        let fits = vec![b'x'; MAX_LINE_BYTES];
        assert_eq!(all(&fits), [Line::Complete(fits.clone())]);
        let mut longer = vec![b'x'; MAX_LINE_BYTES + 1];
        assert_eq!(all(&longer), [Line::TooLong]);
        longer.extend(b"\nb\n");
        assert_eq!(all(&longer), [Line::TooLong, Line::Complete(b"b".to_vec())]);
    }
}
