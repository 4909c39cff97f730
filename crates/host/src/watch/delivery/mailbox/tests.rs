use super::*;

fn gathered(begin: Instant, count: usize, first: u64, last: u64) -> Gathered {
    let complete = Change { content: Content::Complete, new: false };
    let changes = (0..count).map(|index| (PathBuf::from(format!("/p/{index}")), complete));
    Gathered {
        changes: changes.collect(),
        since: Some(begin + Duration::from_millis(first)),
        last: Some(begin + Duration::from_millis(last)),
        lock: Some(None),
        ..Gathered::default()
    }
}

/// A mailbox with so many changes, the first and the last of them so many milliseconds after `begin`.
fn mailbox(begin: Instant, count: usize, first: u64, last: u64) -> Mailbox {
    Mailbox { gathered: gathered(begin, count, first, last), ..Mailbox::default() }
}

/// When it is due, asked at that many milliseconds.
fn due(mailbox: &mut Mailbox, begin: Instant, now: u64) -> u128 {
    let (due, _) = mailbox.due(begin + Duration::from_millis(now)).expect("it has changes");
    (due - begin).as_millis()
}

#[test]
fn a_save_is_told_at_once() {
    let begin = Instant::now();
    let mut one = mailbox(begin, 1, 0, 0);
    assert_eq!((due(&mut one, begin, 0), due(&mut one, begin, 3)), (2, 2));
    assert_eq!(due(&mut mailbox(begin, MANY, 0, 40), begin, 41), 2, "a few files are no burst");
}

#[test]
fn what_is_being_written_is_waited_for() {
    let begin = Instant::now();
    let file = Path::new("/p/0");
    let mut one = mailbox(begin, 1, 0, 0);
    one.change(file, Content::Writing);
    assert_eq!(due(&mut one, begin, 3), 200, "it may be in the middle of being written");
    one.change(file, Content::Touched);
    one.gathered.last = Some(begin + Duration::from_millis(150));
    assert_eq!(due(&mut one, begin, 151), 350, "it goes on");
    assert!(one.change(file, Content::Complete), "it is closed");
    assert_eq!(due(&mut one, begin, 152), 2, "at once");
    one.change(file, Content::Writing);
    one.gathered.last = Some(begin + Duration::from_secs(60));
    assert_eq!(due(&mut one, begin, 60_001), 10_000, "but not for ever");
}

#[test]
fn others_do_not_wait_for_what_is_written_all_the_time() {
    let begin = Instant::now();
    let (log, code) = (Path::new("/p/0"), Path::new("/p/1"));
    let later = begin + Duration::from_secs(10);
    let mut one = mailbox(begin, 0, 0, 10_000);
    one.change(log, Content::Writing);
    one.ripen(later, 0);
    assert!(one.note(later + Duration::from_millis(20)), "it is gathered anew, for nobody has taken it");
    assert_eq!(due(&mut one, later, 30), 220);
    one.gathered.last = Some(later + Duration::from_secs(5));
    assert_eq!(due(&mut one, later, 5_000), 1_020, "from time to time");
    one.change(code, Content::Complete);
    assert_eq!(due(&mut one, later, 5_000), 22);
    one.change(log, Content::Complete);
    one.change(log, Content::Writing);
    assert_eq!(due(&mut one, later, 5_000), 5_200, "it was closed, and is like any other");
}

#[test]
fn links_need_no_closing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("file"), "").expect("a file");
    std::fs::write(path("other"), "").expect("a file");
    std::os::unix::fs::symlink("file", path("symbolic")).expect("a link");
    std::fs::hard_link(path("file"), path("hard")).expect("a link");
    let due_new = |name: &str| {
        let begin = Instant::now();
        let mut one = mailbox(begin, 0, 0, 0);
        one.change(&path(name), Content::New);
        due(&mut one, begin, 3)
    };
    assert_eq!((due_new("symbolic"), due_new("hard"), due_new("gone")), (2, 2, 2));
    assert_eq!(due_new("other"), 200);
}

#[test]
fn what_belongs_together_is_told_when_its_burst_has_passed() {
    let begin = Instant::now();
    let mut some = Mailbox { together: vec!["/p/code".into()], ..mailbox(begin, 3, 0, 25) };
    some.change(Path::new("/p/picture"), Content::Complete);
    assert_eq!(due(&mut some, begin, 26), 2);
    some.change(Path::new("/p/code/main"), Content::Complete);
    assert_eq!(due(&mut some, begin, 26), 55);
}

#[test]
fn what_came_and_went_was_never_there() {
    let told = |contents: &[Content]| {
        let mut mailbox = Mailbox::default();
        for content in contents {
            mailbox.change(Path::new("/p"), *content);
        }
        assert!(mailbox.gathered.open.iter().all(|path| mailbox.gathered.changes.contains_key(path)));
        !mailbox.gathered.is_empty()
    };
    assert!(!told(&[Content::New, Content::Writing, Content::Complete, Content::Gone]));
    assert!(!told(&[Content::New, Content::Gone]));
    assert!(told(&[Content::New, Content::Gone, Content::New]), "it is there in the end");
    assert!(told(&[Content::Gone, Content::New, Content::Gone]), "it was there before");
    assert!(told(&[Content::Complete, Content::Gone]), "it may have taken the place of another");
    assert!(told(&[Content::Complete, Content::Folder, Content::Gone]));
    assert!(told(&[Content::Folder, Content::Found]));
}

#[test]
fn a_burst_is_told_when_it_has_passed() {
    let begin = Instant::now();
    assert_eq!(due(&mut mailbox(begin, MANY + 1, 0, 3), begin, 4), 33);
    assert_eq!(due(&mut mailbox(begin, 50_000, 0, 7_000), begin, 7_001), 7_030);
    assert_eq!(due(&mut mailbox(begin, 50_000, 0, 60_000), begin, 60_000), 10_000, "but not for ever");
}

#[test]
fn what_git_changes_is_told_when_it_is_done() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lock = folder.path().join("index.lock");
    std::fs::write(&lock, "").expect("a lock");
    let begin = Instant::now();
    let mut one = mailbox(begin, 1, 0, 0);
    one.gathered.lock = Some(Some(lock.clone()));
    assert_eq!(due(&mut one, begin, 5), 250, "it works");
    std::fs::remove_file(lock).expect("a removal");
    assert_eq!(due(&mut one, begin, 20), 30, "it is done");
}
