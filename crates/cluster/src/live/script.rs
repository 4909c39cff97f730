//! The shell script of a live update channel. POSIX sh, restricted to what dash and busybox support.
//!
//! A request is one line, evaluated in a subshell; `read` never reads beyond it. Data follows the line and is read by
//! length. Which program reads an exact number of bytes from a pipe differs (GNU head does, busybox head reads
//! ahead), so the script tries them first.

use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Random, so that no output contains it by accident.
pub(super) fn new_marker() -> String {
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

/// What the script finds in its container.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) has_tar: bool,
    /// As printed by `uname -m`.
    pub(super) machine: String,
    /// Whether a program can be stored and started.
    pub(super) takes_programs: bool,
}

/// Returns the script. It first prints what it found in the container.
///
/// The agent may be stored in the first of `folders` that allows it, and is deleted whenever the script exits.
/// Variables have long names because they are visible to the container's commands.
pub(super) fn serve(marker: &str, folders: &[&str]) -> String {
    let folders: Vec<String> = folders.iter().map(|folder| quote(folder)).collect();
    format!(
        r#"lilt_marker={marker}
lilt_line='
'
lilt_most=262144
lilt_head() {{ head -c "$1"; }}
lilt_block() {{
  lilt_left=$1
  while [ "$lilt_left" -gt $lilt_most ]; do
    dd bs=$lilt_most count=1 iflag=fullblock || return
    lilt_left=$((lilt_left-lilt_most))
  done
  dd bs="$lilt_left" count=1 iflag=fullblock
}} 2>/dev/null
lilt_byte() {{ dd bs=1 count="$1"; }} 2>/dev/null
lilt_reader=false
for lilt_try in lilt_head lilt_block lilt_byte; do
  if [ "$(printf 'abcdef\n' | {{ $lilt_try 3 >/dev/null 2>&1; IFS= read -r x; printf %s "$x"; }})" = def ]; then
    lilt_reader=$lilt_try
    break
  fi
done
lilt_tar=no
if command -v tar >/dev/null 2>&1; then lilt_tar=tar; fi
lilt_agent=
trap 'if [ -n "$lilt_agent" ]; then rm -f "$lilt_agent"; fi' EXIT
trap 'exit 1' HUP INT PIPE TERM
lilt_new() {{ ( umask 077; set -C; cat >"$1" ) && chmod 700 "$1"; }} 2>/dev/null
lilt_machine=unknown
lilt_takes=no
if [ $lilt_reader != false ]; then
  for lilt_try in {folders}; do
    lilt_agent=$lilt_try/.lilt-agent-$lilt_marker
    if printf 'exit 0\n' | lilt_new "$lilt_agent" && "$lilt_agent" </dev/null >/dev/null 2>&1; then lilt_takes=yes; fi
    rm -f "$lilt_agent" 2>/dev/null
    if [ $lilt_takes = yes ]; then lilt_machine=$(uname -m 2>/dev/null) || lilt_machine=unknown; break; fi
  done
fi
printf '\001%s %s\n' "$lilt_marker" "$lilt_tar $lilt_takes $lilt_machine"
while IFS= read -r lilt_request; do
  if [ "$lilt_request" = {BECOME_AGENT} ]; then exec "$lilt_agent" serve --guest "$lilt_agent"; fi
  ( eval "$lilt_request" )
  lilt_status=$?
  printf '\001%s %d\n' "$lilt_marker" $lilt_status
  printf '\001%s %d\n' "$lilt_marker" $lilt_status >&2
done
"#,
        folders = folders.join(" ")
    )
}

impl Hello {
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (tar, takes) = (words.next()?, words.next()?);
        let machine = words.next().unwrap_or_default().to_owned();
        Some(Self { has_tar: tar == "tar", machine, takes_programs: takes == "yes" })
    }
}

/// The line that replaces the script with the uploaded agent. Not a command.
pub(super) const BECOME_AGENT: &str = "lilt_become_agent";

/// Stores the agent, whose `length` bytes follow, and checks that it starts. All bytes are read, because the rest
/// would be taken for requests.
pub(super) fn upload_agent(length: usize) -> String {
    format!(
        "$lilt_reader {length} | {{ lilt_new \"$lilt_agent\"; s=$?; cat >/dev/null; exit $s; }} && \
         \"$lilt_agent\" check </dev/null >/dev/null 2>&1 || {{ rm -f \"$lilt_agent\"; exit 1; }}\n"
    )
}

/// Removes paths, then unpacks the following `length` bytes. All bytes are read even if tar fails, because the rest
/// would be taken for requests.
pub(super) fn update(removals: &[String], length: Option<usize>) -> String {
    let mut script = "r=0;".to_owned();
    if !removals.is_empty() {
        let paths: Vec<String> = removals.iter().map(|path| quote(path)).collect();
        let _ = write!(script, " rm -rf -- {} </dev/null || r=$?;", paths.join(" "));
    }
    if let Some(length) = length {
        let _ = write!(
            script,
            " $lilt_reader {length} | {{ tar -xpf - -C /; s=$?; cat >/dev/null; exit $s; }} || r=$?;"
        );
    }
    script.push_str(" exit $r\n");
    script
}

/// Removes directories in the place of files and links, which tar does not do. The exit status if there were any:
pub(super) const REMOVED_DIRECTORY: i32 = 3;
pub(super) fn remove_directories(paths: &[&str]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| quote(path)).collect();
    format!(
        "s=0; for p in {}; do if [ -d \"$p\" ] && [ ! -L \"$p\" ]; then rm -rf -- \"$p\" </dev/null || exit 1; s={REMOVED_DIRECTORY}; fi; \
         done; exit $s\n",
        paths.join(" ")
    )
}

/// Runs a command without access to the channel.
pub(super) fn run(argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|word| quote(word)).collect();
    format!("exec {} </dev/null\n", words.join(" "))
}

/// Quotes a word for the shell, on one line.
fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''").replace('\n', "'\"$lilt_line\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_on_one_line() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote("two\nlines"), "'two'\"$lilt_line\"'lines'");
        assert_eq!(run(&["echo".to_owned(), "$x".to_owned()]), "exec 'echo' '$x' </dev/null\n");
    }

    #[test]
    fn every_request_is_one_line() {
        for line in
            [update(&["/a\n".to_owned()], Some(3)), upload_agent(3), remove_directories(&["/a\n", "/b"])]
        {
            assert_eq!(line.matches('\n').count(), 1);
            assert!(line.ends_with('\n'));
        }
    }
}
