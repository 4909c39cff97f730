//! Memory that the system may have back.
#![allow(unsafe_code, reason = "the system call cannot be checked by the language")]

use std::path::Path;

use rustix::mm::{Advice, madvise};

/// Gives back the pages of lilt's own code. Most of it runs once, when a Tiltfile is loaded; what is needed again is
/// brought in by the system when it runs, from its cache of files.
pub fn give_back_code() {
    let (Ok(maps), Ok(program)) = (std::fs::read_to_string("/proc/self/maps"), std::env::current_exe())
    else {
        return;
    };
    for (begin, length) in code(&maps, &program) {
        let begin = std::ptr::without_provenance_mut(begin);
        // SAFETY: the range is a mapping of this program's file that is executable and not writable: it holds nothing
        // but the file's content, which is read anew at the next access. Nothing is unmapped or moved.
        let given = unsafe { madvise(begin, length, Advice::LinuxDontNeed) };
        if let Err(error) = given {
            tracing::debug!(%error, "pages of code stay");
        }
    }
}

/// The mappings with a program's code: where they begin and how long they are.
fn code<'m>(maps: &'m str, program: &'m Path) -> impl Iterator<Item = (usize, usize)> + 'm {
    maps.lines().filter_map(move |line| {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next()?, words.next()?);
        let file = words.nth(3)?;
        let (begin, end) = range.split_once('-')?;
        let (begin, end) = (usize::from_str_radix(begin, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        (rights == "r-xp" && Path::new(file) == program).then(|| (begin, end.saturating_sub(begin)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_programs_own_code_is_meant() {
        let maps = "\
1000-3000 r--p 00000000 fe:00 1 /bin/lilt
3000-9000 r-xp 00002000 fe:00 1                    /bin/lilt
9000-a000 rw-p 00008000 fe:00 1 /bin/lilt
b000-c000 r-xp 00000000 fe:00 2 /lib/libc.so.6
d000-e000 rw-p 00000000 00:00 0
";
        assert_eq!(code(maps, Path::new("/bin/lilt")).collect::<Vec<_>>(), [(0x3000, 0x6000)]);
    }

    #[test]
    fn a_program_goes_on_without_its_pages() {
        give_back_code();
        give_back_code();
        assert_eq!("still here".len(), 10);
    }
}
