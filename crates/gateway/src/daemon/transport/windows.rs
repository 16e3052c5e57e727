//! Named pipes of Windows, which only one user can open.
//!
//! A pipe's name is visible to all users, and whoever creates it first owns it. So a daemon opens
//! only a pipe of which it is the first owner, and a client sends nothing before it knows that the
//! pipe's owner is a process of its own user. No pipe can be opened from another machine, and its
//! owner cannot act as its clients.

use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer};
use tokio::runtime::Runtime;
use weaver_types::hex;
use weaver_windows::{PrivatePipe, UserSid, client_process, server_process};

use super::{ClientInput, ClientOutput, PeerError, Transport};
use crate::daemon::end_of_input::{self, END_OF_INPUT, UntilEndOfInput};
use crate::daemon::error::DaemonError;
use crate::daemon::folder::DaemonFolder;

/// `ERROR_PIPE_BUSY`: all instances have a client. The next one is opened within a moment.
const PIPE_BUSY: i32 = 231;
/// How long a client waits for a free instance. A daemon that is about to end opens none.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the instances of the gateway before may take to be closed.
const FORMER_INSTANCES_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The named pipe of a daemon.
pub(in crate::daemon) struct NamedPipes {
    pipe: PrivatePipe,
    /// The instance that waits for the next client.
    next: NamedPipeServer,
    folder: DaemonFolder,
    name: String,
}

impl Transport for NamedPipes {
    type Stream = NamedPipeServer;
    type ReadHalf = UntilEndOfInput<ReadHalf<NamedPipeServer>>;
    type WriteHalf = WriteHalf<NamedPipeServer>;
    type Reader = PipeReader;
    type Writer = PipeWriter;
    type Inherited = Infallible;

    fn take_over(_folder: &DaemonFolder) -> Result<Option<Infallible>, DaemonError> {
        Ok(None)
    }

    fn listen(folder: &DaemonFolder, _: Option<&Infallible>) -> Result<Self, DaemonError> {
        let user = UserSid::current().map_err(DaemonError::connection)?;
        let name = pipe_name(folder, &user).map_err(DaemonError::connection)?;
        let pipe = PrivatePipe::new(&name, &user).map_err(DaemonError::connection)?;
        let deadline = Instant::now() + FORMER_INSTANCES_TIMEOUT;
        let next = loop {
            match pipe.create_first() {
                Ok(next) => break next,
                // The instances of the last clients of this process are closed in the background.
                Err(_) if Instant::now() < deadline => std::thread::sleep(POLL_INTERVAL),
                Err(error) => {
                    let problem = format!("the pipe {name} is taken by another process: {error}");
                    return Err(DaemonError::connection(problem));
                }
            }
        };
        Ok(Self { pipe, next, folder: folder.clone(), name })
    }

    async fn accept(&mut self) -> io::Result<NamedPipeServer> {
        let connected = self.next.connect().await;
        // Before this one is served, so that there is always an instance of the name. Also if its
        // client has gone: an instance is of no use to another one.
        let next = self.pipe.create_next()?;
        let instance = std::mem::replace(&mut self.next, next);
        connected.map(|()| instance)
    }

    /// False once the folder was removed, which gives the next daemon another lock.
    fn is_reachable(&self) -> bool {
        UserSid::current()
            .and_then(|user| pipe_name(&self.folder, &user))
            .is_ok_and(|name| name == self.name)
    }

    fn close(self) {}

    /// The pipe already admits only this user.
    fn peer(stream: &Self::Stream) -> Result<Option<u32>, PeerError> {
        let process = client_process(stream)?;
        check_user(process)?;
        Ok(Some(process))
    }

    fn split(stream: NamedPipeServer) -> (Self::ReadHalf, Self::WriteHalf) {
        let (reader, writer) = tokio::io::split(stream);
        (UntilEndOfInput::new(reader), writer)
    }

    fn connect(folder: &DaemonFolder) -> Result<(PipeReader, PipeWriter), DaemonError> {
        let runtime = client_runtime().map_err(DaemonError::connection)?;
        let _inside = runtime.enter();
        let user = UserSid::current().map_err(DaemonError::connection)?;
        let name = pipe_name(folder, &user).map_err(DaemonError::connecting)?;
        let pipe = open(&name)?;
        let server = server_process(&pipe).map_err(DaemonError::connecting)?;
        match check_user(server) {
            Ok(()) => {}
            Err(PeerError::OtherUser(_)) => {
                return Err(DaemonError::ForeignFolder { path: name.into() });
            }
            // It ended meanwhile.
            Err(PeerError::Unknown(_)) => return Err(DaemonError::NotRunning),
        }
        let (reader, writer) = tokio::io::split(pipe);
        Ok((PipeReader { reader, timeout: None }, PipeWriter(Mutex::new(writer))))
    }
}

/// The name follows from the folder and the user, and from nothing in the environment. The folder
/// exists, so it has one canonical path however it was named.
fn pipe_name(folder: &DaemonFolder, user: &UserSid) -> io::Result<String> {
    let path = folder.path().canonicalize()?;
    let mut digest = Sha256::new();
    digest.update(user.as_str());
    digest.update([0]);
    // Windows does not distinguish the case of names.
    digest.update(path.to_string_lossy().to_lowercase());
    let digest = hex(digest.finalize().get(..16).unwrap_or_default());
    Ok(format!(r"\\.\pipe\weaver-{digest}"))
}

/// Opens a pipe. Its owner may see who this client is, and not act in its place, which is the default
/// of tokio.
fn open(name: &str) -> Result<NamedPipeClient, DaemonError> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match ClientOptions::new().open(name) {
            Err(error) if error.raw_os_error() == Some(PIPE_BUSY) => {
                if Instant::now() >= deadline {
                    return Err(DaemonError::NotRunning);
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            opened => return opened.map_err(DaemonError::connecting),
        }
    }
}

/// Checks that a process is one of this user.
fn check_user(process: u32) -> Result<(), PeerError> {
    let (own, other) = (UserSid::current()?, UserSid::of_process(process)?);
    match own == other {
        true => Ok(()),
        false => Err(PeerError::OtherUser(other.to_string())),
    }
}

/// The runtime of a client's pipes: a thread that blocks in a read of a pipe would block the writes
/// of all others.
fn client_runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let built =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| built))
}

/// What a client reads from a pipe.
pub(in crate::daemon) struct PipeReader {
    reader: ReadHalf<NamedPipeClient>,
    timeout: Option<Duration>,
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { reader, timeout } = self;
        let read = async {
            match timeout {
                Some(timeout) => tokio::time::timeout(*timeout, reader.read(buffer)).await?,
                None => reader.read(buffer).await,
            }
        };
        match client_runtime()?.block_on(read) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            read => read,
        }
    }
}

impl ClientInput for PipeReader {
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.timeout = Some(timeout);
        Ok(())
    }
}

/// What a client writes to a pipe.
pub(in crate::daemon) struct PipeWriter(Mutex<WriteHalf<NamedPipeClient>>);

impl PipeWriter {
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        client_runtime()?.block_on(async {
            writer.write_all(bytes).await?;
            writer.flush().await
        })
    }
}

impl ClientOutput for PipeWriter {
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        self.write(&end_of_input::without_mark(bytes))
    }

    fn end(&self) {
        let _ = self.write(&[END_OF_INPUT]);
    }
}
