//! The modification times of files that were sent as archives.
//!
//! A program that unpacks an archive does not compare a file's time with that of the file it replaces, as lilt's agent does. So the
//! times that were sent are known here, one of these for each container.

use lilt_agent::{Digest, modified};
use lilt_model::Timestamp;

use super::recent::RecentMap;
use super::{Content, Put};

/// So many files are known for a container. Programs that compare times have forgotten older ones, too.
const MAX_FILES: usize = 10_000;

#[derive(Debug)]
pub struct SentTimes {
    /// What a path has now. Those that were removed stay: programs may remember them, too.
    files: RecentMap<(Timestamp, Digest)>,
}

impl Default for SentTimes {
    fn default() -> Self {
        Self { files: RecentMap::new(MAX_FILES) }
    }
}

impl SentTimes {
    /// Returns the time that is to be sent for each of `puts`, see [`modified::newer`].
    pub(super) fn next(&mut self, puts: &[Put]) -> Vec<Timestamp> {
        puts.iter().map(|put| self.next_of(put)).collect()
    }

    fn next_of(&mut self, put: &Put) -> Timestamp {
        let Content::File { bytes, .. } = &put.content else { return put.modified };
        let digest = bytes.fingerprint().digest;
        let time = match self.files.get(&put.path) {
            None => put.modified,
            // Sent again, or only with another mode: not back to an earlier time.
            Some((sent, content)) if *content == digest => put.modified.max(*sent),
            // Archives have whole seconds, so there is nothing in between, however far they run ahead of the clock.
            Some((sent, _)) => Timestamp(modified::newer(put.modified.0, sent.0, i64::MAX)),
        };
        self.files.set(put.path.clone(), (time, digest));
        time
    }
}
