//! Sessions over TCP on loopback: plain, with TLS and client certificates, with unknown counterparties.

mod peers;

use peers::{
    Collector, Folder, accept, acceptor_config, connect, engine, in_memory, initiator_config,
    listen, loopback, quick, run_until,
};
use std::path::PathBuf;
use tickwire_fix_engine::{
    AcceptorOptions, Access, ClientTls, Decision, Engine, Fingerprint, ServerTls,
};
use tickwire_fix_session::settings::Settings;
use tickwire_fix_session::{Fsync, MemoryStore, Refusal, SessionId};

#[test]
fn messages_pass_both_ways_and_a_logout_ends_it() {
    let (mut acceptor, mut initiator) = (engine(), engine());
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    let accepting = accept(&mut acceptor, listener, acceptor_config("I"));
    let calling = connect(&mut initiator, "I", address);
    initiator.application_mut().to_send.insert(calling, 100);
    acceptor.application_mut().to_send.insert(accepting, 50);
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[0].application().received == 100 && engines[1].application().received == 50
    });
    initiator.sessions_mut().set_enabled(calling, false, peers::now());
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
        known.then(|| in_memory(acceptor_config(&id.target_comp_id)))
    };
    let (listener, address) = listen(&mut acceptor, AcceptorOptions::new(loopback()));
    acceptor.set_template(listener, Box::new(template)).expect("set");
    for name in ["OK1", "OK2", "NO"] {
        let key = connect(&mut initiator, name, address);
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
        let key = connect(&mut initiator, name, address);
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
        let key = connect(&mut initiator, name, address);
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
    let template = |id: &SessionId| Some(in_memory(acceptor_config(&id.target_comp_id)));
    let mut options = AcceptorOptions::new(loopback());
    options.template_sessions_max = 2;
    let (listener, address) = listen(&mut acceptor, options);
    acceptor.set_template(listener, Box::new(template)).expect("set");
    let keys = ["ONE", "TWO", "THREE"].map(|name| connect(&mut initiator, name, address));
    let logons = |engine: &Engine<Collector>| {
        keys.map(|key| engine.sessions().session(key).expect("there").counters().logons)
    };
    let (mut sum, mut after) = (0, 0);
    // The third initiator is refused repeatedly: it retries every ten milliseconds.
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        sum = logons(engines[1]).into_iter().sum::<u64>();
        after += u32::from(sum >= 2);
        after > 100
    });
    assert_eq!((acceptor.sessions().len(), sum), (2, 2));
}

/// Certificate files of an authority, a server, a client, and an untrusted peer.
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

    /// Returns a certificate in wire form (DER).
    fn der(&self, name: &str) -> Vec<u8> {
        use rustls::pki_types::{CertificateDer, pem::PemObject};
        CertificateDer::from_pem_file(self.path(name)).expect("a certificate").to_vec()
    }

    fn server(&self) -> ServerTls {
        let authorities = self.path("authority");
        ServerTls::from_files(
            &self.path("server"),
            &self.path("server.key"),
            Some(&authorities),
            &[],
        )
        .expect("files of a server")
    }

    fn client(&self, name: &str) -> ClientTls {
        let (own, key) = (self.path(name), self.path(&format!("{name}.key")));
        ClientTls::from_files(&self.path("authority"), Some((&own, &key)), None, &[])
            .expect("files of a client")
    }
}

