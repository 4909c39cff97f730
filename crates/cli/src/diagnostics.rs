//! Diagnostics of lilt on stderr, with --verbose, --debug or --klog.

use clap::Args;
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Accepted by every command.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Verbosity {
    /// Print to stderr what lilt itself does, in detail
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) debug: bool,
    /// Print to stderr what lilt itself does
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) verbose: bool,
    /// Print to stderr what the Kubernetes client does: 1 a little, 5 every request, 8 all
    #[arg(long, global = true, value_name = "LEVEL", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Global options")]
    pub(crate) klog: i32,
}

impl Verbosity {
    /// Installs the subscriber, if one of the flags is set.
    pub(crate) fn start(self) {
        let Some(targets) = self.targets() else { return };
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(lilt_host::terminal::has_coloured_stderr())
            // A closed stderr must not end the session.
            .log_internal_errors(false);
        // Cannot fail: it is installed once, by `main`.
        let _ = tracing_subscriber::registry().with(targets).with(lines).try_init();
    }

    fn targets(self) -> Option<Targets> {
        let own = match self {
            Verbosity { debug: true, .. } => LevelFilter::from_level(Level::DEBUG),
            Verbosity { verbose: true, .. } => LevelFilter::from_level(Level::INFO),
            _ => LevelFilter::OFF,
        };
        let kubernetes = match self.klog {
            ..=0 => LevelFilter::OFF,
            1..=3 => LevelFilter::from_level(Level::INFO),
            4..=7 => LevelFilter::from_level(Level::DEBUG),
            _ => LevelFilter::from_level(Level::TRACE),
        };
        if own == LevelFilter::OFF && kubernetes == LevelFilter::OFF {
            return None;
        }
        let libraries = own.min(LevelFilter::WARN);
        Some(
            Targets::new()
                .with_default(libraries)
                .with_target("lilt", own)
                .with_target("kube", kubernetes.max(libraries))
                .with_target("tower_http", kubernetes.max(libraries)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(verbosity: Verbosity, target: &str, level: Level) -> bool {
        verbosity.targets().is_some_and(|targets| targets.would_enable(target, &level))
    }

    #[test]
    fn each_flag_enables_its_targets() {
        let quiet = Verbosity::default();
        let verbose = Verbosity { verbose: true, ..quiet };
        let debug = Verbosity { debug: true, ..quiet };
        let klog = Verbosity { klog: 5, ..quiet };
        assert!(!shows(quiet, "lilt_daemon::session", Level::ERROR));
        assert!(shows(verbose, "lilt_daemon::session", Level::INFO));
        assert!(!shows(verbose, "lilt_daemon::session", Level::DEBUG));
        assert!(shows(debug, "lilt_daemon::session", Level::DEBUG));
        assert!(!shows(debug, "kube_client::client", Level::DEBUG));
        assert!(shows(klog, "kube_client::client", Level::DEBUG));
        assert!(!shows(klog, "kube_client::client", Level::TRACE));
        assert!(!shows(klog, "lilt_daemon::session", Level::ERROR));
    }
}
