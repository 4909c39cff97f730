//! Output that does not arrive line by line.

use std::time::Duration;

use lilt_model::log::Level;

use super::{secret, span, store, texts};
use crate::logs::MAX_EARLIER_SECRETS;

/// Advances the time, and stores lines that are due.
async fn pass(reader: &super::LogReader, time: Duration) {
    tokio::time::advance(time).await;
    reader.store_partial();
}

#[tokio::test(start_paused = true)]
async fn prompt_is_stored_after_a_delay_and_continued() {
    let (writer, reader) = store();
    let mut out = span(&writer, "web");
    out.write(b"Name? ");
    pass(&reader, Duration::from_millis(200)).await;
    assert_eq!(reader.end(), 0, "it may still get its end");
    let shown = reader.grown(0).await;
    assert_eq!(shown, 1);
    let lines = reader.read(0, 10);
    assert_eq!(texts(&lines), ["Name? "]);
    assert!(lines[0].open && !lines[0].continues);
    out.write(b"Alice\nnext\n");
    let lines = reader.read(1, 10);
    assert_eq!(texts(&lines), ["Alice", "next"]);
    assert!(lines[0].continues && !lines[0].open && !lines[1].continues);
}

#[tokio::test(start_paused = true)]
async fn partial_line_ends_with_its_span() {
    let (writer, reader) = store();
    let mut out = span(&writer, "web");
    out.write(b"bye");
    pass(&reader, Duration::from_secs(1)).await;
    out.print(Level::Error, "ERROR: gone");
    let lines = reader.read(0, 10);
    assert_eq!(texts(&lines), ["bye", "", "ERROR: gone"]);
    assert!(lines[0].open && lines[1].continues && !lines[1].open);
    drop(out);
    assert_eq!(reader.end(), 3);
}

#[tokio::test(start_paused = true)]
async fn incomplete_character_or_line_end_is_held_back() {
    let (writer, reader) = store();
    let mut out = span(&writer, "web");
    out.write(b"a\xe2\x82");
    pass(&reader, Duration::from_secs(1)).await;
    out.write(b"\xac\r");
    pass(&reader, Duration::from_secs(1)).await;
    out.write(b"\n");
    assert_eq!(texts(&reader.read(0, 10)), ["a", "\u{20ac}", ""]);
}

#[test]
fn overwritten_line_has_its_last_state() {
    let (writer, reader) = store();
    let mut out = span(&writer, "web");
    out.write(b"10%\r20%\r");
    for percent in 0..100_000 {
        out.write(format!("\r{percent} of 100000").as_bytes());
    }
    out.write(b"\rdone\r\nnext\r\n");
    assert_eq!(texts(&reader.read(0, 10)), ["done", "next"]);
}

#[tokio::test(start_paused = true)]
async fn long_progress_bar_is_stored_periodically() {
    let (writer, reader) = store();
    let mut out = span(&writer, "web");
    for second in 0..600 {
        out.write(format!("\r{second} s").as_bytes());
        pass(&reader, Duration::from_secs(1)).await;
    }
    out.write(b"\n");
    let lines = reader.read(0, 100);
    assert!((5..15).contains(&lines.len()), "{:?}", texts(&lines));
    assert_eq!(lines[0].text, "0 s");
    assert_eq!(lines.last().unwrap().text, "599 s");
    // None continues another line.
    assert!(lines.iter().all(|line| !line.continues), "{lines:?}");
}

#[test]
fn very_long_line_is_stored_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) =
        super::LogWriter::open(Some(folder.path().to_owned()), || lilt_model::Timestamp(7));
    let mut out = span(&writer, "web");
    let text = "ä".repeat(5 * 1024 * 1024);
    for chunk in text.as_bytes().chunks(8191) {
        out.write(chunk);
    }
    out.write(b"\nnext\n");
    out.info(&text);
    let lines = reader.read(0, 1000);
    let next = lines.iter().position(|line| line.text == "next").unwrap();
    for pieces in [&lines[..next], &lines[next + 1..]] {
        assert_eq!(pieces.iter().map(|line| line.text.as_str()).collect::<String>(), text);
        let (last, others) = pieces.split_last().unwrap();
        assert!(others.iter().all(|line| line.open) && !last.open && !pieces[0].continues);
        assert!(pieces[1..].iter().all(|line| line.continues));
    }
    assert_eq!(reader.tail(&super::super::Filter::default(), 2, &|| true), next as u64);
}

