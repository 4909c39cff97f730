//! The environment variables that lilt itself reads, standard folders, and lookup of programs in `PATH`.
//!
//! Variables that a Tiltfile reads (`os.environ`) or that commands inherit are not listed here.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The address the web server listens on.
pub const TILT_HOST: &str = "TILT_HOST";
/// The port of the web server.
pub const TILT_PORT: &str = "TILT_PORT";
/// The file with the addresses of running sessions' APIs.
pub const TILT_CONFIG: &str = "TILT_CONFIG";
/// `1`: the web port requires no token, because a proxy in front of it authenticates.
pub const TILT_DISABLE_HUD_AUTH: &str = "TILT_DISABLE_HUD_AUTH";
/// Host names of proxies and tunnels in front of the web port, separated by commas.
pub const LILT_ALLOWED_HOSTS: &str = "LILT_ALLOWED_HOSTS";
/// If set, the next session on the same port reuses the web port's token.
pub const LILT_KEEP_TOKEN: &str = "LILT_KEEP_TOKEN";
/// The folder of Tilt's own settings. The two variables below are former names of it.
pub const TILT_DEV_DIR: &str = "TILT_DEV_DIR";
pub const WMDAEMON_HOME: &str = "WMDAEMON_HOME";
pub const WINDMILL_DIR: &str = "WINDMILL_DIR";
/// How many gigabytes of log a session keeps on disk; default 4.
pub const LILT_LOG_LIMIT_GB: &str = "LILT_LOG_LIMIT_GB";
/// If set and not empty, terminal output has no colours.
pub const NO_COLOR: &str = "NO_COLOR";
/// The user's home folder: `~`, and the parent of the default cache folder.
pub const HOME: &str = "HOME";
/// The user's name, shown to other sessions on the same cluster.
pub const USER: &str = "USER";
/// Fallback for [`USER`].
pub const LOGNAME: &str = "LOGNAME";
/// Folders searched for programs.
pub const PATH: &str = "PATH";
/// The editor of `lilt edit`, if [`TILT_EDITOR`] is not set.
pub const KUBE_EDITOR: &str = "KUBE_EDITOR";
/// The editor of `lilt args` and `lilt edit`; takes precedence over the others.
pub const TILT_EDITOR: &str = "TILT_EDITOR";
/// The editor if no other variable names one.
pub const EDITOR: &str = "EDITOR";
/// The Docker Compose program.
pub const TILT_DOCKER_COMPOSE_CMD: &str = "TILT_DOCKER_COMPOSE_CMD";
/// The cache folder; session folders live there.
pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
/// The user's browser, or several separated by colons; `%s` stands for the URL.
pub const BROWSER: &str = "BROWSER";
/// The terminal type; only `dumb` matters.
pub const TERM: &str = "TERM";
/// Set where a graphical browser can run (X11).
pub const DISPLAY: &str = "DISPLAY";
/// Set where a graphical browser can run (Wayland).
pub const WAYLAND_DISPLAY: &str = "WAYLAND_DISPLAY";
/// Set in WSL, where the browser of Windows can be used.
pub const WSL_DISTRO_NAME: &str = "WSL_DISTRO_NAME";
/// Set in SSH sessions: the user's browser is on another machine.
pub const SSH_CONNECTION: &str = "SSH_CONNECTION";
/// Set in SSH sessions with a terminal.
pub const SSH_TTY: &str = "SSH_TTY";

