//! Processes that serve TLS, on one page.

use std::fmt::Write;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::common::get;
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, KeyPair};
use tickwire_monitor::{MonitorBuilder, fleet_routes, read_fleet};
use tickwire_telemetry::http::{HttpServer, HttpTls};
use tickwire_telemetry::metrics::Metrics;

/// A directory with an authority, which is removed when this value is dropped.
struct Authority {
    folder: PathBuf,
    certificate: Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        let folder =
            std::env::temp_dir().join(format!("tickwire-monitor-tls-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.join("authority.pem"), certificate.pem()).unwrap();
        Self { folder, certificate, key }
    }

    /// Writes a certificate for a host, and its key, as `NAME.pem` and `NAME.key`.
    fn sign(&self, name: &str, host: &str) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.certificate, &self.key).unwrap();
        fs::write(self.folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(self.folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Serves a monitor over TLS; it answers only clients with a certificate.
fn serve(folder: &Path, name: &str) -> (HttpServer, tickwire_monitor::Monitor) {
    let file = |end: &str| folder.join(format!("{name}.{end}"));
    let authority = folder.join("authority.pem");
    let tls = HttpTls::from_files(&file("pem"), &file("key"), Some(&authority)).unwrap();
    let monitor = MonitorBuilder::new(name, "1").start().unwrap();
    let routes = monitor.routes(None, Metrics::new().routes());
    (HttpServer::serve_tls("0".parse().unwrap(), routes, tls).unwrap(), monitor)
}

#[test]
fn a_page_speaks_tls_with_its_processes_and_checks_their_names() {
    let authority = Authority::new();
    let folder = &authority.folder;
    authority.sign("by-ip", "127.0.0.1");
    authority.sign("by-name", "feed.example");
    authority.sign("client", "page.example");
    let served = ["by-ip", "by-name"].map(|name| serve(folder, name));
    let [by_ip, by_name] = served.each_ref().map(|(server, _)| server.address());
    let own = "tls_cert = \"client.pem\"\ntls_key = \"client.key\"\n";
    let entries = [
        ("ip", by_ip, own.to_owned()),
        ("name", by_name, format!("tls_name = \"feed.example\"\n{own}")),
        ("wrong-name", by_name, own.to_owned()),
        ("no-certificate", by_ip, String::new()),
    ];
    let mut config = String::new();
    for (name, address, more) in &entries {
        let address: &SocketAddr = address;
        let head = format!("[[process]]\nname = \"{name}\"\naddress = \"{address}\"\n");
        write!(config, "{head}tls_authorities = \"authority.pem\"\n{more}").unwrap();
    }
    // Without authorities the page sends plain HTTP, and its error names the missing key.
    write!(config, "[[process]]\nname = \"plain\"\naddress = \"{by_ip}\"\n").unwrap();
    let processes = read_fleet(&config, folder).unwrap();
    let routes = fleet_routes(processes, None, Metrics::new().routes());
    let page = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
    let all = get(page.address(), "/api/v1/processes").json();
    let of = |index: usize, member: &str| all["processes"][index][member].clone();
    assert_eq!((of(0, "command"), of(1, "command")), ("by-ip".into(), "by-name".into()), "{all:#}");
    for (index, wanted) in [(2, "TLS: "), (3, ""), (4, "authorities")] {
        let error = of(index, "error");
        let error = error.as_str().unwrap_or_else(|| panic!("{index}: {all:#}"));
        assert!(error.contains(wanted), "{error}");
    }
    let state = get(page.address(), "/p/name/api/v1/state");
    assert_eq!((state.status, state.json()["process"]["command"].as_str()), (200, Some("by-name")));
}
