//! Memory that the system may have back.
#![allow(unsafe_code, reason = "calls of the system that cannot be checked by the language")]

use std::path::Path;

use rustix::mm::{Advice, madvise};

/// Lets all threads take memory from a few common pools. By itself the C library gives each thread its own and keeps what
/// each once needed: a long log read by whichever thread is free would be held by all of them. To be called before there
/// are threads.
pub fn share_pools() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a number inside of the C library, which may be done at any time.
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, 2);
    }
}

/// Returns how much memory this process takes, in bytes; none where that is not known.
pub fn resident_size() -> Option<usize> {
    // The second number counts the resident pages. Pages are never smaller than this.
    const PAGE: usize = 4096;
    let numbers = std::fs::read_to_string("/proc/self/statm").ok()?;
    numbers.split(' ').nth(1)?.parse::<usize>().ok().map(|pages| pages * PAGE)
}

/// Gives back the pages of lilt's own code and constants. Most of them are needed once, at the start or when a Tiltfile is
/// loaded; what is needed again is brought in by the system, from its cache of files.
pub fn give_back_code() {
    let (Ok(maps), Ok(program)) = (std::fs::read_to_string("/proc/self/maps"), std::env::current_exe())
    else {
        return;
    };
    for (begin, length) in code(&maps, &program) {
        let begin = std::ptr::without_provenance_mut(begin);
        // SAFETY: the range is a mapping of this program's file that was never written to: it holds nothing but the
        // file's content, which is read anew at the next access. Nothing is unmapped or moved.
        let given = unsafe { madvise(begin, length, Advice::LinuxDontNeed) };
        if let Err(error) = given {
            tracing::debug!(%error, "pages of code stay");
        }
    }
}

/// The mappings with a program's code and constants: where they begin and how long they are. A mapping that can only be
/// read may have been written to when the program was linked, at its start; the one of the file's beginning was not.
fn code<'m>(maps: &'m str, program: &'m Path) -> impl Iterator<Item = (usize, usize)> + 'm {
    maps.lines().filter_map(move |line| {
        let mut words = line.split_whitespace();
        let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
        let file = words.nth(2)?;
        let (begin, end) = range.split_once('-')?;
        let (begin, end) = (usize::from_str_radix(begin, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        let is_first = offset.bytes().all(|digit| digit == b'0');
        let is_clean = rights == "r-xp" || (rights == "r--p" && is_first);
        (is_clean && Path::new(file) == program).then(|| (begin, end.saturating_sub(begin)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_never_written_to_is_meant() {
        let maps = "\
1000-3000 r--p 00000000 fe:00 1 /bin/lilt
3000-9000 r-xp 00002000 fe:00 1                    /bin/lilt
9000-a000 r--p 00008000 fe:00 1 /bin/lilt
a000-b000 rw-p 00009000 fe:00 1 /bin/lilt
b000-c000 r-xp 00000000 fe:00 2 /lib/libc.so.6
d000-e000 rw-p 00000000 00:00 0
";
        assert_eq!(
            code(maps, Path::new("/bin/lilt")).collect::<Vec<_>>(),
            [(0x1000, 0x2000), (0x3000, 0x6000)]
        );
    }

    #[test]
    fn a_program_goes_on_without_its_pages() {
        give_back_code();
        give_back_code();
        assert_eq!("still here".len(), 10);
    }
}
