//! Keeps the resident memory of this process small.
#![allow(unsafe_code, reason = "mallopt and madvise have no safe wrapper")]

use std::path::Path;

use rustix::mm::{Advice, madvise};

/// Limits glibc to a few malloc arenas for all threads. By default it creates one for each thread and keeps what each
/// once needed: every worker thread that ever read a long log would hold that much. Must be called before threads
/// start.
pub fn limit_malloc_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` sets a number inside glibc and may be called at any time.
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

/// Releases the resident pages of lilt's own code and constants. Most of them are needed once, at the start or when a Tiltfile
/// is loaded; the kernel reloads others from the page cache on access.
pub fn release_code_pages() {
    let (Ok(maps), Ok(program)) = (std::fs::read_to_string("/proc/self/maps"), std::env::current_exe())
    else {
        return;
    };
    for (begin, length) in code_mappings(&maps, &program) {
        let begin = std::ptr::without_provenance_mut(begin);
        // SAFETY: the range is a mapping of this program's file that was never written to. It holds only the file's
        // content, which the kernel reads again at the next access. Nothing is unmapped or moved.
        let released = unsafe { madvise(begin, length, Advice::LinuxDontNeed) };
        if let Err(error) = released {
            tracing::debug!(%error, "code pages stay resident");
        }
    }
}

/// Returns start and length of the mappings with a program's code and constants. A read-only mapping may have been
/// written to by the dynamic linker; the one of the file's beginning was not.
fn code_mappings<'m>(maps: &'m str, program: &'m Path) -> impl Iterator<Item = (usize, usize)> + 'm {
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
    fn code_mappings_excludes_writable_and_foreign_mappings() {
        let maps = "\
1000-3000 r--p 00000000 fe:00 1 /bin/lilt
3000-9000 r-xp 00002000 fe:00 1                    /bin/lilt
9000-a000 r--p 00008000 fe:00 1 /bin/lilt
a000-b000 rw-p 00009000 fe:00 1 /bin/lilt
b000-c000 r-xp 00000000 fe:00 2 /lib/libc.so.6
d000-e000 rw-p 00000000 00:00 0
";
        assert_eq!(
            code_mappings(maps, Path::new("/bin/lilt")).collect::<Vec<_>>(),
            [(0x1000, 0x2000), (0x3000, 0x6000)]
        );
    }

    #[test]
    fn program_continues_after_release_of_code_pages() {
        release_code_pages();
        release_code_pages();
        assert_eq!("still here".len(), 10);
    }
}
