//! Remembers the modification times that were sent to a container in archives.
//!
//! Unlike lilt's agent, tar does not compare a file's time with that of the file it replaces. There is one of these
//! for each container.

use lilt_agent::{Digest, modified};
use lilt_model::Timestamp;

use super::recent::RecentMap;
use super::{Content, Put};

/// How many files are remembered for a container. Programs that compare times have forgotten older ones, too.
const MAX_FILES: usize = 10_000;

#[derive(Debug)]
pub struct SentTimes {
    /// The time of each file. Entries of removed files stay: programs may remember them, too.
    files: RecentMap<(Timestamp, Digest)>,
}

impl Default for SentTimes {
    fn default() -> Self {
        Self { files: RecentMap::new(MAX_FILES) }
    }
}

impl SentTimes {
    /// Returns the time to send for each of `puts`, see [`modified::newer`].
    pub(super) fn next(&mut self, puts: &[Put]) -> Vec<Timestamp> {
        puts.iter().map(|put| self.next_of(put)).collect()
    }

    fn next_of(&mut self, put: &Put) -> Timestamp {
        let Content::File { bytes, .. } = &put.content else { return put.modified };
        let digest = bytes.fingerprint().digest;
        let time = match self.files.get(&put.path) {
            None => put.modified,
            // Sent again, or only with another mode: do not go back in time.
            Some((sent, content)) if *content == digest => put.modified.max(*sent),
            // Archives contain whole seconds, so there is no time in between, however far they run ahead of the
            // clock.
            Some((sent, _)) => Timestamp(modified::newer(put.modified.0, sent.0, i64::MAX)),
        };
        self.files.set(put.path.clone(), (time, digest));
        time
    }
}
