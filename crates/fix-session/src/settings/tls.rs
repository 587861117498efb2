//! TLS keys of QuickFIX for C++, QuickFIX/J, QuickFIX/n and QuickFIX/Go.
//!
//! An unknown key that concerns TLS is an error, so that a session whose file mentions encryption
//! never sends plain text.

use std::path::PathBuf;

use super::keys::Keys;
use super::{TlsSettings, TlsVersion};
use crate::config::SessionRole;

/// Keys that enable TLS.
const SWITCHES: [&str; 2] = ["socketusessl", "sslenable"];
/// PEM files of the own certificates, their key, and the authorities for the peer's certificate.
const CERTIFICATES: [&str; 3] =
    ["servercertificatefile", "clientcertificatefile", "socketcertificatefile"];
const KEYS: [&str; 3] =
    ["servercertificatekeyfile", "clientcertificatekeyfile", "socketprivatekeyfile"];
const AUTHORITIES: [&str; 3] = ["certificationauthoritiesfile", "socketcafile", "sslcacertificate"];
/// The server's name.
const SERVER_NAMES: [&str; 3] = ["socketservername", "sslservername", "snihostname"];
/// Lists of versions.
const VERSIONS: [&str; 3] = ["sslprotocol", "sslprotocols", "enabledprotocols"];

/// Parts of the names of TLS keys.
const PARTS: [&str; 13] = [
    "usessl",
    "enablessl",
    "tls",
    "certificat",
    "keystore",
    "truststore",
    "cipher",
    "privatekey",
    "socketca",
    "insecureskipverify",
    "needclientauth",
    "managerfactory",
    "endpointidentification",
];

/// Returns a key without underscores, which only some engines have in it.
fn plain(key: &str) -> String {
    key.replace('_', "")
}

/// True if a key concerns TLS.
fn is_tls(key: &str) -> bool {
    let key = plain(key);
    let key = key.as_str();
    let is_named = SERVER_NAMES.contains(&key) || VERSIONS.contains(&key) || key == "usesni";
    is_named || key.starts_with("ssl") || PARTS.iter().any(|part| key.contains(part))
}

/// Reads all TLS keys; `None` for a plain connection.
pub(super) fn read(keys: &mut Keys, role: SessionRole) -> Option<TlsSettings> {
    let names: Vec<String> = keys.values.keys().filter(|key| is_tls(key)).cloned().collect();
    let mut tls = TlsSettings::default();
    let mut switch: Option<bool> = None;
    let mut wants_client: Option<(u32, bool)> = None;
    let mut others: Vec<(String, u32)> = Vec::new();
    // SNI alone does not enable TLS.
    let mut is_sni_only = true;
    for name in names {
        let line = keys.line_of(&name);
        let shown = keys.values.get(&name).map_or_else(|| name.clone(), |(shown, _)| shown.clone());
        let key = plain(&name);
        let key = key.as_str();
        let Some(value) = keys.values.remove(&name).map(|(_, value)| value.text) else { continue };
        if value.is_empty() {
            // A key without a value, for example from an unset variable, would disable encryption
            // or admit everybody.
            keys.fail(line, format!("{shown} has no value; give it one or remove it"));
            continue;
        }
        let flag = is_yes(&value);
        if SWITCHES.contains(&key) {
            if flag.is_none() {
                keys.fail(line, format!("{shown}: '{value}' is not Y or N"));
            }
            if switch.is_some() && switch != flag {
                keys.fail(line, format!("{shown}: another key has the opposite value"));
            }
            switch = flag.or(switch);
            continue;
        }
        others.push((shown.clone(), line));
        let outcome = match key {
            key if CERTIFICATES.contains(&key) => set(&mut tls.certificates, PathBuf::from(value)),
            key if KEYS.contains(&key) => set(&mut tls.key, PathBuf::from(value)),
            key if AUTHORITIES.contains(&key) => set(&mut tls.authorities, PathBuf::from(value)),
            key if SERVER_NAMES.contains(&key) => set(&mut tls.server_name, value),
            key if VERSIONS.contains(&key) => read_versions(&value, &mut tls.versions),
            "socketminimumtlsversion" => read_minimum(&value, &mut tls.versions),
            "needclientauth" | "sslrequireclientcertificate" => {
                wants_client = flag.map(|flag| (line, flag));
                flag.map(drop).ok_or("is not Y or N")
            }
            "certificateverifylevel" if role == SessionRole::Acceptor => {
                wants_client = Some((line, value != "0"));
                Ok(())
            }
            "certificateverifylevel" if value != "0" => Ok(()),
            "certificateverifylevel" => Err(ALWAYS_VERIFIED),
            "sslvalidatecertificates" | "usesni" if flag == Some(true) => Ok(()),
            "socketinsecureskipverify" | "sslcheckcertificaterevocation" if flag == Some(false) => {
                Ok(())
            }
            "sslvalidatecertificates" | "socketinsecureskipverify" => Err(ALWAYS_VERIFIED),
            "sslcheckcertificaterevocation" => Err(NO_REVOCATION),
            "endpointidentificationalgorithm" if value.eq_ignore_ascii_case("https") => Ok(()),
            "endpointidentificationalgorithm" => Err(ALWAYS_VERIFIED),
            key if key.contains("revocation") => Err(NO_REVOCATION),
            key if key.contains("keystore")
                || key.contains("truststore")
                || key.contains("managerfactory") =>
            {
                Err(
                    "Java key stores are not supported; export certificate and key to PEM files and name them with SocketCertificateFile, SocketPrivateKeyFile and SocketCAFile",
                )
            }
            "sslcertificate" | "sslcertificatepassword" => Err(
                "PKCS#12 files are not supported; export certificate and key to PEM files and name them with \
                 SocketCertificateFile and SocketPrivateKeyFile",
            ),
            key if key.contains("cipher") => {
                Err("cipher suites cannot be selected; the safe ones of TLS 1.2 and 1.3 are used")
            }
            key if key.starts_with("sslca") => {
                Err("is not supported; name the authorities with CERTIFICATION_AUTHORITIES_FILE")
            }
            _ => Err("is not supported; no connection is made without it"),
        };
        is_sni_only &= key == "usesni" && outcome.is_ok();
        if let Err(text) = outcome {
            keys.fail(line, format!("{shown}: {text}"));
        }
    }
    if let (Some(false), Some((other, line))) = (switch, others.first()) {
        keys.fail(*line, format!("{other}: another key disables TLS; remove one of them"));
    }
    if let (None, Some((other, line)), true) = (switch, others.first(), is_sni_only) {
        let text = "no key enables TLS; set SocketUseSSL=Y and CERTIFICATION_AUTHORITIES_FILE, or \
                    remove it";
        keys.fail(*line, format!("{other}: {text}"));
    }
    match wants_client {
        Some((line, true)) if role == SessionRole::Acceptor && tls.authorities.is_none() => {
            let text = "client certificates are required; name their authorities with SocketCAFile";
            keys.fail(line, text.to_owned());
        }
        Some((line, false)) if role == SessionRole::Acceptor && tls.authorities.is_some() => {
            let text =
                "authorities are named, so client certificates are required; remove one of the two";
            keys.fail(line, text.to_owned());
        }
        _ => {}
    }
    (switch == Some(true) || !others.is_empty()).then_some(tls)
}

