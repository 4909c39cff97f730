//! The environment variables that lilt itself reads, all of them, and programs found by `PATH`.
//!
//! What a Tiltfile reads (`os.environ`) and what commands inherit is not listed here.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The address the web server listens on.
pub const TILT_HOST: &str = "TILT_HOST";
/// The port of the web server.
pub const TILT_PORT: &str = "TILT_PORT";
/// The file with the addresses of running sessions' APIs.
pub const TILT_CONFIG: &str = "TILT_CONFIG";
/// `1`: the web port asks for no token, because something before it does.
pub const TILT_DISABLE_HUD_AUTH: &str = "TILT_DISABLE_HUD_AUTH";
/// Names of proxies and tunnels before the web port, with commas between them.
pub const LILT_ALLOWED_HOSTS: &str = "LILT_ALLOWED_HOSTS";
/// If set, the token of the web port is kept for the next session on the port.
pub const LILT_KEEP_TOKEN: &str = "LILT_KEEP_TOKEN";
/// The folder of Tilt's own settings, under its names of three times.
pub const TILT_DEV_DIR: &str = "TILT_DEV_DIR";
pub const WMDAEMON_HOME: &str = "WMDAEMON_HOME";
pub const WINDMILL_DIR: &str = "WINDMILL_DIR";
/// How many gigabytes of log a session keeps on disk; 4 if not set.
pub const LILT_LOG_LIMIT_GB: &str = "LILT_LOG_LIMIT_GB";
/// If set and not empty, no colours in the terminal.
pub const NO_COLOR: &str = "NO_COLOR";
/// The user's home: `~`, and where the cache folder is if nothing else says so.
pub const HOME: &str = "HOME";
/// The user's name, shown to other sessions on the same cluster.
pub const USER: &str = "USER";
/// The same, where [`USER`] is not set.
pub const LOGNAME: &str = "LOGNAME";
/// Where programs are looked for.
pub const PATH: &str = "PATH";
/// The editor of `lilt edit`, after [`TILT_EDITOR`] and before [`EDITOR`].
pub const KUBE_EDITOR: &str = "KUBE_EDITOR";
/// The editor of `lilt args` and `lilt edit`; first this one.
pub const TILT_EDITOR: &str = "TILT_EDITOR";
/// Then this one.
pub const EDITOR: &str = "EDITOR";
/// The program that is called for Docker Compose.
pub const TILT_DOCKER_COMPOSE_CMD: &str = "TILT_DOCKER_COMPOSE_CMD";
/// The folder for what may be deleted at any time; session folders live there.
pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
/// The user's browser, or several with colons between them; `%s` stands for the address.
pub const BROWSER: &str = "BROWSER";
/// The kind of terminal; only `dumb` matters.
pub const TERM: &str = "TERM";
/// Set where a graphical browser can be seen.
pub const DISPLAY: &str = "DISPLAY";
/// The same.
pub const WAYLAND_DISPLAY: &str = "WAYLAND_DISPLAY";
/// Set in Linux under Windows, whose browser can be reached.
pub const WSL_DISTRO_NAME: &str = "WSL_DISTRO_NAME";
/// Set by ssh: the user sits elsewhere.
pub const SSH_CONNECTION: &str = "SSH_CONNECTION";
/// The same.
pub const SSH_TTY: &str = "SSH_TTY";

/// `poll` looks at files again and again instead of waiting for events, `events` never does; by itself lilt looks where
/// the file system does not tell of all changes.
pub const LILT_WATCH: &str = "LILT_WATCH";
/// If set, a resource that was updated makes those that depend on it update, too.
pub const LILT_CASCADE: &str = "LILT_CASCADE";
/// If set, servers (`serve_cmd`) that end are started again, each time later.
pub const LILT_RESTART: &str = "LILT_RESTART";
/// What is done about objects that somebody deleted or changed in the cluster: `correct` puts them right at once, `ignore`
/// does not look; by itself lilt tells, and the next update puts them right.
pub const LILT_DRIFT: &str = "LILT_DRIFT";
/// The file to which the facts of the session are written.
pub const LILT_RECORD: &str = "LILT_RECORD";
/// Commands, one on each line, each of which does what `ctr` does on one node of the cluster: images go there.
pub const LILT_NODE_CTR: &str = "LILT_NODE_CTR";
/// Which Docker engine.
pub const DOCKER_HOST: &str = "DOCKER_HOST";
/// What runs kind's nodes, if not Docker.
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

/// The value of a variable; an empty one counts as not set, as in Tilt.
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

/// The names of all that is set.
pub fn names() -> Vec<String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect()
}

pub fn home() -> Option<PathBuf> {
    variable(HOME).map(PathBuf::from)
}

/// Returns the folder where lilt was started.
pub fn start_directory() -> Option<PathBuf> {
    std::path::absolute(".").ok()
}

/// What the user is called, for others to read.
pub fn user_name() -> String {
    variable(USER).or_else(|| variable(LOGNAME)).unwrap_or_else(|| "unknown".to_owned())
}

/// What this machine is called, for others to read.
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = Some(name.trim()).filter(|name| !name.is_empty());
    name.unwrap_or("unknown").to_owned()
}

/// Where lilt keeps what it can find out again.
pub fn cache_folder() -> Option<PathBuf> {
    let cache = variable(XDG_CACHE_HOME).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| home().map(|home| home.join(".cache")))?;
    Some(cache.join("lilt"))
}

/// Where files go that nobody needs for long.
pub fn temporary_folder() -> PathBuf {
    std::env::temp_dir()
}

/// Where Tilt keeps the user's settings: the old folder for those who still have it.
pub fn tilt_folder() -> Option<PathBuf> {
    let named = [TILT_DEV_DIR, WMDAEMON_HOME, WINDMILL_DIR].into_iter().find_map(variable).map(PathBuf::from);
    named.or_else(|| {
        let home = home()?;
        let old = home.join(".windmill");
        Some(if old.is_dir() { old } else { home.join(".tilt-dev") })
    })
}

/// Where a program that is called by this name would be run from.
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
    fn finds_programs_on_the_path() {
        assert!(find_program("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find_program("no-such-program-of-lilt"), None);
        assert_eq!(find_program("/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find_program("/etc/passwd"), None, "it is not executable");
    }
}
