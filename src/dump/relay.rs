//! `Relay`: a file whose compression runs on a thread of its own.
//!
//! Owns that thread and the blocks on their way to it, of which there are a fixed few. A table that cannot be cut is read by one
//! worker, and would else leave the other cores idle. Errors of the thread come back from the next call, and at the latest from
//! [`Relay::finish`]. When a file is worth a thread it leaves to the worker.

use std::io::{self, Write};
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::compress::{Codec, Compressor};

/// Blocks on their way: one that is compressed, one that waits, one that is being filled.
const BLOCKS: usize = 3;

/// Hands blocks to a thread that compresses and writes them.
pub struct Relay<W> {
    full: Option<Sender<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<io::Result<(W, Codec)>>>,
}

impl<W: Write + Send + 'static> Relay<W> {
    /// Starts the thread.
    pub fn start(mut compressor: Compressor<W>) -> io::Result<Self> {
        let (full, blocks) = bounded::<Vec<u8>>(BLOCKS);
        let (back, empty) = bounded(BLOCKS);
        for _ in 0..BLOCKS {
            // The channel holds as many.
            back.send(Vec::new()).map_err(io::Error::other)?;
        }
        let work = move || {
            for mut block in blocks {
                compressor.write_all(&block)?;
                block.clear();
                if back.send(block).is_err() {
                    break;
                }
            }
            compressor.finish()
        };
        let thread = Builder::new().name("rdump-compress".to_owned());
        Ok(Self {
            full: Some(full),
            empty,
            thread: Some(thread.spawn(work)?),
        })
    }

    /// Passes bytes on; waits while all blocks are on their way.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let (Ok(mut block), Some(full)) = (self.empty.recv(), &self.full) {
            block.extend_from_slice(bytes);
            if full.send(block).is_ok() {
                return Ok(());
            }
        }
        // The thread ends early only by an error.
        self.end()
            .and(Err(io::Error::other("the compression ended")))
    }

    /// Waits until everything is written.
    pub fn finish(mut self) -> io::Result<(W, Codec)> {
        self.end()
    }

    fn end(&mut self) -> io::Result<(W, Codec)> {
        self.full = None;
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(result)) => result,
            _ => Err(io::Error::other("the compression failed")),
        }
    }
}

impl<W> Drop for Relay<W> {
    /// A file that is given up is removed by its sink, which is the thread's until it ends.
    fn drop(&mut self) {
        self.full = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            log::warn!("a thread that compressed failed");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::compress::Compression;

    /// Fails after so many bytes.
    struct Narrow(usize);

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 < bytes.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn compressor<W: Write>(compression: Compression, writer: W) -> Compressor<W> {
        Codec::new(compression).unwrap().start(writer).unwrap()
    }

    #[test]
    fn file_is_the_same_as_without_a_thread() {
        for compression in [Compression::Gzip(6), Compression::Zstd(1)] {
            let mut here = compressor(compression, Vec::new());
            let mut beside = Relay::start(compressor(compression, Vec::new())).unwrap();
            for number in 0..50_u8 {
                let block = vec![number; 10_000 + usize::from(number)];
                here.write_all(&block).unwrap();
                beside.write(&block).unwrap();
            }
            assert_eq!(beside.finish().unwrap().0, here.finish().unwrap().0);
        }
    }

    #[test]
    fn error_of_the_thread_comes_back() {
        let mut relay = Relay::start(compressor(Compression::None, Narrow(1000))).unwrap();
        let failed = (0..10).find_map(|_| relay.write(&[0; 400]).err());
        let error = failed.unwrap_or_else(|| relay.finish().map(drop).unwrap_err());
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
