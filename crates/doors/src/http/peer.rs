//! Whether the other side is still there. A peer that has said it sends no more (a half-closed connection) may still
//! read its answer, or may be gone: nobody can tell. An ordinary request is answered all the same; a poll that waits
//! and a stream would wait for nobody, so they end.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, watch};

/// What a connection and its handlers know of the other side.
#[derive(Debug)]
pub struct Peer {
    gone: AtomicBool,
    /// Changes, or is dropped, when the door closes.
    closing: watch::Receiver<()>,
    told: Notify,
    /// Requests that are not answered yet: while there are any, the end of what is sent is kept from the HTTP machinery,
    /// which would drop them.
    attended: AtomicUsize,
    reader: Mutex<Option<Waker>>,
}

impl Peer {
    pub fn new(closing: watch::Receiver<()>) -> Peer {
        let (gone, attended) = (AtomicBool::new(false), AtomicUsize::new(0));
        Peer { gone, closing, told: Notify::new(), attended, reader: Mutex::new(None) }
    }

    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Resolves when the other side has said that it sends no more.
    pub async fn gone(&self) {
        let told = self.told.notified();
        tokio::pin!(told);
        told.as_mut().enable();
        if !self.is_gone() {
            told.await;
        }
    }

    /// Resolves when there is nobody to wait for, or no time to: the other side is gone, or the door closes.
    pub async fn dismissed(&self) {
        let mut closing = self.closing.clone();
        tokio::select! {
            () = self.gone() => {}
            _ = closing.changed() => {}
        }
    }

    /// A request is being answered, until this is dropped.
    pub fn attend(self: &Arc<Peer>) -> Attending {
        self.attended.fetch_add(1, Ordering::AcqRel);
        Attending(self.clone())
    }

    fn is_attended(&self) -> bool {
        self.attended.load(Ordering::Acquire) > 0
    }
}

pub struct Attending(Arc<Peer>);

impl Drop for Attending {
    fn drop(&mut self) {
        self.0.attended.fetch_sub(1, Ordering::AcqRel);
        if let Some(reader) = self.0.reader.lock().ok().and_then(|mut reader| reader.take()) {
            reader.wake();
        }
    }
}

/// A connection that tells its [`Peer`] when nothing more comes.
pub struct Watched<S> {
    stream: S,
    peer: Arc<Peer>,
}

impl<S> Watched<S> {
    pub fn new(stream: S, peer: Arc<Peer>) -> Watched<S> {
        Watched { stream, peer }
    }

    /// The end of what is sent, once nobody is being answered.
    fn poll_end(&self, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        if let Ok(mut reader) = self.peer.reader.lock() {
            *reader = Some(context.waker().clone());
        }
        // Looked at after the waker is in its place, so that nobody can stop attending in between unnoticed.
        if self.peer.is_attended() { Poll::Pending } else { Poll::Ready(Ok(())) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        if self.peer.is_gone() {
            return self.poll_end(context);
        }
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        if into.filled().len() > before || into.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        self.peer.gone.store(true, Ordering::Release);
        self.peer.told.notify_waiters();
        self.poll_end(context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
