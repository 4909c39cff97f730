//! The object API of a session, through a client made with `kube`: every verb on every kind, what watchers see under
//! load, cleanup of objects with controllers, and authentication. No cluster is needed.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

mod bookmarks;
mod client;
mod credentials;
mod garbage;
mod kept;
mod random;
mod verbs;
mod watching;
