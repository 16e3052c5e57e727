//! Function drivers: host functions as tools.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use weaver_types::{BoxFuture, RawResult};

use crate::driver::{AuthorizedCall, Driver, DriverError};
use crate::worker::Workers;

type Blocking = dyn Fn(AuthorizedCall) -> Result<RawResult, DriverError> + Send + Sync;
type Async =
    dyn Fn(AuthorizedCall) -> BoxFuture<'static, Result<RawResult, DriverError>> + Send + Sync;

enum Body {
    Inline(Arc<Blocking>),
    Blocking(Arc<Blocking>, Workers),
    Async(Arc<Async>),
}

/// A host function as a driver.
pub struct FnDriver {
    name: String,
    body: Body,
}

impl FnDriver {
    /// A quick function that runs on the caller's thread. It cannot be interrupted, so no
    /// timeout applies to it.
    pub fn inline(
        f: impl Fn(AuthorizedCall) -> Result<RawResult, DriverError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: "fn".to_owned(), body: Body::Inline(Arc::new(f)) }
    }

    /// A function that may block. It runs on a thread of its own, so that a timeout is kept; a
    /// function that is past its time goes on in the background and its result is thrown away.
    pub fn blocking(
        f: impl Fn(AuthorizedCall) -> Result<RawResult, DriverError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: "fn".to_owned(), body: Body::Blocking(Arc::new(f), Workers::shared()) }
    }

    /// An async function. A timeout drops its future.
    pub fn asynchronous<F, T>(f: F) -> Self
    where
        F: Fn(AuthorizedCall) -> T + Send + Sync + 'static,
        T: Future<Output = Result<RawResult, DriverError>> + Send + 'static,
    {
        Self { name: "fn".to_owned(), body: Body::Async(Arc::new(move |call| Box::pin(f(call)))) }
    }
}

/// What `f` returns; a panic is an error of the tool and ends nothing else. How far it came is
/// unknown.
pub(crate) fn caught(
    f: impl FnOnce() -> Result<RawResult, DriverError>,
) -> Result<RawResult, DriverError> {
    catch_unwind(AssertUnwindSafe(f))
        .unwrap_or_else(|_| Err(DriverError::Lost("the tool's function panicked".to_owned())))
}

impl Driver for FnDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        match &self.body {
            Body::Inline(f) => {
                let f = Arc::clone(f);
                Box::pin(async move { f(call) })
            }
            Body::Blocking(f, workers) => {
                let f = Arc::clone(f);
                workers.run(move || f(call))
            }
            Body::Async(f) => f(call),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }
}
