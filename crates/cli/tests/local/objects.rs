//! Objects of the API that act, through the proxy of the web port.

mod client;
mod commands;
mod proxy;
mod toggles;
