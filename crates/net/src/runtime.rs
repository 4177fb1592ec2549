//! The product's futures on tokio.

use std::io;
use std::sync::LazyLock;
use std::time::Duration;

use bentpipe_association::host;
use bentpipe_units::{Instant, Span};

use bentpipe_system::Clock;

/// Tokio's clock, and its threads for what blocks. Its futures need a runtime of tokio around them.
#[derive(Clone, Copy, Debug)]
pub struct Tokio;

impl host::Runtime for Tokio {
    fn now(&self) -> Instant {
        static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::start);
        CLOCK.now()
    }

    async fn sleep(&self, span: Span) {
        tokio::time::sleep(Duration::from_nanos(span.as_nanos())).await;
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
    }
}
