//! An HTTP server that says what it is told to say, byte by byte, and keeps what it was asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// What comes back on a connection, which is then closed.
pub(crate) enum Reaction {
    /// These bytes.
    Say(String),
    /// These bytes, and then one blank after the other without an end.
    Drip(String),
    /// These pieces one after the other, each once something was asked for on the channel; after the
    /// last one the connection is closed, or stays open until it ends.
    Pieces(Vec<String>, Arc<Mutex<std::sync::mpsc::Receiver<()>>>, Arc<AtomicBool>),
    /// These bytes, and the end once this is notified.
    Until(String, Arc<Notify>),
    /// Nothing, for ever.
    Silent,
    /// These bytes, and then more of them without an end.
    Flood(String),
}

/// One request as it came in: the head and the body.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    /// The line with the method and the address.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// A running server.
pub(crate) struct RawServer {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl RawServer {
    /// Starts one on this machine, which answers as `react` says.
    pub(crate) fn start(
        runtime: &Runtime,
        react: impl Fn(&Asked) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        Self::start_as(runtime, None, react)
    }

    /// The same over TLS.
    pub(crate) fn start_tls(
        runtime: &Runtime,
        tls: ServerConfig,
        react: impl Fn(&Asked) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        Self::start_as(runtime, Some(TlsAcceptor::from(Arc::new(tls))), react)
    }

    fn start_as(
        runtime: &Runtime,
        tls: Option<TlsAcceptor>,
        react: impl Fn(&Asked) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (seen, react) = (Arc::clone(&asked), Arc::new(react));
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, react, tls) = (Arc::clone(&seen), Arc::clone(&react), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &seen, react.as_ref()).await,
                        Some(tls) => serve(tls.accept(stream).await?, &seen, react.as_ref()).await,
                    }
                });
            }
        });
        Self { port, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    seen: &Mutex<Vec<Asked>>,
    react: &(dyn Fn(&Asked) -> Reaction + Send + Sync),
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut asked = Asked { head: text, body: String::new() };
    let length: usize = asked.header("content-length").map_or(0, |text| text.parse().unwrap());
    while bytes.len() < head + 4 + length {
        stream.read_buf(&mut bytes).await?;
    }
    asked.body = String::from_utf8_lossy(&bytes[head + 4..]).into_owned();
    seen.lock().unwrap().push(asked.clone());
    match react(&asked) {
        Reaction::Say(text) => stream.write_all(text.as_bytes()).await?,
        Reaction::Drip(text) => {
            stream.write_all(text.as_bytes()).await?;
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                stream.write_all(b" ").await?;
            }
        }
        Reaction::Pieces(pieces, next, closed) => {
            for piece in pieces {
                while next.lock().unwrap().try_recv().is_err() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                stream.write_all(piece.as_bytes()).await?;
            }
            let mut rest = [0];
            let gone = stream.read(&mut rest).await;
            closed.store(matches!(gone, Ok(0) | Err(_)), Ordering::SeqCst);
        }
        Reaction::Until(text, end) => {
            stream.write_all(text.as_bytes()).await?;
            end.notified().await;
        }
        Reaction::Silent => std::future::pending().await,
        Reaction::Flood(text) => {
            stream.write_all(text.as_bytes()).await?;
            loop {
                stream.write_all(&[b'x'; 4096]).await?;
            }
        }
    }
    stream.shutdown().await
}

/// An answer with a body.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Reaction {
    let length = body.len();
    Reaction::Say(format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    ))
}

pub(crate) fn json(body: &str) -> Reaction {
    answer("200 OK", "content-type: application/json\r\n", body)
}

pub(crate) fn redirect(status: u16, to: &str) -> Reaction {
    answer(&format!("{status} Moved"), &format!("location: {to}\r\n"), "")
}
