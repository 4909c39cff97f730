//! The server over real sockets, with a real store behind it.

mod server {
    mod assets;
    mod commands;
    mod count;
    mod guard;
    mod harness;
    mod lines;
    mod listening;
    mod logs;
    mod sign_in;
    mod socket;
    mod view;
}
