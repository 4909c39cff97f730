//! The client of a session: all access to a running lilt goes through this crate.
//!
//! A session has two ports. The web port serves plain HTTP ([`Client`]) and the page's WebSocket ([`page`]); the object API
//! has a port with TLS of its own ([`object_api`]). [`sessions`] finds the session that a command means, [`sign_in`] makes
//! the links that sign a browser in.
//!
//! This crate prints nothing, decides nothing about resources, and must depend neither on the server nor on anything behind it:
//! definitions shared by both sides are in `lilt-model`.

pub mod browser;
pub mod contexts;
mod http;
pub mod object_api;
pub mod page;
pub mod sessions;
pub mod sign_in;

pub use http::{Client, HttpResponse};
pub use sessions::{Connect, DEFAULT_HOST, DEFAULT_PORT};
