//! Names that are never reported: temporary files of editors, and folders of tools such as `.git`.

/// Returns whether a file is a temporary one that editors and tools create beside the files they write. The list is
/// Tilt's.
pub(super) fn is_temporary(name: &str) -> bool {
    let dotted = |suffix: &str| name.len() > suffix.len() && name.starts_with('.') && name.ends_with(suffix);
    name == "4913"
        || name.ends_with('~')
        || name.ends_with("___jb_old___")
        || name.ends_with("___jb_tmp___")
        || name.ends_with("-go-tmp-umask")
        || name.starts_with(".#")
        || (name.len() > 1 && name.starts_with('#') && name.ends_with('#'))
        || name.strip_prefix("flymake_").is_some_and(|rest| rest.contains('.'))
        || [".swp", ".swx", ".swo", ".swn", ".kate-swp"].into_iter().any(dotted)
}

/// Returns whether a folder is never watched below a root. (A root may still be inside of one.)
pub(super) fn is_private_folder(name: &str) -> bool {
    name == ".git" || name == ".idea" || is_temporary(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_of_editors_are_recognized() {
        for name in [
            "4913",
            "main.go~",
            ".main.go.swp",
            ".x.swx",
            ".x.swo",
            ".x.swn",
            ".x.kate-swp",
            ".#main.go",
            "#main.go#",
            "main.go___jb_tmp___",
            "main.go___jb_old___",
            "flymake_main.go",
            "x-go-tmp-umask",
        ] {
            assert!(is_temporary(name), "{name}");
        }
        for name in ["main.go", "49130", "a.swp", ".swp", "#", "#a", "flymake_", ".gitignore", "~a", ".swf"] {
            assert!(!is_temporary(name), "{name}");
        }
        assert!(is_private_folder(".git") && is_private_folder(".idea") && !is_private_folder(".github"));
    }
}
