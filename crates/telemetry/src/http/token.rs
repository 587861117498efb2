//! The token that authorises requests.

use std::fmt;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;

use super::refused::note_unauthorized;

/// Permission bits of a file for its group and for others.
const OTHERS: u32 = 0o077;
/// Number of random bytes in a new token.
const LEN: usize = 24;
/// Minimum length of a token from a file, in characters.
const CHARS_MIN: usize = 16;

/// A secret that requests must have in the header `Authorization: Bearer TOKEN`. `Debug` does not show it.
#[derive(Clone)]
pub struct BearerToken(String);

impl fmt::Debug for BearerToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(***)")
    }
}

impl BearerToken {
    /// Creates a random token.
    ///
    /// # Errors
    /// The operating system returns no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; LEN];
        let failed = |_| io::Error::other("the operating system provides no random numbers");
        SystemRandom::new().fill(&mut bytes).map_err(failed)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Reads the token from the first line of a file. A file that does not exist is created with a
    /// random token, readable only by its owner.
    ///
    /// # Errors
    /// The file cannot be read or written, others than its owner can access it, or its token has fewer than 16
    /// characters or characters other than printable ASCII.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let mode = std::fs::metadata(path)?.permissions().mode();
                if mode & OTHERS != 0 {
                    let text = "other users can read or change it; run `chmod 600` on it";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
                }
                Self::parse(text.lines().next().unwrap_or_default())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = Self::random()?;
                let mut options = std::fs::OpenOptions::new();
                options.write(true).create_new(true);
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                let mut file = options.open(path)?;
                if let Err(error) = writeln!(file, "{}", token.0) {
                    // Otherwise the next start would find a file without a token.
                    let _ = std::fs::remove_file(path);
                    return Err(error);
                }
                Ok(token)
            }
            Err(error) => Err(error),
        }
    }

    fn parse(text: &str) -> io::Result<Self> {
        let text = text.trim();
        if text.len() < CHARS_MIN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let wanted =
                format!("a token is at least {CHARS_MIN} printable characters in one line");
            return Err(io::Error::new(io::ErrorKind::InvalidData, wanted));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the token's characters.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns true if a request has the token. The time of the comparison does not reveal where two tokens differ.
    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        // The scheme is case-insensitive (RFC 9110, section 11.1).
        let of_bearer =
            |(scheme, shown): (&str, _)| scheme.eq_ignore_ascii_case("Bearer").then_some(shown);
        let shown = shown.and_then(|value| value.split_once(' ')).and_then(of_bearer);
        let shown: &str = shown.unwrap_or_default();
        let (shown, own) = (shown.trim().as_bytes(), self.0.as_bytes());
        let differing = shown.iter().zip(own).fold(0, |bits, (one, other)| bits | (one ^ other));
        shown.len() == own.len() && std::hint::black_box(differing) == 0
    }

    /// Middleware that passes only requests with the token.
    pub async fn check(State(token): State<Self>, request: Request, next: Next) -> Response {
        if token.is_shown(request.headers()) {
            return next.run(request).await;
        }
        note_unauthorized(&request, request.headers().contains_key(header::AUTHORIZATION));
        let wanted = [(header::WWW_AUTHENTICATE, "Bearer")];
        let error = json!({"error": "send the token: Authorization: Bearer TOKEN"});
        (StatusCode::UNAUTHORIZED, wanted, Json(error)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_the_token_for_its_owner() {
        let folder = std::env::temp_dir().join(format!("tickwire-token-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("token");
        let made = BearerToken::of_file(&path).unwrap();
        assert_eq!(made.expose().len(), 2 * LEN);
        assert_eq!(BearerToken::of_file(&path).unwrap().expose(), made.expose());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for bad in ["", "short\n", "with spaces in the middle"] {
            std::fs::write(&path, bad).unwrap();
            assert!(BearerToken::of_file(&path).is_err(), "{bad}");
        }
        std::fs::write(&path, made.expose()).unwrap();
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert!(
                BearerToken::of_file(&path).unwrap_err().to_string().contains("chmod"),
                "{mode:o}"
            );
        }
        std::fs::remove_dir_all(folder).unwrap();
        assert_ne!(BearerToken::random().unwrap().expose(), made.expose());
        assert!(!format!("{made:?}").contains(made.expose()));
    }

    #[test]
    fn only_the_whole_token_is_right() {
        let token = BearerToken::parse("0123456789abcdef").unwrap();
        let is_shown = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, text.parse().unwrap());
            token.is_shown(&headers)
        };
        assert!(is_shown("Bearer 0123456789abcdef") && is_shown("bearer 0123456789abcdef"));
        for wrong in [
            "Bearer 0123456789abcdeX",
            "Bearer 0123456789abcde",
            "Bearer ",
            "Basic x",
            "Bearer 0123456789abcdef0",
        ] {
            assert!(!is_shown(wrong), "{wrong}");
        }
        assert!(!token.is_shown(&HeaderMap::new()));
    }
}
