//! Pipes: files that may keep a reader waiting, read so that the wait can be ended.
//!
//! To open or read a pipe or a terminal is to wait for whoever writes, and no flag ends that wait.
//! So another thread reads. When the caller stops, that thread is abandoned; it ends with the pipe
//! or with the process.

use std::fs::File;
use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;

use crate::interrupt::POLL_INTERVAL;

/// Bytes read at once.
const CHUNK: usize = 1 << 16;

/// The content of a pipe, as far as it has come. Reading fails once `stop` is set.
pub(super) struct Pipe<'a> {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
    stop: &'a AtomicBool,
}

impl<'a> Pipe<'a> {
    /// Begins to read; that the file cannot be opened is seen when it is read from.
    pub fn new(path: &Path, stop: &'a AtomicBool) -> io::Result<Pipe<'a>> {
        let (sender, chunks) = mpsc::sync_channel(2);
        let path = path.to_owned();
        thread::Builder::new()
            .name("wyrmling-pipe".into())
            .spawn(move || {
                if let Err(error) = pump(&path, &sender) {
                    // Sending fails only if the reader is gone, who then needs no error.
                    let _ = sender.send(Err(error));
                }
            })?;
        Ok(Pipe {
            chunks,
            chunk: Cursor::default(),
            stop,
        })
    }
}

/// Sends a file on until it ends or nobody reads any more.
fn pump(path: &Path, chunks: &SyncSender<io::Result<Vec<u8>>>) -> io::Result<()> {
    let mut file = File::open(path)?;
    loop {
        let mut chunk = vec![0; CHUNK];
        let read = match file.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        chunk.truncate(read);
        if read == 0 || chunks.send(Ok(chunk)).is_err() {
            return Ok(());
        }
    }
}

impl BufRead for Pipe<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.chunk.fill_buf()?.is_empty() {
            if self.stop.load(Relaxed) {
                return Err(io::Error::other("called off"));
            }
            match self.chunks.recv_timeout(POLL_INTERVAL) {
                Ok(chunk) => self.chunk = Cursor::new(chunk?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.chunk.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.chunk.consume(bytes);
    }
}

impl Read for Pipe<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}