const ALWAYS_VERIFIED: &str = "the peer's certificate is always verified";
const NO_REVOCATION: &str = "certificate revocation is not checked; set N or remove the key";

fn is_yes(text: &str) -> Option<bool> {
    match text {
        "Y" | "y" | "yes" | "true" | "1" => Some(true),
        "N" | "n" | "no" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// Sets a value; fails if it was already set to another.
fn set<T: PartialEq>(place: &mut Option<T>, value: T) -> Result<(), &'static str> {
    if place.as_ref().is_some_and(|known| *known != value) {
        return Err("another key has a different value");
    }
    *place = Some(value);
    Ok(())
}

/// Reads a list of versions as the engines write them: `TLSv1.2`, `Tls12`, `TLS12`, `+TLSv1_3`.
fn read_versions(text: &str, versions: &mut Vec<TlsVersion>) -> Result<(), &'static str> {
    for word in text.split([',', ' ', '|', ';']).filter(|word| !word.is_empty()) {
        let name: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        let found: &[TlsVersion] = match name.to_ascii_lowercase().as_str() {
            "tls12" | "tlsv12" => &[TlsVersion::Tls12],
            "tls13" | "tlsv13" => &[TlsVersion::Tls13],
            "all" | "default" => &[TlsVersion::Tls12, TlsVersion::Tls13],
            "sslv2" | "sslv3" | "ssl2" | "ssl3" | "tls" | "tlsv1" | "tls10" | "tlsv10"
            | "tls11" | "tlsv11" => &[],
            _ => {
                return Err(
                    "it contains a value that is not a TLS version; expected TLSv1.2, TLSv1.3 or both",
                );
            }
        };
        versions.extend(found);
    }
    versions.sort_unstable();
    versions.dedup();
    if versions.is_empty() { Err("only TLSv1.2 and TLSv1.3 are supported") } else { Ok(()) }
}

fn read_minimum(text: &str, versions: &mut Vec<TlsVersion>) -> Result<(), &'static str> {
    let known = match text.to_ascii_uppercase().as_str() {
        "SSL30" | "TLS10" | "TLS11" | "TLS12" => vec![TlsVersion::Tls12, TlsVersion::Tls13],
        "TLS13" => vec![TlsVersion::Tls13],
        _ => return Err("is not SSL30, TLS10, TLS11, TLS12 or TLS13"),
    };
    *versions = known;
    Ok(())
}
