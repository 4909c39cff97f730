//! A session's end on disk, in the form of Tilt's snapshots: the view, and when it was made.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use lilt_host::{clock, files};
use lilt_model::Failure;
use lilt_store::Reader;

/// What stands before the view.
pub(crate) const BEGIN: &str = "{\"view\":";

/// What stands behind it.
pub(crate) fn end() -> String {
    format!(",\"createdAt\":\"{}\"}}\n", clock::now())
}

/// Writes all that a store knows.
pub(crate) fn write(reader: Reader, path: &Path) -> Result<(), Failure> {
    let all = || -> std::io::Result<()> {
        let mut file = BufWriter::new(files::create(path)?);
        file.write_all(BEGIN.as_bytes())?;
        for piece in lilt_server::view::pieces(reader) {
            file.write_all(piece.as_bytes())?;
        }
        file.write_all(end().as_bytes())?;
        file.flush()
    };
    all().map_err(|error| unwritten(path, &error))
}

pub(crate) fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot write the snapshot {}: {error}", path.display()))
}
