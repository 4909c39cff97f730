//! The server over real sockets, with a real store behind it.

mod server {
    mod access_control;
    mod assets;
    mod commands;
    mod count;
    mod harness;
    mod lines;
    mod listening;
    mod logs;
    mod sign_in;
    mod socket;
    mod view;
}
