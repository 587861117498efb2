//! Sessions over TCP on loopback: plain, with TLS and client certificates, with unknown counterparties.

mod peers;

use peers::{Collector, Folder, acceptor_config, initiator_config, run_until};
use std::net::SocketAddr;
use std::path::PathBuf;
use tickwire_fix_session::settings::Settings;
use tickwire_fix_session::{Fsync, MemoryStore, SessionId};
use tickwire_net::fix::{
    AcceptorOptions, Backoff, ClientTls, Engine, EngineOptions, InitiatorOptions, ServerTls,
    TemplateSession,
};

fn engine() -> Engine<Collector> {
    Engine::new(EngineOptions::default(), Collector::default()).expect("an engine")
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn quick(address: SocketAddr) -> InitiatorOptions {
    let mut options = InitiatorOptions::new(address);
    options.backoff = Backoff::fixed(std::time::Duration::from_millis(10));
    options
}

#[test]
fn messages_pass_both_ways_and_a_logout_ends_it() {
    let (mut acceptor, mut initiator) = (engine(), engine());
    let accepting = acceptor.add_session(acceptor_config("I"), Box::new(MemoryStore::new()));
    let address = acceptor.listen(AcceptorOptions::new(loopback()), None).expect("listens");
    let calling = initiator.add_initiator(
        initiator_config("I"),
        Box::new(MemoryStore::new()),
        quick(address),
    );
    initiator.application_mut().to_send.insert(calling, 100);
    acceptor.application_mut().to_send.insert(accepting, 50);
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[0].application().received == 100 && engines[1].application().received == 50
    });
    initiator.set_connecting(calling, false);
    let now = peers::now();
    initiator.sessions_mut().session_mut(calling).expect("there").logout(now, "done");
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines.iter().all(|engine| {
            engine
                .sessions()
                .keys()
                .all(|key| !engine.sessions().session(key).expect("there").is_connected())
        })
    });
}

#[test]
fn unknown_counterparties_get_a_session_of_the_template() {
    let (mut acceptor, mut initiator) = (engine(), engine());
    let template = |id: &SessionId| {
        let known = id.target_comp_id.starts_with("OK");
        known.then(|| {
            let config = acceptor_config(&id.target_comp_id);
            TemplateSession { config, store: Box::new(MemoryStore::new()), log: None }
        })
    };
    let options = AcceptorOptions::new(loopback());
    let address = acceptor.listen(options, Some(Box::new(template))).expect("listens");
    for name in ["OK1", "OK2", "NO"] {
        let key = initiator.add_initiator(
            initiator_config(name),
            Box::new(MemoryStore::new()),
            quick(address),
        );
        initiator.application_mut().to_send.insert(key, 10);
    }
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[0].application().received == 20
    });
    assert_eq!(acceptor.sessions().len(), 2);
}

#[test]
fn a_settings_file_bounds_who_comes() {
    let text = "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=*\n\
         AcceptorTemplate=Y\nSocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\nUseDataDictionary=N\n\
         MaxTemplateSessions=2\nMaxConnections=3\nMaxLogonsPerSecond=50\n";
    let settings = Settings::parse(text).expect("well written");
    assert_eq!(settings.warnings, []);
    let (mut acceptor, mut initiator) = (engine(), engine());
    let address = acceptor.configure(&settings, Fsync::None).expect("set up").addresses[0];
    let keys = ["ONE", "TWO", "THREE"].map(|name| {
        let store = Box::new(MemoryStore::new());
        let key = initiator.add_initiator(initiator_config(name), store, quick(address));
        initiator.application_mut().to_send.insert(key, 5);
        key
    });
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[0].application().received == 10
    });
    assert_eq!(acceptor.sessions().len(), 2);
    let is_logged_on = |key| initiator.sessions().session(key).expect("there").is_logged_on();
    assert_eq!(keys.into_iter().filter(|key| is_logged_on(*key)).count(), 2);
    assert!(Settings::parse(&text.replace("=50", "=many")).is_err());
}

#[test]
fn a_template_of_a_settings_file_keeps_a_log_of_each_counterparty() {
    let folder = Folder::new("template-log");
    let logs = folder.path("log");
    let text = format!(
        "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=*\n\
         AcceptorTemplate=Y\nSocketAcceptAddress=127.0.0.1\nSocketAcceptPort=0\nFileLogPath={}\n\
         UseDataDictionary=N\n",
        logs.display()
    );
    let settings = Settings::parse(&text).expect("well written");
    let (mut acceptor, mut initiator) = (engine(), engine());
    let address = acceptor.configure(&settings, Fsync::None).expect("set up").addresses[0];
    for name in ["ONE", "TWO"] {
        let store = Box::new(MemoryStore::new());
        let key = initiator.add_initiator(initiator_config(name), store, quick(address));
        initiator.application_mut().to_send.insert(key, 5);
    }
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[0].application().received == 10
    });
    drop(acceptor);
    for name in ["ONE", "TWO"] {
        let path = logs.join(format!("FIX.4.4-A-{name}.messages.log"));
        let log = std::fs::read_to_string(path).expect("kept");
        assert_eq!(log.matches("\u{1}35=B\u{1}").count(), 5, "{log}");
    }
}

