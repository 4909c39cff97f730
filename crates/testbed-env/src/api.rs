//! A small client of the API server: each kubectl takes a tenth of a second of CPU time, and tests query often.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

/// Far more than any response takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The API server, with administrator rights. Every request has its own connection: the server may be restarted
/// in between.
#[derive(Debug)]
pub(crate) struct Api {
    settings: Arc<ClientConfig>,
    /// `host:port`.
    address: String,
}

impl Api {
    /// Reads the test bed's kubeconfig and the certificates beside it.
    pub(crate) fn of(kubeconfig: &Path) -> Result<Api, String> {
        let text = std::fs::read_to_string(kubeconfig)
            .map_err(|error| format!("{}: {error}", kubeconfig.display()))?;
        let address = text.lines().find_map(|line| line.trim().strip_prefix("server: https://"));
        let address = address.ok_or_else(|| format!("{} names no server", kubeconfig.display()))?.to_owned();
        let settings = settings(kubeconfig.parent().unwrap_or(kubeconfig))?;
        Ok(Api { settings: Arc::new(settings), address })
    }

    /// Sends a request and returns the response; the error is a message for people.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Result<Value, String> {
        let trouble = |reason: String| format!("{method} {path}: {reason}");
        let answer = self.exchange(method, path, body).map_err(|error| trouble(error.to_string()))?;
        let (head, content) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let first = head.lines().next().unwrap_or_default();
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0_u16);
        if !(200..300).contains(&status) {
            return Err(trouble(format!("{first}\n{content}")));
        }
        serde_json::from_str(content).map_err(|error| trouble(format!("{error} in {content}")))
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<String> {
        let socket = TcpStream::connect(&self.address)?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        socket.set_write_timeout(Some(TIMEOUT))?;
        let host = self.address.rsplit_once(':').map_or(self.address.as_str(), |(host, _)| host).to_owned();
        let name = ServerName::try_from(host).map_err(std::io::Error::other)?;
        let session = ClientConnection::new(self.settings.clone(), name).map_err(std::io::Error::other)?;
        let mut stream = StreamOwned::new(session, socket);
        // HTTP/1.0: the response ends with the connection.
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nAccept: application/json\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            // The server may close without a TLS alert; truncated JSON is an error anyway.
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
            _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
        }
    }
}

fn settings(pki: &Path) -> Result<ClientConfig, String> {
    let trouble = |file: &str, error: String| format!("{}: {error}", pki.join(file).display());
    let certificate = |file: &str| {
        CertificateDer::from_pem_file(pki.join(file)).map_err(|error| trouble(file, error.to_string()))
    };
    let mut roots = RootCertStore::empty();
    roots.add(certificate("ca.crt")?).map_err(|error| trouble("ca.crt", error.to_string()))?;
    let key = PrivateKeyDer::from_pem_file(pki.join("admin.key"))
        .map_err(|error| trouble("admin.key", error.to_string()))?;
    let mut settings = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![certificate("admin.crt")?], key)
        .map_err(|error| trouble("admin.crt", error.to_string()))?;
    settings.resumption = Resumption::disabled();
    Ok(settings)
}

/// Returns the API path of an object like `deployment/web`, or of a list like `pods`, in a namespace.
pub(crate) fn path_of(namespace: &str, object: &str) -> String {
    let (kind, name) = object.split_once('/').map_or((object, None), |(kind, name)| (kind, Some(name)));
    let (group, kinds) = match kind.trim_end_matches('s') {
        "namespace" => return format!("/api/v1/namespaces/{}", name.unwrap_or_default()),
        "cm" | "configmap" => ("api/v1", "configmaps"),
        "pod" => ("api/v1", "pods"),
        "secret" => ("api/v1", "secrets"),
        "service" => ("api/v1", "services"),
        "serviceaccount" => ("api/v1", "serviceaccounts"),
        "deployment" => ("apis/apps/v1", "deployments"),
        "job" => ("apis/batch/v1", "jobs"),
        _ => panic!("{kind} has no place here yet: give it one, or ask kubectl"),
    };
    let name = name.map(|name| format!("/{name}")).unwrap_or_default();
    format!("/{group}/namespaces/{namespace}/{kinds}{name}")
}
