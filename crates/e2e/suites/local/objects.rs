//! Objects of the API that act, through the proxy of the web port.

pub(crate) mod client;
mod commands;
mod extensions;
mod proxy;
mod toggles;
