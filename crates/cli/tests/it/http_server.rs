//! A server that answers one HTTP request a connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// What was asked.
pub(crate) struct Request {
    /// The port of the server.
    pub(crate) port: u16,
    /// The request line and the headers.
    pub(crate) head: Vec<String>,
    pub(crate) body: String,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let lines = reader.by_ref().lines();
        let head: Vec<String> =
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).ok()?;
        let port = stream.local_addr().unwrap().port();
        (!head.is_empty()).then(|| Self { port, head, body: String::from_utf8(body).unwrap() })
    }

    /// The path with its query.
    pub(crate) fn path(&self) -> &str {
        self.head[0].split(' ').nth(1).unwrap()
    }
}

/// Starts the server, and gives its port.
pub(crate) fn start(answer: impl Fn(&Request) -> String + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if let Some(request) = Request::read(&stream) {
                let _ = stream.write_all(answer(&request).as_bytes());
            }
        }
    });
    port
}

/// An answer, with more headers if they end with a line break.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}
