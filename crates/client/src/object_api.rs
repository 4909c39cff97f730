//! The object API of a session: one connection, questions about objects, and the changes that it reports.

mod connection;
mod error;
mod request;
mod watch;

pub use connection::ResponseStream;
pub use error::{ApiError, Refusal};
pub use request::{Api, ApiPath, ObjectForm, PatchType};
pub use watch::{ObjectEvent, WatchStream};