#[test]
fn secret_is_redacted_however_output_is_split() {
    for cut in 0..40 {
        let (writer, reader) = store();
        writer.set_secrets(&[secret("password", "hunter2hunter2")]);
        let mut out = span(&writer, "web");
        let text = b"the password is hunter2hunter2, keep it\n";
        out.write(&text[..cut]);
        out.write(&text[cut..]);
        assert_eq!(texts(&reader.read(0, 2)), ["the password is [redacted secret db:password], keep it"]);
    }
}

#[tokio::test(start_paused = true)]
async fn possible_beginning_of_a_secret_is_held_back() {
    let (writer, reader) = store();
    writer.set_secrets(&[secret("password", "hunter2hunter2")]);
    let mut out = span(&writer, "web");
    for byte in b"is hunter2hunter2!" {
        out.write(&[*byte]);
        pass(&reader, Duration::from_secs(1)).await;
    }
    out.end_line();
    let lines = reader.read(0, 100);
    let whole: String = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(whole, "is [redacted secret db:password]!");
}

#[test]
fn secret_with_several_lines_is_redacted_line_by_line() {
    let key = "{\n  port: 8080\n\n  user: me\n}";
    let printed = "config: {\n    port: 8080\n\n    user: me\n} done\n{\nelse\nport: 8080\n";
    for size in 1..printed.len() {
        let (writer, reader) = store();
        writer.set_secrets(&[secret("other", "{\n  port: 1\n"), secret("config", key)]);
        let mut out = span(&writer, "web");
        printed.as_bytes().chunks(size).for_each(|chunk| out.write(chunk));
        drop(out);
        let hidden = "[redacted secret db:config]";
        let expected = [
            &format!("config: {hidden}"),
            hidden,
            hidden,
            hidden,
            &format!("{hidden} done"),
            "{",
            "else",
            "port: 8080",
        ];
        assert_eq!(texts(&reader.read(0, 20)), expected, "in writes of {size}");
    }
}

#[tokio::test(start_paused = true)]
async fn held_back_line_is_stored_if_nothing_follows() {
    let (writer, reader) = store();
    writer.set_secrets(&[secret("config", "{\n  port: 8080\n}")]);
    let mut out = span(&writer, "web");
    out.write(b"{\n");
    assert_eq!(reader.end(), 0);
    reader.grown(0).await;
    assert_eq!(texts(&reader.read(0, 2)), ["{"]);
    out.write(b"{\n");
    out.end_line();
    assert_eq!(texts(&reader.read(1, 2)), ["{"]);
}

#[test]
fn own_lines_are_redacted() {
    let (writer, reader) = store();
    let mut early = span(&writer, "web");
    early.info("before");
    writer.set_secrets(&[secret("password", "hunter2"), secret("key", "one line\nand another")]);
    early.print(Level::Error, "it broke: hunter2\none line\nand another");
    let expected = ["before", "it broke: [redacted secret db:password]", "[redacted secret db:key]"];
    assert_eq!(texts(&reader.read(0, 10)), expected);
}

#[test]
fn earlier_value_of_a_secret_stays_redacted() {
    let (writer, reader) = store();
    let mut web = span(&writer, "web");
    writer.set_secrets(&[secret("password", "hunter2")]);
    writer.set_secrets(&[secret("password", "correct-horse")]);
    web.info("hunter2 correct-horse");
    // Up to a limit, since memory and time per line grow with their number.
    for number in 0..=MAX_EARLIER_SECRETS {
        writer.set_secrets(&[secret("password", &format!("value-{number}-value"))]);
    }
    web.info("hunter2 value-0-value");
    let hidden = "[redacted secret db:password]";
    let expected = [format!("{hidden} {hidden}"), format!("hunter2 {hidden}")];
    assert_eq!(texts(&reader.read(0, 10)), expected);
}
