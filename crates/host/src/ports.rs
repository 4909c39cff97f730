//! Finds the process that listens on a TCP port of this machine.

use std::fs;
use std::path::{Path, PathBuf};

/// A process that listens on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// The process name as in `/proc/PID/comm`.
    pub program: String,
    pub folder: Option<PathBuf>,
}

/// Returns the process that listens on a port; `None` if there is none, or if it belongs to another user.
pub fn holder(port: u16) -> Option<Holder> {
    let mut sockets = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        sockets.extend(fs::read_to_string(table).iter().flat_map(|table| listening_sockets(table, port)));
    }
    let processes = fs::read_dir("/proc").ok()?;
    let processes = processes.flatten().map(|entry| entry.path());
    processes.filter(|process| holds(process, &sockets)).find_map(|process| {
        let pid = process.file_name()?.to_str()?.parse().ok()?;
        let program = fs::read_to_string(process.join("comm")).ok()?.trim_end().to_owned();
        Some(Holder { pid, program, folder: fs::read_link(process.join("cwd")).ok() })
    })
}

/// Returns the sockets that listen on a port, as `/proc/PID/fd` names them.
fn listening_sockets(table: &str, port: u16) -> Vec<String> {
    /// The kernel's number for this connection state.
    const LISTEN: &str = "0A";
    let wanted = format!(":{port:04X}");
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.len() > 9 && row[1].ends_with(&wanted) && row[3] == LISTEN)
        .map(|row| format!("socket:[{}]", row[9]))
        .collect()
}

fn holds(process: &Path, sockets: &[String]) -> bool {
    let Ok(open) = fs::read_dir(process.join("fd")) else { return false };
    let links = open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links.into_iter().any(|link| sockets.iter().any(|socket| Path::new(socket) == link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_finds_listening_process() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let found = holder(port).expect("it is this one");
        assert_eq!(found.pid, std::process::id());
        assert!(!found.program.is_empty());
        assert_eq!(found.folder, std::env::current_dir().ok());
        drop(listener);
        assert!(holder(port).is_none_or(|other| other.pid != std::process::id()));
    }

    #[test]
    fn connected_sockets_are_not_listening() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:286E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0        0 111 1\n\
             1: 0100007F:286E 0100007F:C000 01 00000000:00000000 00:00000000 00000000  0        0 222 1\n";
        assert_eq!(listening_sockets(table, 10350), ["socket:[111]"]);
        assert!(listening_sockets(table, 286).is_empty());
    }
}
