//! Nothing but tests of the repository itself; see `tests/`.