#[test]
fn a_template_makes_no_more_sessions_than_allowed() {
    let (mut acceptor, mut initiator) = (engine(), engine());
    let template = |id: &SessionId| {
        let config = acceptor_config(&id.target_comp_id);
        Some(TemplateSession { config, store: Box::new(MemoryStore::new()), log: None })
    };
    let mut options = AcceptorOptions::new(loopback());
    options.template_sessions_max = 2;
    let address = acceptor.listen(options, Some(Box::new(template))).expect("listens");
    let keys = ["ONE", "TWO", "THREE"].map(|name| {
        let store = Box::new(MemoryStore::new());
        initiator.add_initiator(initiator_config(name), store, quick(address))
    });
    let logons = |engine: &Engine<Collector>| {
        keys.map(|key| engine.sessions().session(key).expect("there").counters().logons)
    };
    let (mut sum, mut after) = (0, 0);
    // Whoever comes third is refused, again and again: it tries every ten milliseconds.
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        sum = logons(engines[1]).into_iter().sum::<u64>();
        after += u32::from(sum >= 2);
        after > 100
    });
    assert_eq!((acceptor.sessions().len(), sum), (2, 2));
}

/// Files of an authority, a server and a client, and of a stranger.
struct Certificates {
    folder: Folder,
}

impl Certificates {
    fn new() -> Self {
        use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
        let folder = Folder::new("tls");
        for authority in ["authority", "stranger-authority"] {
            let authority_key = KeyPair::generate().expect("a key");
            let mut params = CertificateParams::new(Vec::new()).expect("params");
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let certificate = params.self_signed(&authority_key).expect("signed");
            folder.write(authority, &certificate.pem());
            let names = match authority {
                "authority" => ["server", "client"],
                _ => ["stranger", "other-stranger"],
            };
            for name in names {
                let key = KeyPair::generate().expect("a key");
                let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("params");
                let signed = params.signed_by(&key, &certificate, &authority_key).expect("signed");
                folder.write(name, &signed.pem());
                folder.write(&format!("{name}.key"), &key.serialize_pem());
            }
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }

    fn server(&self) -> ServerTls {
        let authorities = self.path("authority");
        ServerTls::from_files(&self.path("server"), &self.path("server.key"), Some(&authorities))
            .expect("files of a server")
    }

    fn client(&self, name: &str) -> ClientTls {
        let (own, key) = (self.path(name), self.path(&format!("{name}.key")));
        ClientTls::from_files(&self.path("authority"), Some((&own, &key)), "localhost")
            .expect("files of a client")
    }
}

#[test]
fn with_tls_only_clients_with_the_right_certificate_get_in() {
    let certificates = Certificates::new();
    let (mut acceptor, mut initiator) = (engine(), engine());
    let mut options = AcceptorOptions::new(loopback());
    options.tls = Some(certificates.server());
    for name in ["GOOD", "STRANGER"] {
        acceptor.add_session(acceptor_config(name), Box::new(MemoryStore::new()));
    }
    let address = acceptor.listen(options, None).expect("listens");
    let mut keys = Vec::new();
    for (name, identity) in [("GOOD", "client"), ("STRANGER", "stranger")] {
        let mut options = quick(address);
        options.tls = Some(certificates.client(identity));
        let store = Box::new(MemoryStore::new());
        let key = initiator.add_initiator(initiator_config(name), store, options);
        initiator.application_mut().to_send.insert(key, 3000);
        keys.push(key);
    }
    let accepting = acceptor.sessions().keys().next().expect("there");
    acceptor.application_mut().to_send.insert(accepting, 3000);
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[0].application().received == 3000 && engines[1].application().received == 3000
    });
    let logons = |engine: &Engine<Collector>, index: usize| {
        let key = engine.sessions().keys().nth(index).expect("there");
        engine.sessions().session(key).expect("there").counters().logons
    };
    assert_eq!((logons(&acceptor, 0), logons(&acceptor, 1)), (1, 0));
    assert_eq!((logons(&initiator, 0), logons(&initiator, 1)), (1, 0));
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new("no-tls");
    folder.write("empty", "");
    let error = ServerTls::from_files(&folder.path("empty"), &folder.path("none"), None);
    let text = error.expect_err("no certificate").to_string();
    assert!(text.contains("empty") && text.contains("PEM"), "{text}");
    assert!(ClientTls::from_files(&folder.path("none"), None, "localhost").is_err());
}
