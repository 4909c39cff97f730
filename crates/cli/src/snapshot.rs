//! Writes snapshots in Tilt's format: the view, and its time.

use std::io::Write as _;
use std::path::Path;

use lilt_host::{clock, files};
use lilt_model::Failure;
use lilt_server::view::{Reports, SNAPSHOT_BEGIN, snapshot_end, snapshot_view};
use lilt_store::Reader;

/// Writes the content of a store as a snapshot.
pub(crate) async fn write(reader: Reader, path: &Path) -> Result<(), Failure> {
    let reports = Reports::query(&reader).await;
    let all = || -> std::io::Result<()> {
        let mut file = files::create_private(path)?;
        file.write_all(SNAPSHOT_BEGIN.as_bytes())?;
        for piece in snapshot_view(reader.clone()) {
            file.write_all(piece.as_bytes())?;
        }
        let end = snapshot_end(&reader, reports, clock::now());
        file.write_all(end.as_bytes())?;
        file.flush()
    };
    all().map_err(|error| unwritten(path, &error))
}

pub(crate) fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot write the snapshot {}: {error}", path.display()))
}
