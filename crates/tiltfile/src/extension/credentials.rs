//! Credentials in the URL of an extension repository, and how they are passed to git.
//!
//! Every user of the machine can read command lines, and many can read the configuration of a clone. So git gets the URL
//! without credentials and a credential helper that reads them from git's environment.

const USERNAME: &str = "LILT_GIT_USERNAME";
const PASSWORD: &str = "LILT_GIT_PASSWORD";
/// Contains the names of the variables, not their values.
const HELPER: &str = "!f() { test \"$1\" != get || printf 'username=%s\\npassword=%s\\n' \"$LILT_GIT_USERNAME\" \
                      \"$LILT_GIT_PASSWORD\"; }; f";

/// The `user:password@` of a URL.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    username: String,
    password: Option<String>,
    /// Their scheme and host: git sends them to no other host, for example of submodules.
    scope: String,
}

/// Without the values.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials(for {})", self.scope)
    }
}

impl Credentials {
    /// Splits a URL into one without credentials, and the credentials.
    pub(super) fn split(url: &str) -> (String, Option<Self>) {
        let Some((scheme, rest)) = url.split_once("://") else {
            // `user:password@host` without a scheme, which an error message reports.
            let bare =
                url.rsplit_once('@').filter(|(user, _)| user.contains(':')).map_or(url, |(_, bare)| bare);
            return (bare.to_owned(), None);
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let Some((user, host)) = authority.rsplit_once('@') else { return (url.to_owned(), None) };
        let scope = format!("{scheme}://{host}");
        let (username, password) =
            user.split_once(':').map_or((user, None), |(username, password)| (username, Some(password)));
        let credentials =
            Self { username: decoded(username), password: password.map(decoded), scope: scope.clone() };
        (scope + path, Some(credentials))
    }

    /// Whether the values can be passed to git, which reads them line by line.
    pub(super) fn is_valid(&self) -> bool {
        !self.username.contains(char::is_control)
            && !self.password.as_deref().unwrap_or_default().contains(char::is_control)
    }

    /// Returns options that make git use the helper.
    pub(super) fn options(&self) -> Vec<String> {
        let key = format!("credential.{}.helper", self.scope);
        // An empty value removes the helpers that the user has configured. Without a password they are kept, to provide it.
        let reset = self.password.is_some().then(|| format!("{key}="));
        let helpers = reset.into_iter().chain([format!("{key}={HELPER}")]);
        helpers.flat_map(|helper| ["-c".to_owned(), helper]).collect()
    }

    /// Variables that the helper reads.
    pub(super) fn environment(&self) -> [(String, String); 2] {
        [
            (USERNAME.to_owned(), self.username.clone()),
            (PASSWORD.to_owned(), self.password.clone().unwrap_or_default()),
        ]
    }
}

/// Decodes `%41`; other bytes stay.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte =
            digits.filter(|_| bytes[at] == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_split_off_and_decoded() {
        let (bare, credentials) = Credentials::split("https://me:p%40ss%zz@host:8443/a@b");
        assert_eq!(bare, "https://host:8443/a@b");
        let credentials = credentials.unwrap();
        assert_eq!(credentials.environment().map(|(_, value)| value), ["me", "p@ss%zz"]);
        assert_eq!(credentials.options()[1], "credential.https://host:8443.helper=");
        assert!(credentials.options().iter().all(|option| !option.contains("p@ss")));
        for bare in ["https://host", "file:///a@b/c", "https://host?a@b"] {
            assert_eq!(Credentials::split(bare), (bare.to_owned(), None));
        }
        assert_eq!(Credentials::split("me:pass@host/x").0, "host/x");
        assert!(!Credentials::split("https://me:a%0ab@host").1.unwrap().is_valid());
    }
}
