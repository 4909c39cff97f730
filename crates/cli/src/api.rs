//! Opens the port of the object API, and publishes its address for clients.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lilt_client::contexts::{self, SessionContext, config_file, context_name};
use lilt_host::{files, private_file};
use lilt_model::Failure;
use lilt_server::Credentials;
use tokio::net::TcpListener;

/// How long to wait for the lock on the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// The API's port with its credentials, published until it is dropped.
pub(crate) struct Announced {
    pub(crate) listener: Option<TcpListener>,
    pub(crate) credentials: Credentials,
    file: Option<PathBuf>,
    context: SessionContext,
}

pub(crate) async fn announce(web_port: u16) -> Result<Announced, Failure> {
    let unbound = |error: std::io::Error| Failure::environment(format!("no port for the API: {error}"));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(unbound)?;
    let port = listener.local_addr().map_err(unbound)?.port();
    let credentials = Credentials::make()?;
    let context = SessionContext {
        name: context_name(web_port),
        server: format!("https://127.0.0.1:{port}"),
        certificate: BASE64_STANDARD.encode(&credentials.certificate),
        token: credentials.token.to_string(),
    };
    let file = config_file();
    if let Some(file) = &file {
        change(file, |text| contexts::add_context(text, &context))?;
    }
    Ok(Announced { listener: Some(listener), credentials, file, context })
}

impl Drop for Announced {
    fn drop(&mut self) {
        let Some(file) = &self.file else { return };
        let (name, server) = (&self.context.name, &self.context.server);
        let taken_back = change(file, |text| {
            // A newer session on the same port has replaced the context.
            if contexts::context_has_server(text, name, server) {
                contexts::remove_context(text, name)
            } else {
                Ok(text.to_owned())
            }
        });
        if let Err(failure) = taken_back {
            tracing::warn!(%failure, "the context of this session stays");
        }
    }
}

/// Edits the file under its lock.
fn change(file: &Path, edit: impl Fn(&str) -> Result<String, Failure>) -> Result<(), Failure> {
    let told = |failure: Failure| failure.detail(format!("in {}", file.display()));
    let unwritten =
        |error: std::io::Error| Failure::environment(format!("cannot write {}: {error}", file.display()));
    // Tilt uses the same lock file.
    let mut lock_file = file.as_os_str().to_owned();
    lock_file.push(".lock");
    let lock = files::lock(Path::new(&lock_file), LOCK_TIMEOUT, PAUSE).map_err(unwritten)?;
    let text = String::from_utf8_lossy(&private_file::read(file)?.unwrap_or_default()).into_owned();
    let new = edit(&text).map_err(told)?;
    if new != text {
        files::save_private(file, new.as_bytes()).map_err(unwritten)?;
    }
    drop(lock);
    Ok(())
}
