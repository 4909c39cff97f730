//! Port forwards as users write them: `8000`, `'8000:80'`, `'0.0.0.0:8000:80'`.

use lilt_model::kubernetes::Forward;

fn forward(host: &str, local_port: u16, container_port: u16) -> Forward {
    Forward { host: host.to_owned(), local_port, container_port, name: String::new(), path: String::new() }
}

pub(crate) fn from_number(port: i64) -> Result<Forward, String> {
    let port = u16::try_from(port).map_err(|_| format!("port {port} is not between 0 and 65535"))?;
    Ok(forward("", port, 0))
}

pub(crate) fn from_text(text: &str) -> Result<Forward, String> {
    let port = |part: &str| {
        part.parse::<u16>().map_err(|_| format!("{part:?} in {text:?} is not a port between 0 and 65535"))
    };
    match text.splitn(3, ':').collect::<Vec<_>>().as_slice() {
        [local] => Ok(forward("", port(local)?, 0)),
        [local, container] => Ok(forward("", port(local)?, port(container)?)),
        [host, local, container] if is_host(host) => Ok(forward(host, port(local)?, port(container)?)),
        [host, ..] => Err(format!("{host:?} in {text:?} is not a host name or an IP address")),
        [] => Err("a port forward must not be empty".into()),
    }
}

fn is_host(host: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_forwards_are_parsed_in_all_forms() {
        assert_eq!(from_number(8000), Ok(forward("", 8000, 0)));
        assert_eq!(from_text("8000"), Ok(forward("", 8000, 0)));
        assert_eq!(from_text("8000:80"), Ok(forward("", 8000, 80)));
        assert_eq!(from_text("0.0.0.0:8000:80"), Ok(forward("0.0.0.0", 8000, 80)));
        assert_eq!(from_text("my-host.local:1:2"), Ok(forward("my-host.local", 1, 2)));
    }

    #[test]
    fn invalid_port_forward_error_names_the_value() {
        for (text, part) in [
            ("x", "\"x\""),
            ("80:99999", "\"99999\""),
            ("-1", "\"-1\""),
            ("a b:1:2", "\"a b\""),
            ("", "\"\""),
        ] {
            let error = from_text(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(from_number(70_000).unwrap_err().contains("70000"));
        assert!(from_number(-1).is_err());
    }
}
