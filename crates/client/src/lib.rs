//! The client of a session: whatever speaks to a running lilt goes through here.
//!
//! A session has two ports. The web port serves plain HTTP ([`Client`]) and the page's WebSocket ([`page`]); the object API
//! has a port with TLS of its own ([`object_api`]). [`sessions`] finds the session that a command means, [`sign_in`] makes
//! the links by which a browser comes in.
//!
//! This crate prints nothing, decides nothing about resources, and must know neither the server nor anything behind it:
//! what both sides of a port have to agree on is in `lilt-model`.

pub mod browser;
pub mod contexts;
mod http;
pub mod object_api;
pub mod page;
pub mod sessions;
pub mod sign_in;

pub use http::{Client, HttpResponse};
pub use sessions::{Connect, DEFAULT_HOST, DEFAULT_PORT};
