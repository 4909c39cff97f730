//! Contains only tests of the repository itself, in `tests/`.
