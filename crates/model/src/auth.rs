//! The secrets of a session: its token, and the keys that are derived from the token.
//!
//! Both sides of the web port need them: the session checks credentials, and every process that can read the token makes
//! links without asking the session. This module only computes and draws random numbers. Storing tokens, remembering used
//! codes and responding to refused requests is up to the callers.
//!
//! There are five secrets for five purposes. None can be used in place of another:
//! - The *token* is sent in a header by scripts and by lilt's own commands.
//! - A *code* is in a link. It is accepted once. Every process that can read the token can make one, without asking the
//!   session.
//! - A *cookie* is what a browser gets for a code. It is valid for the host name at which the code was redeemed.
//! - A *proof* is the session's response to a challenge. It shows a client that the session knows the token, before the
//!   client sends the token.
//! - The *socket token* opens Tilt's WebSocket, whose clients put it into the address.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::{Failure, Timestamp};

/// Bytes of a code's or a cookie's random part.
const RANDOM: usize = 12;
/// Bytes of a message authentication code. Half of SHA-256, to keep links short.
const TAG: usize = 16;
/// Random part, time of issue and lifetime.
const CODE_BODY: usize = RANDOM + 8 + 4;

/// Identifies a code, so that it is accepted once.
pub type Nonce = [u8; RANDOM];

/// How long the code of a link is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeLifetime {
    /// For links that are printed, to be opened at any time.
    UntilSessionEnds,
    /// For links that are opened by a browser at once, and are visible in its command line for a while.
    Limited(Duration),
}

/// The lifetime of links that are opened by a browser, which may have to be started first.
pub const BROWSER_LIFETIME: CodeLifetime = CodeLifetime::Limited(Duration::from_secs(120));

/// A code whose authenticity was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub nonce: Nonce,
    pub issued: Timestamp,
    pub lifetime: CodeLifetime,
}

impl Code {
    /// Returns when the code expires; none if not before the session ends.
    pub fn expires(&self) -> Option<Timestamp> {
        match self.lifetime {
            CodeLifetime::UntilSessionEnds => None,
            CodeLifetime::Limited(lifetime) => Some(self.issued.plus(lifetime)),
        }
    }
}

/// A token with the keys derived from it.
#[derive(Clone)]
pub struct AuthKeys {
    token: Arc<str>,
    codes: hmac::Key,
    cookies: hmac::Key,
    proofs: hmac::Key,
    socket_token: Arc<str>,
}

impl std::fmt::Debug for AuthKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthKeys").finish_non_exhaustive()
    }
}

impl AuthKeys {
    pub fn new(token: Arc<str>) -> Self {
        let root = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
        let derived =
            |label: &str| hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&root, label.as_bytes()).as_ref());
        Self {
            codes: derived("lilt link code"),
            cookies: derived("lilt cookie"),
            proofs: derived("lilt proof"),
            socket_token: BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&root, b"lilt socket token")).into(),
            token,
        }
    }

    pub fn token(&self) -> &Arc<str> {
        &self.token
    }

    pub fn socket_token(&self) -> &str {
        &self.socket_token
    }

    /// Creates a code for a link.
    pub fn mint_code(&self, issued: Timestamp, lifetime: CodeLifetime) -> Result<String, Failure> {
        let seconds = match lifetime {
            CodeLifetime::UntilSessionEnds => 0,
            CodeLifetime::Limited(lifetime) => u32::try_from(lifetime.as_secs().max(1)).unwrap_or(u32::MAX),
        };
        let mut bytes = random::<RANDOM>()?.to_vec();
        bytes.extend(issued.0.to_be_bytes());
        bytes.extend(seconds.to_be_bytes());
        bytes.extend(tag(&self.codes, &bytes));
        Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Returns the code if it was created with this token. Does not check whether it was used or has expired.
    pub fn read_code(&self, text: &str) -> Option<Code> {
        let bytes = decode_authentic(&self.codes, text, &[])?;
        let (nonce, rest) = bytes.split_first_chunk::<RANDOM>()?;
        let (issued, rest) = rest.split_first_chunk::<8>()?;
        let seconds = u32::from_be_bytes(rest.try_into().ok()?);
        let lifetime = match seconds {
            0 => CodeLifetime::UntilSessionEnds,
            seconds => CodeLifetime::Limited(Duration::from_secs(seconds.into())),
        };
        let issued = Timestamp(i64::from_be_bytes(*issued));
        (bytes.len() == CODE_BODY).then_some(Code { nonce: *nonce, issued, lifetime })
    }

    /// Creates the value of a cookie for a browser that addresses the session as `host`.
    pub fn mint_cookie(&self, host: &str) -> Result<String, Failure> {
        let mut bytes = random::<RANDOM>()?.to_vec();
        let tag = tag(&self.cookies, &[&bytes, host.as_bytes()].concat());
        bytes.extend(tag);
        Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    pub fn is_cookie(&self, text: &str, host: &str) -> bool {
        decode_authentic(&self.cookies, text, host.as_bytes()).is_some_and(|bytes| bytes.len() == RANDOM)
    }

    /// Signs a challenge, which proves to a client with the same token that this process knows it.
    pub fn prove(&self, challenge: &str) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&self.proofs, challenge.as_bytes()))
    }

    pub fn is_proof(&self, challenge: &str, proof: &str) -> bool {
        let proof = BASE64_URL_SAFE_NO_PAD.decode(proof).unwrap_or_default();
        hmac::verify(&self.proofs, challenge.as_bytes(), &proof).is_ok()
    }
}

