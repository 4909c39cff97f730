//! The shell's side of a live update channel: POSIX sh, no more than dash and busybox have.
//!
//! A request is one line, evaluated in a subshell; `read` takes a pipe byte by byte and never too much. Data
//! follows the line and is read by count. Which program reads exactly so many bytes from a pipe differs (GNU head
//! does, busybox head reads ahead), so the loop tries them first.

use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Random enough that no output contains it by accident.
pub(super) fn new_marker() -> String {
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

/// The loop. It says hello with the reader it found and whether there is tar.
pub(super) fn serve(marker: &str) -> String {
    format!(
        r#"M={marker}
N='
'
B=262144
lilt_head() {{ head -c "$1"; }}
lilt_block() {{
  n=$1
  while [ "$n" -gt $B ]; do dd bs=$B count=1 iflag=fullblock || return; n=$((n-B)); done
  dd bs="$n" count=1 iflag=fullblock
}} 2>/dev/null
lilt_byte() {{ dd bs=1 count="$1"; }} 2>/dev/null
R=false
for f in lilt_head lilt_block lilt_byte; do
  if [ "$(printf 'abcdef\n' | {{ $f 3 >/dev/null 2>&1; IFS= read -r x; printf %s "$x"; }})" = def ]; then R=$f; break; fi
done
T=no
if command -v tar >/dev/null 2>&1; then T=tar; fi
printf '\001%s %s\n' "$M" "$R $T"
while IFS= read -r L; do
  ( eval "$L" )
  s=$?
  printf '\001%s %d\n' "$M" $s
  printf '\001%s %d\n' "$M" $s >&2
done
"#
    )
}

pub(super) fn says_tar(hello: &str) -> bool {
    hello.trim_end().ends_with(" tar")
}

/// Removes paths, then unpacks `length` bytes that follow. All of them are read even if tar gives up, or the rest
/// would be taken for requests.
pub(super) fn update(removals: &[String], length: Option<usize>) -> String {
    let mut script = "r=0;".to_owned();
    if !removals.is_empty() {
        let paths: Vec<String> = removals.iter().map(|path| quote(path)).collect();
        let _ = write!(script, " rm -rf -- {} </dev/null || r=$?;", paths.join(" "));
    }
    if let Some(length) = length {
        let _ =
            write!(script, " $R {length} | {{ tar -xf - -C /; s=$?; cat >/dev/null; exit $s; }} || r=$?;");
    }
    script.push_str(" exit $r\n");
    script
}

/// Runs a command that cannot read the channel.
pub(super) fn run(argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|word| quote(word)).collect();
    format!("exec {} </dev/null\n", words.join(" "))
}

/// One word of the shell, on one line: `$N` is a line end.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''").replace('\n', "'\"$N\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_on_one_line() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote("two\nlines"), "'two'\"$N\"'lines'");
        assert_eq!(run(&["echo".to_owned(), "$x".to_owned()]), "exec 'echo' '$x' </dev/null\n");
    }

    #[test]
    fn an_update_is_one_line() {
        let line = update(&["/a\n".to_owned()], Some(3));
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.ends_with('\n'));
    }
}