#[test]
fn with_tls_only_clients_with_the_right_certificate_get_in() {
    let certificates = Certificates::new();
    let (mut acceptor, mut initiator) = (engine(), engine());
    let mut options = AcceptorOptions::new(loopback());
    options.tls = Some(certificates.server());
    let (listener, address) = listen(&mut acceptor, options);
    for name in ["GOOD", "STRANGER"] {
        accept(&mut acceptor, listener, acceptor_config(name));
    }
    let mut keys = Vec::new();
    for (name, identity) in [("GOOD", "client"), ("STRANGER", "stranger")] {
        let mut options = quick(address);
        options.tls = Some(certificates.client(identity));
        // The name that the server's certificate has.
        options.addresses = vec![(address, "localhost".to_owned())];
        let store = Box::new(MemoryStore::new());
        let key = initiator.add_initiator(initiator_config(name), store, options).expect("added");
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
fn both_sides_say_why_tls_failed() {
    let certificates = Certificates::new();
    let path = |name: &str| certificates.path(name);
    let client = |authority: &str, identity: Option<&str>| {
        let key = identity.map(|name| path(&format!("{name}.key")));
        let own = identity.map(path);
        let own = own.as_deref().zip(key.as_deref());
        ClientTls::from_files(&path(authority), own, None, &[]).expect("files of a client")
    };
    let trusted = Some(client("authority", Some("client")));
    let cases = [
        // The authority, the name and the client certificate are wrong, in this order.
        (
            true,
            Some(client("stranger-authority", Some("client"))),
            "localhost",
            "TLS: invalid peer certificate: BadSignature",
            "the peer ended the connection with the alert",
        ),
        (
            true,
            trusted.clone(),
            "venue.example",
            "TLS: invalid peer certificate: certificate not valid for name",
            "the peer ended the connection with the alert",
        ),
        (
            true,
            Some(client("authority", None)),
            "localhost",
            "TLS: the peer ended the connection with the alert CertificateRequired",
            "peer sent no certificates",
        ),
        // Only one side uses TLS.
        (true, None, "localhost", "TLS: the peer uses it", "the peer seems not to use TLS"),
        (
            false,
            trusted,
            "localhost",
            "TLS: the peer closed the connection during the handshake",
            "the peer uses TLS, and this listener does not",
        ),
    ];
    for (accepts_tls, tls, name, at_initiator, at_acceptor) in cases {
        let (mut acceptor, mut initiator) = (engine(), engine());
        let mut options = AcceptorOptions::new(loopback());
        options.tls = accepts_tls.then(|| certificates.server());
        let (listener, address) = listen(&mut acceptor, options);
        accept(&mut acceptor, listener, acceptor_config("I"));
        let mut options = quick(address);
        options.tls = tls;
        options.addresses = vec![(address, name.to_owned())];
        let store = Box::new(MemoryStore::new());
        initiator.add_initiator(initiator_config("I"), store, options).expect("added");
        run_until(&mut [&mut acceptor, &mut initiator], |engines| {
            engines[0].refusals(Refusal::Tls) > 0 && !engines[1].application().failures.is_empty()
        });
        let failure = &initiator.application().failures[0];
        assert!(failure.starts_with(at_initiator), "{failure}");
        let (_, reason, text) = &acceptor.application().refused[0];
        assert!(*reason == Refusal::Tls && text.contains(at_acceptor), "{text}");
    }
}

#[test]
fn a_failed_connection_names_host_and_port() {
    let mut initiator = engine();
    let nobody = std::net::TcpListener::bind(loopback()).expect("a port");
    let address = nobody.local_addr().expect("an address");
    drop(nobody);
    let mut options = quick(address);
    options.addresses = vec![(address, "venue.example".to_owned())];
    let store = Box::new(MemoryStore::new());
    initiator.add_initiator(initiator_config("I"), store, options).expect("added");
    run_until(&mut [&mut initiator], |engines| !engines[0].application().failures.is_empty());
    let expected = format!("cannot connect to venue.example ({address}): Connection refused");
    let failure = &initiator.application().failures[0];
    assert!(failure.starts_with(&expected), "{failure}");
}

#[test]
fn a_session_may_want_a_certificate_of_its_own() {
    let certificates = Certificates::new();
    let (mut acceptor, mut initiator) = (engine(), engine());
    let mut options = AcceptorOptions::new(loopback());
    options.tls = Some(certificates.server());
    let (listener, address) = listen(&mut acceptor, options);
    // The authority has signed both certificates, but the client's session does not allow the
    // server's.
    for (name, certificate) in [("CLIENT", "client"), ("SERVER", "client")] {
        let mut config = acceptor_config(name);
        config.authenticate = true;
        let access = Access {
            addresses: Vec::new(),
            certificates: vec![Fingerprint::of(&certificates.der(certificate))],
        };
        let store = Box::new(MemoryStore::new());
        acceptor.add_acceptor(listener, config, store, access).expect("added");
    }
    acceptor.application_mut().decision = Some(Decision::Accept);
    for (name, identity) in [("CLIENT", "client"), ("SERVER", "server")] {
        let mut options = quick(address);
        options.tls = Some(certificates.client(identity));
        // The name that the server's certificate has.
        options.addresses = vec![(address, "localhost".to_owned())];
        let store = Box::new(MemoryStore::new());
        let key = initiator.add_initiator(initiator_config(name), store, options).expect("added");
        initiator.application_mut().to_send.insert(key, 10);
    }
    run_until(&mut [&mut acceptor, &mut initiator], |engines| {
        engines[0].application().received == 10 && engines[0].refusals(Refusal::Certificate) > 2
    });
    let [(id, peer, _)] = acceptor.application().asked.as_slice() else { panic!("one is asked") };
    assert_eq!((id.target_comp_id.as_str(), peer.certificates.len()), ("CLIENT", 1));
    assert_eq!(peer.certificates[0], certificates.der("client"));
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = Folder::new("no-tls");
    folder.write("empty", "");
    let error = ServerTls::from_files(&folder.path("empty"), &folder.path("none"), None, &[]);
    let text = error.expect_err("no certificate").to_string();
    assert!(text.contains("empty") && text.contains("PEM"), "{text}");
    assert!(ClientTls::from_files(&folder.path("none"), None, None, &[]).is_err());
}
