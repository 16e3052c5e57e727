//! Reads and writes lines, with bounded buffers.

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// The longest line that is read, in bytes.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;

/// Where the lines go that answer a request.
pub(crate) type Outbox = mpsc::Sender<Vec<u8>>;

/// A line that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Its bytes, without the line feed.
    Whole(Vec<u8>),
    /// It was longer than [`MAX_LINE`] and was passed over to its end.
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
        let over = newline.is_some() || buffer.is_empty();
        let ended = buffer.is_empty();
        let taken = newline.map_or(buffer.len(), |at| at + 1);
        if !too_long {
            line.extend(buffer.iter().take(newline.unwrap_or(taken)));
        }
        reader.consume(taken);
        if line.len() > MAX_LINE {
            too_long = true;
            line = Vec::new();
        }
        if over && too_long {
            return Ok(Some(Line::TooLong));
        }
        if over && line.iter().any(|byte| !byte.is_ascii_whitespace()) {
            return Ok(Some(Line::Whole(line)));
        }
        if ended {
            return Ok(None);
        }
        if over {
            line.clear();
        }
    }
}

/// Writes the queued lines until all senders are dropped.
pub(crate) async fn write(
    mut inbox: mpsc::Receiver<Vec<u8>>,
    mut writer: impl AsyncWrite + Unpin + Send,
) {
    while let Some(line) = inbox.recv().await {
        let mut ok = writer.write_all(&line).await.is_ok();
        while let Ok(line) = inbox.try_recv() {
            ok = ok && writer.write_all(&line).await.is_ok();
        }
        if !ok || writer.flush().await.is_err() {
            // The client is gone; its requests are still recorded.
            inbox.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(all(b"\n \r\na\n\nb"), [whole("a"), whole("b")]);
        assert_eq!(all(b" \n "), []);
    }

    #[test]
    fn a_line_is_bounded_exactly_also_at_the_end() {
        let fits = vec![b'x'; MAX_LINE];
        assert_eq!(all(&fits), [Line::Whole(fits.clone())]);
        let mut longer = vec![b'x'; MAX_LINE + 1];
        assert_eq!(all(&longer), [Line::TooLong]);
        longer.extend(b"\nb\n");
        assert_eq!(all(&longer), [Line::TooLong, Line::Whole(b"b".to_vec())]);
    }
}
