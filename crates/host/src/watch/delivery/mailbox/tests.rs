use super::*;

fn pending(begin: Instant, count: usize, first: u64, last: u64) -> PendingBatch {
    let complete = Change { kind: ChangeKind::Complete, is_new: false };
    let changes = (0..count).map(|index| (PathBuf::from(format!("/p/{index}")), complete));
    PendingBatch {
        changes: changes.collect(),
        since: Some(begin + Duration::from_millis(first)),
        last: Some(begin + Duration::from_millis(last)),
        lock: Some(None),
        ..PendingBatch::default()
    }
}

/// A mailbox with `count` changes, the first and the last of them that many milliseconds after `begin`.
fn mailbox(begin: Instant, count: usize, first: u64, last: u64) -> Mailbox {
    Mailbox { pending: pending(begin, count, first, last), ..Mailbox::default() }
}

/// Returns when it is due, checked `now` milliseconds after `begin`.
fn due(mailbox: &mut Mailbox, begin: Instant, now: u64) -> u128 {
    let (due, _) = mailbox.due(begin + Duration::from_millis(now)).expect("it has changes");
    (due - begin).as_millis()
}

#[test]
fn single_save_is_due_after_debounce() {
    let begin = Instant::now();
    let mut one = mailbox(begin, 1, 0, 0);
    assert_eq!((due(&mut one, begin, 0), due(&mut one, begin, 3)), (2, 2));
    assert_eq!(due(&mut mailbox(begin, BURST_SIZE, 0, 40), begin, 41), 2, "a few files are no burst");
}

#[test]
fn batch_waits_for_file_being_written() {
    let begin = Instant::now();
    let file = Path::new("/p/0");
    let mut one = mailbox(begin, 1, 0, 0);
    one.change(file, ChangeKind::Writing);
    assert_eq!(due(&mut one, begin, 3), 200, "it may be in the middle of being written");
    one.change(file, ChangeKind::MetadataChanged);
    one.pending.last = Some(begin + Duration::from_millis(150));
    assert_eq!(due(&mut one, begin, 151), 350, "it goes on");
    assert!(one.change(file, ChangeKind::Complete), "it is closed");
    assert_eq!(due(&mut one, begin, 152), 2, "at once");
    one.change(file, ChangeKind::Writing);
    one.pending.last = Some(begin + Duration::from_secs(60));
    assert_eq!(due(&mut one, begin, 60_001), 10_000, "but not for ever");
}

#[test]
fn constantly_written_file_does_not_delay_others() {
    let begin = Instant::now();
    let (log, code) = (Path::new("/p/0"), Path::new("/p/1"));
    let later = begin + Duration::from_secs(10);
    let mut one = mailbox(begin, 0, 0, 10_000);
    one.change(log, ChangeKind::Writing);
    one.mark_due(later);
    assert!(
        one.record_arrival(later + Duration::from_millis(20)),
        "it is gathered anew, for nobody has taken it"
    );
    assert_eq!(due(&mut one, later, 30), 220);
    one.pending.last = Some(later + Duration::from_secs(5));
    assert_eq!(due(&mut one, later, 5_000), 1_020, "from time to time");
    one.change(code, ChangeKind::Complete);
    assert_eq!(due(&mut one, later, 5_000), 22);
    one.change(log, ChangeKind::Complete);
    one.change(log, ChangeKind::Writing);
    assert_eq!(due(&mut one, later, 5_000), 5_200, "it was closed, and is like any other");
}

#[test]
fn new_links_are_complete_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("file"), "").expect("a file");
    std::fs::write(path("other"), "").expect("a file");
    std::os::unix::fs::symlink("file", path("symbolic")).expect("a link");
    std::fs::hard_link(path("file"), path("hard")).expect("a link");
    let due_new = |name: &str| {
        let begin = Instant::now();
        let mut one = mailbox(begin, 0, 0, 0);
        one.change(&path(name), ChangeKind::Created);
        due(&mut one, begin, 3)
    };
    assert_eq!((due_new("symbolic"), due_new("hard"), due_new("gone")), (2, 2, 2));
    assert_eq!(due_new("other"), 200);
}

#[test]
fn batched_paths_are_due_after_burst() {
    let begin = Instant::now();
    let mut some = Mailbox { batched_paths: vec!["/p/code".into()], ..mailbox(begin, 3, 0, 25) };
    some.change(Path::new("/p/picture"), ChangeKind::Complete);
    assert_eq!(due(&mut some, begin, 26), 2);
    some.change(Path::new("/p/code/main"), ChangeKind::Complete);
    assert_eq!(due(&mut some, begin, 26), 55);
}

#[test]
fn created_and_deleted_file_is_not_reported() {
    let told = |contents: &[ChangeKind]| {
        let mut mailbox = Mailbox::default();
        for content in contents {
            mailbox.change(Path::new("/p"), *content);
        }
        assert!(mailbox.pending.being_written.iter().all(|path| mailbox.pending.changes.contains_key(path)));
        !mailbox.pending.is_empty()
    };
    assert!(!told(&[ChangeKind::Created, ChangeKind::Writing, ChangeKind::Complete, ChangeKind::Deleted]));
    assert!(!told(&[ChangeKind::Created, ChangeKind::Deleted]));
    assert!(told(&[ChangeKind::Created, ChangeKind::Deleted, ChangeKind::Created]), "it is there in the end");
    assert!(told(&[ChangeKind::Deleted, ChangeKind::Created, ChangeKind::Deleted]), "it was there before");
    assert!(told(&[ChangeKind::Complete, ChangeKind::Deleted]), "it may have taken the place of another");
    assert!(told(&[ChangeKind::Complete, ChangeKind::Folder, ChangeKind::Deleted]));
    assert!(told(&[ChangeKind::Folder, ChangeKind::Discovered]));
}

#[test]
fn burst_is_due_after_quiet_period() {
    let begin = Instant::now();
    assert_eq!(due(&mut mailbox(begin, BURST_SIZE + 1, 0, 3), begin, 4), 33);
    assert_eq!(due(&mut mailbox(begin, 50_000, 0, 7_000), begin, 7_001), 7_030);
    assert_eq!(due(&mut mailbox(begin, 50_000, 0, 60_000), begin, 60_000), 10_000, "but not for ever");
}

#[test]
fn batch_waits_until_git_releases_lock() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lock = folder.path().join("index.lock");
    std::fs::write(&lock, "").expect("a lock");
    let begin = Instant::now();
    let mut one = mailbox(begin, 1, 0, 0);
    one.pending.lock = Some(Some(lock.clone()));
    assert_eq!(due(&mut one, begin, 5), 250, "it works");
    std::fs::remove_file(lock).expect("a removal");
    assert_eq!(due(&mut one, begin, 20), 30, "it is done");
}
