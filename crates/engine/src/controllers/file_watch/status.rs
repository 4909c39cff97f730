//! What readers see of watches: the status of a `FileWatch`.

use std::path::PathBuf;

use lilt_api::{FileEvent, FileWatchStatus};
use lilt_model::Timestamp;

use super::state::FileEvents;

/// Paths that an object lists, but for those of the newest event: all of them are written again with every save, and a
/// burst may have thousands.
const LISTED: usize = 2_000;

/// The status of a watch.
pub(crate) fn status(events: &FileEvents) -> FileWatchStatus {
    let event = |(at, paths): &(Timestamp, Vec<PathBuf>)| FileEvent {
        seen_files: paths.iter().map(|path| path.display().to_string()).collect(),
        time: Some(*at),
    };
    FileWatchStatus {
        disable_status: None,
        error: events.error.clone().unwrap_or_default(),
        file_events: listed(events).iter().map(event).collect(),
        last_event_time: events.last(),
        monitor_start_time: events.since,
    }
}

fn listed(events: &FileEvents) -> &[(Timestamp, Vec<PathBuf>)] {
    let mut paths_listed = 0;
    let fits = |(_, paths): &&(Timestamp, Vec<PathBuf>)| {
        paths_listed += paths.len();
        paths_listed <= LISTED
    };
    let count = events.seen.iter().rev().take_while(fits).count();
    &events.seen[events.seen.len().saturating_sub(count.max(1))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_burst_is_listed_whole_and_older_ones_as_space_allows() {
        let listed = |sizes: &[usize]| {
            let mut events = FileEvents::default();
            for size in sizes {
                events.add(Timestamp::ZERO, vec![PathBuf::from("/a"); *size]);
            }
            status(&events).file_events.iter().map(|event| event.seen_files.len()).collect::<Vec<_>>()
        };
        assert_eq!(listed(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(listed(&[1, 1_500, 500]), [1_500, 500]);
        assert_eq!(listed(&[1, LISTED + 1]), [LISTED + 1]);
    }
}
