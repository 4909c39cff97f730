//! The demo's files, in a temporary folder that is deleted at the end.

use std::path::{Path, PathBuf};

use lilt_host::files;
use lilt_host::session_dir::SessionDir;
use tokio::net::TcpListener;

const FILES: [(&str, &str); 6] = [
    ("Tiltfile", include_str!("../../demo/Tiltfile")),
    ("build.sh", include_str!("../../demo/build.sh")),
    ("test.sh", include_str!("../../demo/test.sh")),
    ("lint.sh", include_str!("../../demo/lint.sh")),
    ("src/greeting.txt", include_str!("../../demo/src/greeting.txt")),
    ("src/theme.txt", include_str!("../../demo/src/theme.txt")),
];

pub(crate) struct Unpacked {
    folder: SessionDir,
    pub(crate) frontend_port: u16,
    pub(crate) api_port: u16,
}

impl Unpacked {
    pub(crate) async fn create() -> anyhow::Result<Self> {
        let folder = SessionDir::create()?;
        // Both listeners are open at the same time, so that the ports differ.
        let (frontend, api) = (free_port().await?, free_port().await?);
        let unpacked =
            Self { folder, frontend_port: frontend.local_addr()?.port(), api_port: api.local_addr()?.port() };
        let program = std::env::current_exe()?;
        for (name, text) in FILES {
            let text = text
                .replace("FRONTEND_PORT", &unpacked.frontend_port.to_string())
                .replace("API_PORT", &unpacked.api_port.to_string())
                .replace("LILT_PROGRAM", &program.to_string_lossy());
            unpacked.write(name, &text)?;
        }
        Ok(unpacked)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("demo")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(files::save(&self.folder().join(Path::new(name)), text.as_bytes())?)
    }
}

async fn free_port() -> anyhow::Result<TcpListener> {
    Ok(TcpListener::bind(("localhost", 0)).await?)
}
