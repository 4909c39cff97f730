//! Names of what stands before the web port, as the user gives them: a proxy, a tunnel.

use lilt_host::environment;
use lilt_model::Failure;

/// Those of `--allowed-host` and of the environment. A text that cannot be a name is an error: it would let nobody in.
pub(crate) fn further(flags: &[String]) -> Result<Vec<String>, Failure> {
    let variable = environment::variable(environment::LILT_ALLOWED_HOSTS).unwrap_or_default();
    let mut names = read("LILT_ALLOWED_HOSTS", &variable)?;
    for flag in flags {
        names.extend(read("--allowed-host", flag)?);
    }
    Ok(names)
}

fn read(source: &str, text: &str) -> Result<Vec<String>, Failure> {
    let given = text.split([',', ' ']).filter(|name| !name.is_empty());
    given
        .map(|name| match lilt_server::is_further_host(name) {
            true => Ok(name.to_owned()),
            false => Err(Failure::user(format!("{source}: {name:?} is not a host name"))
                .hint("for example dev.example.com or tunnel.example:8443; there are no wildcards")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_commas() {
        assert_eq!(read("X", "").unwrap(), [] as [String; 0]);
        assert_eq!(read("X", "a.example, b.example:8443,").unwrap(), ["a.example", "b.example:8443"]);
        let failure = read("X", "*.example").unwrap_err();
        assert!(failure.message.contains("\"*.example\" is not a host name"), "{failure}");
    }
}
