//! What the product's futures need of the world: time, and somewhere for work that blocks.
//!
//! A file transfer or a gateway is a set of futures, each a state machine that the compiler writes. They take the time
//! from here and from nowhere else, so that the same ones run on tokio and in a simulator.

use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

use bentpipe_units::{Instant, Span};

/// A clock that futures wait for, and threads for what blocks.
pub trait Runtime: Clone + Debug + Send + Sync + 'static {
    /// The time now. It never goes back.
    fn now(&self) -> Instant;

    /// Waits for this time.
    fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send;

    /// Does something that blocks, such as reading a file, where it holds up nobody.
    ///
    /// # Errors
    /// When it panicked, or the runtime is shutting down.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = io::Result<T>> + Send;

    /// Waits for a future, but no longer than this; `None` if it was not ready by then.
    fn timeout<F: Future + Send>(
        &self,
        span: Span,
        future: F,
    ) -> impl Future<Output = Option<F::Output>> + Send {
        async move {
            let mut future = pin!(future);
            let mut late = pin!(self.sleep(span));
            poll_fn(|cx| match future.as_mut().poll(cx) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending => late.as_mut().poll(cx).map(|()| None),
            })
            .await
        }
    }
}
