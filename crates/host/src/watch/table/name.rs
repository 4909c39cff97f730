//! A directory name that stores short names inline.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// Together with the length and the discriminant, as big as a pointer and a length.
const SHORT: usize = 14;

/// Short names, which are most of them, need no heap allocation, which would take at least twice the size of this.
#[derive(Debug)]
pub(super) enum Name {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<Box<OsStr>>),
}

impl Default for Name {
    fn default() -> Self {
        Name::Short { length: 0, bytes: [0; SHORT] }
    }
}

impl From<&OsStr> for Name {
    fn from(name: &OsStr) -> Self {
        let mut bytes = [0; SHORT];
        match (u8::try_from(name.len()), bytes.get_mut(..name.len())) {
            (Ok(length), Some(place)) => {
                place.copy_from_slice(name.as_bytes());
                Name::Short { length, bytes }
            }
            _ => Name::Long(Box::new(name.into())),
        }
    }
}

impl AsRef<OsStr> for Name {
    fn as_ref(&self) -> &OsStr {
        match self {
            Name::Short { length, bytes } => OsStr::from_bytes(&bytes[..usize::from(*length)]),
            Name::Long(name) => name,
        }
    }
}

#[cfg(test)]
impl Name {
    /// Returns the bytes on the heap: a boxed pointer and the name, as common allocators round them.
    pub(super) fn size(&self) -> usize {
        match self {
            Name::Short { .. } => 0,
            Name::Long(name) => 32 + (name.len() + 8).next_multiple_of(16).max(32),
        }
    }
}