/// Returns a new random token.
pub fn new_token() -> Result<Arc<str>, Failure> {
    let token: String = random::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Arc::from(token))
}

fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], Failure> {
    let mut bytes = [0; LENGTH];
    let no_random = |_| Failure::environment("this machine gives no random numbers");
    SystemRandom::new().fill(&mut bytes).map_err(no_random)?;
    Ok(bytes)
}

fn tag(key: &hmac::Key, bytes: &[u8]) -> [u8; TAG] {
    let mut short = [0; TAG];
    short.copy_from_slice(&hmac::sign(key, bytes).as_ref()[..TAG]);
    short
}

/// Decodes `text` and returns it without its tag, if the tag authenticates it together with `context`.
fn decode_authentic(key: &hmac::Key, text: &str, context: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    let found = bytes.split_off(bytes.len().checked_sub(TAG)?);
    let expected = tag(key, &[&bytes, context].concat());
    // In constant time, so that the time taken does not reveal the position of the first difference.
    let difference = found.iter().zip(expected).fold(0, |sum, (one, other)| sum | (one ^ other));
    (difference == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(token: &str) -> AuthKeys {
        AuthKeys::new(Arc::from(token))
    }

    #[test]
    fn code_is_read_with_the_same_token_only() {
        let code = keys("a").mint_code(Timestamp(7), BROWSER_LIFETIME).unwrap();
        let read = keys("a").read_code(&code).unwrap();
        assert_eq!((read.issued, read.lifetime), (Timestamp(7), BROWSER_LIFETIME));
        assert_eq!(keys("b").read_code(&code), None);
        let printed = keys("a").mint_code(Timestamp(7), CodeLifetime::UntilSessionEnds).unwrap();
        assert_eq!(keys("a").read_code(&printed).unwrap().expires(), None);
    }

    #[test]
    fn new_tokens_differ_and_have_64_hexadecimal_digits() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert_ne!(one, other);
        assert!(one.len() == 64 && one.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
    }

    #[test]
    fn changed_code_is_refused() {
        let keys = keys("a");
        let code = keys.mint_code(Timestamp(7), BROWSER_LIFETIME).unwrap();
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&code).unwrap();
        for index in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[index] ^= 1;
            assert_eq!(keys.read_code(&BASE64_URL_SAFE_NO_PAD.encode(changed)), None, "byte {index}");
        }
        for text in ["", "x", "****", &code[1..], &format!("{code}AAAA")] {
            assert_eq!(keys.read_code(text), None, "{text}");
        }
    }

    #[test]
    fn cookie_is_valid_for_its_host_only() {
        let keys = keys("a");
        let cookie = keys.mint_cookie("localhost:10350").unwrap();
        assert!(keys.is_cookie(&cookie, "localhost:10350"));
        assert!(!keys.is_cookie(&cookie, "localhost:10351"));
        assert!(!keys.is_cookie(&cookie, "lilt.localhost:10350"));
        assert!(!self::keys("b").is_cookie(&cookie, "localhost:10350"));
        assert_ne!(cookie, keys.mint_cookie("localhost:10350").unwrap());
    }

    #[test]
    fn codes_cookies_and_proofs_do_not_stand_in_for_one_another() {
        let keys = keys("a");
        let code = keys.mint_code(Timestamp(7), BROWSER_LIFETIME).unwrap();
        let cookie = keys.mint_cookie("").unwrap();
        assert!(!keys.is_cookie(&code, "") && keys.read_code(&cookie).is_none());
        assert!(keys.is_proof("x", &keys.prove("x")));
        assert!(!keys.is_proof("x", &keys.prove("y")) && !keys.is_proof("x", ""));
        assert!(!self::keys("b").is_proof("x", &keys.prove("x")));
    }
}
