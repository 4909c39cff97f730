//! Chooses the proxy to the API server as kubectl does: the cluster's `proxy-url`, or else the one in the environment
//! unless `NO_PROXY` excludes the server.

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

/// The proxy variables of the environment.
#[derive(Clone, Debug, Default)]
pub(super) struct ProxyEnvironment {
    pub(super) https_proxy: String,
    pub(super) http_proxy: String,
    pub(super) no_proxy: String,
}

impl ProxyEnvironment {
    /// Returns the proxy for a server; none: connect directly.
    pub(super) fn proxy_to(&self, server: &Uri) -> Option<Uri> {
        // Go programs never use a proxy for the local machine.
        if server.host().is_some_and(is_this_machine) {
            return None;
        }
        let matcher = Matcher::builder()
            .https(self.https_proxy.as_str())
            .http(self.http_proxy.as_str())
            .no(self.no_proxy.as_str())
            .build();
        let chosen = matcher.intercept(server)?;
        // The matcher drops the login; keep it, as in `proxy-url`.
        let given = if server.scheme_str() == Some("http") { &self.http_proxy } else { &self.https_proxy };
        let given = if given.contains("://") { given.clone() } else { format!("http://{given}") };
        given.parse().ok().or_else(|| Some(chosen.uri().clone()))
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(server: &str) -> Option<String> {
        let proxy_environment = ProxyEnvironment {
            https_proxy: "http://me:secret@proxy.example.com:3128".into(),
            http_proxy: "plain.example.com:80".into(),
            no_proxy: "inner.example.com,.corp,10.0.0.0/8".into(),
        };
        proxy_environment.proxy_to(&server.parse().unwrap()).map(|uri| uri.to_string())
    }

    #[test]
    fn proxy_follows_environment_and_no_proxy() {
        let with_login = "http://me:secret@proxy.example.com:3128/";
        assert_eq!(proxy("https://api.example.com:6443").as_deref(), Some(with_login));
        assert_eq!(proxy("http://api.example.com").as_deref(), Some("http://plain.example.com:80/"));
        for direct in [
            "https://inner.example.com",
            "https://a.corp",
            "https://10.1.2.3:6443",
            "https://127.0.0.1:6443",
            "https://[::1]:6443",
            "https://localhost:6443",
        ] {
            assert_eq!(proxy(direct), None, "{direct}");
        }
        assert_eq!(ProxyEnvironment::default().proxy_to(&"https://x".parse().unwrap()), None);
    }
}
