//! The environment variables that lilt reads and sets, standard folders, and lookup of programs in `PATH`.
//!
//! `docs/reference/environment.md` is generated from the tables of this module (`tests/environment_page.rs`). Variables that
//! a Tiltfile reads (`os.environ`) or that commands inherit are not listed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// An environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub name: &'static str,
    /// Lines of its description.
    pub description: &'static [&'static str],
}

/// Variables about one subject.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub title: &'static str,
    pub variables: &'static [Variable],
}

/// Defines a constant for each variable, and the list of their groups.
macro_rules! variables {
    ($($title:literal { $($(#[doc = $doc:literal])+ $name:ident;)+ })+) => {
        $($($(#[doc = $doc])+ pub const $name: &str = stringify!($name);)+)+

        /// Every variable that lilt reads.
        pub const READ: &[Group] = &[
            $(Group {
                title: $title,
                variables: &[$(Variable { name: $name, description: &[$($doc),+] }),+],
            }),+
        ];
    };
}

variables! {
    "Sessions" {
        /// The address the web server listens on, if `--host` is not given; for other commands the host of the session.
        TILT_HOST;
        /// The port of the web server, if `--port` is not given; for other commands the port of the session.
        TILT_PORT;
        /// The file with the addresses of running sessions' APIs; default `~/.tilt-dev/config`.
        TILT_CONFIG;
        /// The folder of Tilt's own settings; default `~/.tilt-dev`.
        TILT_DEV_DIR;
        /// A former name of `TILT_DEV_DIR`.
        WMDAEMON_HOME;
        /// A former name of `TILT_DEV_DIR`.
        WINDMILL_DIR;
        /// `1`: the web port requires no token, because a proxy in front of it authenticates.
        TILT_DISABLE_HUD_AUTH;
    }
    "Programs" {
        /// The editor of `lilt args` and `lilt edit`; takes precedence over the others.
        TILT_EDITOR;
        /// The editor of `lilt edit`, if `TILT_EDITOR` is not set.
        KUBE_EDITOR;
        /// The editor if no other variable names one.
        EDITOR;
        /// The Docker Compose program; default `docker compose`.
        TILT_DOCKER_COMPOSE_CMD;
        /// The user's browser, or several separated by colons; `%s` stands for the URL.
        BROWSER;
        /// Folders searched for programs.
        PATH;
    }
    "Kubernetes and Docker" {
        /// The kubeconfig files; default `~/.kube/config`.
        KUBECONFIG;
        /// Commands, one per line, each of which runs `ctr` on one node of the cluster; images are loaded through them.
        LILT_NODE_CTR;
        /// The container engine that runs kind's nodes, if not Docker.
        KIND_EXPERIMENTAL_PROVIDER;
        /// The address of the Docker engine.
        DOCKER_HOST;
        /// The context of the Docker CLI whose engine is used, if `DOCKER_HOST` is not set.
        DOCKER_CONTEXT;
        /// The folder of the Docker CLI's configuration, with contexts and registry logins; default `~/.docker`.
        DOCKER_CONFIG;
        /// If set, the connection to the Docker engine uses TLS and verifies its certificate.
        DOCKER_TLS_VERIFY;
        /// If set, the connection to the Docker engine uses TLS.
        DOCKER_TLS;
        /// The folder of the certificates for TLS; default `DOCKER_CONFIG`.
        DOCKER_CERT_PATH;
        /// The version of the Docker API to use.
        DOCKER_API_VERSION;
        /// `0`: images are built by the classic builder instead of BuildKit.
        DOCKER_BUILDKIT;
        /// The platform that images are built for, unless `docker_build(platform=…)` says otherwise.
        DOCKER_DEFAULT_PLATFORM;
        /// Profiles of Docker Compose, unless `docker_compose(profiles=…)` names others.
        COMPOSE_PROFILES;
        /// Registry logins of Podman.
        REGISTRY_AUTH_FILE;
    }
    "Terminal and folders" {
        /// If set and not empty, terminal output has no colours.
        NO_COLOR;
        /// The terminal type; only `dumb` matters.
        TERM;
        /// The user's home folder: `~`, and the parent of the default cache folder.
        HOME;
        /// The cache folder; session folders live there. Default `~/.cache`.
        XDG_CACHE_HOME;
        /// The folder of data, where extensions are stored.
        XDG_DATA_HOME;
        /// The folder where a rootless Docker or Podman listens.
        XDG_RUNTIME_DIR;
        /// The user's name, shown to other sessions on the same cluster.
        USER;
        /// Fallback for `USER`.
        LOGNAME;
        /// Set where a graphical browser can run (X11).
        DISPLAY;
        /// Set where a graphical browser can run (Wayland).
        WAYLAND_DISPLAY;
        /// Set in WSL, where the browser of Windows can be used.
        WSL_DISTRO_NAME;
        /// Set in SSH sessions: the user's browser is on another machine.
        SSH_CONNECTION;
        /// Set in SSH sessions with a terminal.
        SSH_TTY;
    }
}

/// The variables that lilt sets for the commands it runs.
pub const SET: &[Variable] = &[
    Variable { name: "TILT_HOST", description: &["The host of the session."] },
    Variable { name: "TILT_PORT", description: &["The port of the session."] },
    Variable { name: "TILT_DISABLE_ANALYTICS", description: &["Always `1`."] },
    Variable {
        name: "KUBECONFIG",
        description: &["A kubeconfig whose current context is the cluster of the resource."],
    },
    Variable {
        name: "TILT_IMAGE_0",
        description: &["And `_1` and so on: references of the built images of `image_deps`."],
    },
    Variable {
        name: "TILT_IMAGE_MAP_0",
        description: &["And `_1` and so on: names of the images of `image_deps`."],
    },
    Variable {
        name: "PYTHONUNBUFFERED",
        description: &["`1`, with `LINES` and `COLUMNS`, unless they are set: output comes at once."],
    },
    Variable {
        name: "LILT_COMMAND",
        description: &["Identifies the processes that a command started, so that they can be ended."],
    },
];

/// Variables of earlier versions that are ignored, each with its replacement.
pub const REMOVED: &[(&str, &str)] = &[
    ("LILT_ALLOWED_HOSTS", "use --allowed-host"),
    ("LILT_CASCADE", "use update_settings(cascade=True) or k8s_resource(cascade=True) in the Tiltfile"),
    ("LILT_DRIFT", "use update_settings(drift='correct') or drift='ignore' in the Tiltfile"),
    ("LILT_KEEP_TOKEN", "use --keep-token"),
    ("LILT_LOG_LIMIT_GB", "use --log-limit, for example --log-limit=20GB"),
    ("LILT_RECORD", "use --record"),
    ("LILT_RESTART", "use local_resource(restart=True) in the Tiltfile"),
    ("LILT_WATCH", "use --watch-mode"),
];

/// Returns a warning for each of [`REMOVED`] that is set.
pub fn warnings_of_removed() -> Vec<String> {
    let set = REMOVED.iter().filter(|(name, _)| variable(name).is_some());
    set.map(|(name, replacement)| format!("warning: {name} is no longer read: {replacement}")).collect()
}

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