/// `poll` polls files instead of waiting for events, `events` never polls. By default lilt polls only where the file
/// system does not report all changes.
pub const LILT_WATCH: &str = "LILT_WATCH";
/// If set, an update of a resource also updates the resources that depend on it.
pub const LILT_CASCADE: &str = "LILT_CASCADE";
/// If set, servers (`serve_cmd`) that exit are restarted, with a growing delay.
pub const LILT_RESTART: &str = "LILT_RESTART";
/// How to handle drift, that is objects deleted or changed in the cluster: `correct` reapplies them at once, `ignore`
/// does not check for drift. By default lilt reports drift, and the next update corrects it.
pub const LILT_DRIFT: &str = "LILT_DRIFT";
/// The file to which the engine's events are recorded.
pub const LILT_RECORD: &str = "LILT_RECORD";
/// Commands, one per line, each of which runs `ctr` on one node of the cluster; images are loaded through them.
pub const LILT_NODE_CTR: &str = "LILT_NODE_CTR";
/// The address of the Docker engine.
pub const DOCKER_HOST: &str = "DOCKER_HOST";
/// The container engine that runs kind's nodes, if not Docker.
pub const KIND_EXPERIMENTAL_PROVIDER: &str = "KIND_EXPERIMENTAL_PROVIDER";

/// Every variable above.
pub const ALL: &[&str] = &[
    TILT_HOST,
    TILT_PORT,
    LILT_LOG_LIMIT_GB,
    TILT_CONFIG,
    TILT_DISABLE_HUD_AUTH,
    LILT_ALLOWED_HOSTS,
    LILT_KEEP_TOKEN,
    TILT_DEV_DIR,
    WMDAEMON_HOME,
    WINDMILL_DIR,
    NO_COLOR,
    HOME,
    USER,
    LOGNAME,
    PATH,
    TILT_EDITOR,
    KUBE_EDITOR,
    EDITOR,
    TILT_DOCKER_COMPOSE_CMD,
    XDG_CACHE_HOME,
    BROWSER,
    TERM,
    DISPLAY,
    WAYLAND_DISPLAY,
    WSL_DISTRO_NAME,
    SSH_CONNECTION,
    SSH_TTY,
    LILT_WATCH,
    LILT_CASCADE,
    LILT_RESTART,
    LILT_DRIFT,
    LILT_RECORD,
    LILT_NODE_CTR,
    DOCKER_HOST,
    KIND_EXPERIMENTAL_PROVIDER,
];

/// Returns the value of a variable; an empty one counts as not set, as in Tilt.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns all variables, sorted by name. What is not UTF-8 is replaced.
pub fn all() -> Vec<(String, String)> {
    let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
    let mut variables: Vec<_> = std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
    variables.sort();
    variables
}

/// Returns the names of all variables that are set.
pub fn names() -> Vec<String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect()
}

pub fn home() -> Option<PathBuf> {
    variable(HOME).map(PathBuf::from)
}

/// Returns the working directory that lilt was started in.
pub fn start_directory() -> Option<PathBuf> {
    std::path::absolute(".").ok()
}

/// Returns the user's name, for display.
pub fn user_name() -> String {
    variable(USER).or_else(|| variable(LOGNAME)).unwrap_or_else(|| "unknown".to_owned())
}

/// Returns this machine's host name, for display.
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = Some(name.trim()).filter(|name| !name.is_empty());
    name.unwrap_or("unknown").to_owned()
}

/// Returns lilt's cache folder: everything in it can be recreated.
pub fn cache_folder() -> Option<PathBuf> {
    let cache = variable(XDG_CACHE_HOME).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| home().map(|home| home.join(".cache")))?;
    Some(cache.join("lilt"))
}

/// Returns the system's folder for temporary files.
pub fn temporary_folder() -> PathBuf {
    std::env::temp_dir()
}

/// Returns the folder of Tilt's user settings: the old one (`.windmill`) if it exists.
pub fn tilt_folder() -> Option<PathBuf> {
    let named = [TILT_DEV_DIR, WMDAEMON_HOME, WINDMILL_DIR].into_iter().find_map(variable).map(PathBuf::from);
    named.or_else(|| {
        let home = home()?;
        let old = home.join(".windmill");
        Some(if old.is_dir() { old } else { home.join(".tilt-dev") })
    })
}

/// Returns the path of a program, searching `PATH` if `name` has no slash.
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_executable(path));
    }
    let path = std::env::var_os(PATH)?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_program_searches_path_for_executables() {
        assert!(find_program("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find_program("no-such-program-of-lilt"), None);
        assert_eq!(find_program("/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find_program("/etc/passwd"), None, "it is not executable");
    }
}
