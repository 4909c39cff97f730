//! The name of one directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// With the length and the choice between the two, as big as a pointer and a length.
const SHORT: usize = 14;

/// Most names are short: those need no memory of their own, which would be at least twice the size of this.
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
    /// The bytes that it takes on the heap: a pointer to a pointer, and the rest of what common allocators hand out.
    pub(super) fn size(&self) -> usize {
        match self {
            Name::Short { .. } => 0,
            Name::Long(name) => 32 + (name.len() + 8).next_multiple_of(16).max(32),
        }
    }
}
