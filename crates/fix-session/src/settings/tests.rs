//! Tests of settings files.

use super::*;
use crate::Schedule;
use crate::config::SessionRole;
use proptest::prelude::*;

const GOOD: &str = "\
# comment
[DEFAULT]
ConnectionType=initiator
ReconnectInterval=5
FileStorePath=store
SenderCompID=US
StartTime=08:00:00
EndTime=16:30:00
TimeZone=America/New_York
HeartBtInt=20
MyOwnKey=1

[SESSION]
BeginString=FIX.4.4
TargetCompID=THEM
SocketConnectHost=192.0.2.1
SocketConnectPort=5001
SocketConnectHost1=192.0.2.2
SocketConnectPort1=5002
ResetOnLogon=Y
CheckLatency=N
TimestampPrecision=6
DataDictionary=FIX44.xml

[session]
ConnectionType=acceptor
beginstring=FIXT.1.1
DefaultApplVerID=FIX.5.0SP2
TargetCompID=*
SocketAcceptPort=5003
AllowedRemoteAddresses=192.0.2.0/24, 203.0.113.7
AcceptorTemplate=Y
NonStopSession=Y
SERVER_CERTIFICATE_FILE=server.pem
SERVER_CERTIFICATE_KEY_FILE=server.key
";

#[test]
fn sessions_have_their_keys_and_those_of_the_default() {
    let settings = Settings::parse(GOOD).expect("well written");
    let [first, second] = settings.sessions.as_slice() else { panic!("two sessions") };
    assert_eq!(first.config.id.to_string(), "FIX.4.4:US->THEM");
    assert_eq!((first.config.role, first.config.heartbeat_s), (SessionRole::Initiator, 20));
    assert_eq!((first.config.reset_on_logon, first.config.latency_max_s), (true, None));
    assert_eq!(first.config.precision, tickwire_fix::Precision::Micros);
    assert!(first.config.schedule.is_some());
    assert_eq!(first.dictionaries.session, Some(PathBuf::from("FIX44.xml")));
    let hosts = vec![("192.0.2.1".to_owned(), 5001), ("192.0.2.2".to_owned(), 5002)];
    assert_eq!(first.connection, ConnectionSettings::Initiator { hosts, reconnect_s: 5 });
    assert_eq!(second.config.default_appl_ver_id.as_deref(), Some("9"));
    assert!(second.config.schedule.is_none() && second.tls.is_some() && first.tls.is_none());
    let ConnectionSettings::Acceptor { port, allowed, is_template, .. } = &second.connection else {
        panic!("an acceptor")
    };
    assert_eq!((*port, allowed.len(), *is_template), (5003, 2, true));
    let [warning] = settings.warnings.as_slice() else { panic!("{:?}", settings.warnings) };
    assert_eq!(warning.to_string(), "line 11: 'MyOwnKey' is not known and has no effect");
}

#[test]
fn every_wrong_value_is_told_with_its_line() {
    let text = "\
Before=1
[DEFAULT]
HeartBtInt=often
[OTHER]
[SESSION]
BeginString=FIX.9
SenderCompID=US
ConnectionType=both
ResetOnLogon=maybe
StartTime=8
EndTime=09:00:00
no equals sign
SocketAcceptPort=70000
";
    let SettingsError(errors) = Settings::parse(text).expect_err("wrong");
    let lines: Vec<u32> = errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, [1, 3, 4, 5, 6, 8, 9, 10, 12, 13], "{errors:?}");
    assert!(errors[3].text.contains("TargetCompID"));
    assert!(Settings::parse("").is_err());
}

/// Returns an acceptor's file with additional keys.
fn acceptor_with(keys: &str) -> String {
    let session = "BeginString=FIX.4.4\nSenderCompID=US\nTargetCompID=THEM\n";
    format!("[SESSION]\nConnectionType=acceptor\nSocketAcceptPort=5001\n{session}{keys}")
}

#[test]
fn switches_of_other_engines_are_understood() {
    let keys = "RejectInvalidMessage=N\nRequiresOrigSendingTime=N\nClosedResendInterval=Y\n\
        MaxMessageSize=65536\nRefreshOnLogon=Y\nSocketTcpNoDelay=Y\nValidateIncomingMessage=N\n";
    let settings = Settings::parse(&acceptor_with(keys)).expect("well written");
    assert_eq!(settings.warnings, []);
    let session = &settings.sessions[0];
    let config = &session.config;
    assert!(!config.reject_invalid && !config.requires_orig_sending_time);
    assert!(config.closed_resend_interval && !session.dictionaries.is_used);
    assert_eq!(config.limits.message_len_max, 65_536);
    let plain = Settings::parse(&acceptor_with("")).expect("well written");
    let config = &plain.sessions[0].config;
    assert!(config.reject_invalid && config.requires_orig_sending_time);
    assert!(!config.closed_resend_interval && plain.sessions[0].dictionaries.is_used);
    for wrong in ["MaxMessageSize=255", "MaxMessageSize=big", "RejectInvalidMessage=perhaps"] {
        let SettingsError(errors) = Settings::parse(&acceptor_with(wrong)).expect_err("wrong");
        assert_eq!(errors.len(), 1, "{wrong}: {errors:?}");
        assert_eq!(errors[0].line, 7, "{wrong}");
    }
}

#[test]
fn silence_numbers_and_headers_have_their_keys() {
    let keys = "HeartBeatTimeoutMultiplier=2.25\nTestRequestDelayMultiplier=0.5\n\
        ValidateSequenceNumbers=N\nEnableLastMsgSeqNumProcessed=Y\nFileStoreSync=Y\nFileStoreArchives=3\n\
        SenderLocationID=LDN\nTargetLocationID=NYC\nLogonTag=95=3\nLogonTag1=96=a=b\n";
    let settings = Settings::parse(&acceptor_with(keys)).expect("well written");
    assert_eq!(settings.warnings, []);
    let session = &settings.sessions[0];
    let config = &session.config;
    assert_eq!((config.silence_permille, config.test_request_permille), (Some(3250), 1500));
    assert!(!config.check_seq_nums && config.last_seq_num_processed && session.store_syncs);
    assert_eq!(session.store_archives, 3);
    assert_eq!(config.sender_location_id.as_deref(), Some("LDN"));
    assert_eq!(config.target_location_id.as_deref(), Some("NYC"));
    let fields = vec![(tickwire_fix::Tag(95), "3".into()), (tickwire_fix::Tag(96), "a=b".into())];
    assert_eq!(config.logon_fields, fields);
    let text = acceptor_with("DisableHeartBeatCheck=Y\n");
    let settings = Settings::parse(&text).expect("well written");
    assert_eq!(settings.sessions[0].config.silence_permille, None);
    let plain = Settings::parse(&acceptor_with("")).expect("well written");
    let config = &plain.sessions[0].config;
    assert_eq!((config.silence_permille, config.test_request_permille), (Some(2400), 1200));
    assert!(config.check_seq_nums && !config.last_seq_num_processed);
    let text = acceptor_with("ValidateSequenceNumbers=N\nEnableNextExpectedMsgSeqNum=Y\n");
    let warned = Settings::parse(&text).expect("well written");
    assert_eq!(warned.warnings.len(), 1, "{:?}", warned.warnings);
    let wrongs =
        ["HeartBeatTimeoutMultiplier=-1", "TestRequestDelayMultiplier=NaN", "LogonTag=x=y"];
    for wrong in wrongs.into_iter().chain(["DisableHeartBeatCheck=2", "LogonTag=553="]) {
        let SettingsError(errors) = Settings::parse(&acceptor_with(wrong)).expect_err("wrong");
        assert_eq!((errors.len(), errors[0].line), (1, 7), "{wrong}: {errors:?}");
    }
}

#[test]
fn fields_that_the_logon_has_already_are_not_named_again() {
    let named = Settings::parse(&acceptor_with("LogonTag=553=me\nLogonTag1=554=secret\n"));
    assert_eq!(named.expect("well written").sessions[0].config.logon_fields.len(), 2);
    for tag in [8, 9, 10, 34, 35, 49, 52, 98, 108, 141, 789, 1137] {
        let SettingsError(errors) =
            Settings::parse(&acceptor_with(&format!("LogonTag={tag}=1\n"))).expect_err("twice");
        assert_eq!((errors.len(), errors[0].line), (1, 7), "{tag}: {errors:?}");
    }
    let wrongs =
        ["LogonTag=58=a\u{1}b", "Username=me\nLogonTag=553=me", "LogonTag=58=a\nLogonTag2=58=b"];
    for wrong in wrongs {
        let SettingsError(errors) = Settings::parse(&acceptor_with(wrong)).expect_err("wrong");
        assert_eq!(errors.len(), 1, "{wrong}: {errors:?}");
    }
}

#[test]
fn the_time_to_be_logged_on_lies_within_the_schedule() {
    let session = "StartTime=08:00:00\nEndTime=16:00:00\nTimeZone=Europe/London\n";
    let with = |keys: &str| Settings::parse(&acceptor_with(&format!("{session}{keys}")));
    let limited = with("LogonTime=09:00:00\nLogoutTime=15:00:00\n").expect("well written");
    let config = &limited.sessions[0].config;
    assert!(config.schedule.is_some() && config.logon_schedule.is_some());
    assert_eq!(limited.warnings, []);
    // One of the two times suffices: the other is that of the session.
    assert!(
        with("LogoutTime=15:30:00\n").expect("well written").sessions[0]
            .config
            .logon_schedule
            .is_some()
    );
    assert!(with("").expect("well written").sessions[0].config.logon_schedule.is_none());
    for wrong in ["LogonTime=07:59:59\n", "LogoutTime=16:00:01\n", "LogonTime=9\n"] {
        let SettingsError(errors) = with(wrong).expect_err("wrong");
        assert_eq!(errors.len(), 1, "{wrong}: {errors:?}");
    }
    // Zones may agree in winter only, and an hour that a clock change skips exists on all other
    // days.
    for (times, is_within) in [
        (
            "StartTime=08:00:00\nEndTime=16:00:00\nTimeZone=Europe/London\nLogonTime=08:00:00 UTC\nLogoutTime=16:00:00\n",
            false,
        ),
        (
            "StartTime=02:10:00\nEndTime=03:10:00\nTimeZone=America/New_York\nLogonTime=02:20:00\nLogoutTime=03:05:00\n",
            true,
        ),
    ] {
        assert_eq!(Settings::parse(&acceptor_with(times)).is_ok(), is_within, "{times}");
    }
    let week = "StartTime=17:00:00\nEndTime=16:00:00\nStartDay=Sunday\nEndDay=Friday\n";
    let with = |keys: &str| Settings::parse(&acceptor_with(&format!("{week}{keys}")));
    let limited = "LogonTime=18:00:00\nLogonDay=mon\nLogoutTime=12:00:00\nLogoutDay=thu\n";
    assert!(with(limited).is_ok());
    assert!(with(&limited.replace("thu", "sat")).is_err());
    // Absent days default to those of the session.
    let inherited = with("LogonTime=18:00:00\nLogoutTime=12:00:00\n").expect("well written");
    let named = "LogonTime=18:00:00\nLogonDay=Sunday\nLogoutTime=12:00:00\nLogoutDay=Friday\n";
    let named = with(named).expect("well written");
    let logon = |settings: &Settings| settings.sessions[0].config.logon_schedule.clone();
    assert!(logon(&named).is_some());
    assert_eq!(logon(&inherited), logon(&named));
    // A single time or day limits the logon.
    for limit in
        ["LogonTime=18:00:00\n", "LogoutTime=12:00:00\n", "LogonDay=mon\n", "LogoutDay=thu\n"]
    {
        assert!(logon(&with(limit).expect("well written")).is_some(), "{limit}");
    }
    assert_eq!(logon(&with("").expect("well written")), None);
}

#[test]
fn a_schedule_may_be_of_certain_days() {
    let with = |keys: &str| {
        let times = "StartTime=08:00:00\nEndTime=16:00:00\n";
        Settings::parse(&acceptor_with(&format!("{times}{keys}")))
    };
    let schedule = |keys: &str| {
        with(keys).expect("well written").sessions[0].config.schedule.clone().expect("made")
    };
    let days = Schedule::daily("UTC", "08:00:00", "16:00:00").expect("well written");
    let days = days.on_days(["Monday", "Tuesday", "fri"]).expect("days");
    assert_eq!(schedule("Weekdays=Monday, Tuesday,Fri\nTimeZone=UTC\n"), days);
    for wrong in
        ["Weekdays=Mon\nStartDay=Mon\nEndDay=Tue\n", "StartDay=Mon\n", "Weekdays=Someday\n"]
    {
        let SettingsError(errors) = with(wrong).expect_err("wrong");
        assert_eq!(errors.len(), 1, "{wrong}: {errors:?}");
    }
}

#[test]
fn limits_of_an_acceptor_are_named_as_their_keys() {
    let mut limits = AcceptorLimits::default();
    for (number, (_, value)) in (1..).zip(limits.values_mut()) {
        *value = Some(number);
    }
    let names = limits.values().map(|(name, _)| name);
    assert_eq!(
        limits.values().map(|(_, value)| value),
        std::array::from_fn(|at| Some(at as u32 + 1))
    );
    assert_eq!(limits.values_mut().map(|(name, _)| name), names);
    let keys: String = limits
        .values()
        .iter()
        .map(|(name, value)| format!("{name}={}\n", value.expect("set")))
        .collect();
    let settings = Settings::parse(&acceptor_with(&keys)).expect("well written");
    assert_eq!(settings.warnings, []);
    let ConnectionSettings::Acceptor { limits: read, .. } = &settings.sessions[0].connection else {
        panic!("an acceptor")
    };
    assert_eq!(*read, limits);
}

#[test]
fn a_file_is_as_long_as_it_may_be_and_no_longer() {
    let mut text = acceptor_with("#");
    text.extend(std::iter::repeat_n('x', LEN_MAX - text.len()));
    assert_eq!(text.len(), LEN_MAX);
    assert!(Settings::parse(&text).is_ok());
    text.push('x');
    let SettingsError(errors) = Settings::parse(&text).expect_err("longer");
    assert!(errors[0].text.contains("longer"), "{errors:?}");
    let sections = |count: usize| {
        let mut errors = Vec::new();
        let (_, found) = section::sections(&"[SESSION]\n".repeat(count), &mut errors);
        (found.len(), errors.len())
    };
    assert_eq!(sections(SECTIONS_MAX), (SECTIONS_MAX, 0));
    assert_eq!(sections(SECTIONS_MAX + 1), (SECTIONS_MAX, 1));
}

#[test]
fn every_key_of_the_page_for_users_of_quickfix_is_known() {
    let page = include_str!("../../../../docs/fix-from-quickfix.md");
    let (_, table) = page.split_once("| key | what it does |").expect("a table of keys");
    let (table, after) = table.split_once("\n\n").expect("its end");
    let (without_effect, _) =
        after.split_once("Keys of databases").expect("those that are not known");
    let first_column = table.lines().filter_map(|line| line.split('|').nth(1));
    let quoted = |text: &'static str| text.split('`').skip(1).step_by(2);
    let keys: Vec<&str> = first_column.flat_map(quoted).chain(quoted(without_effect)).collect();
    assert!(keys.len() > 80, "{}", keys.len());
    for key in keys.into_iter().filter(|key| !key.ends_with("...")) {
        // The value itself may be invalid for the key.
        let told = match Settings::parse(&acceptor_with(&format!("{key}=1\n"))) {
            Ok(settings) => settings.warnings,
            Err(SettingsError(errors)) => errors,
        };
        let unknown: Vec<_> = told.iter().filter(|told| told.text.contains("not known")).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_without_panic(
        lines in proptest::collection::vec(
            "(\\[DEFAULT\\]|\\[SESSION\\]|(BeginString|SenderCompID|TargetCompID|StartTime|EndTime|\
             StartDay|TimeZone|HeartBtInt|ConnectionType|SocketAcceptPort)=[A-Za-z0-9:./ -]{0,12}|.{0,20})",
            0..30,
        ),
    ) {
        let text = lines.join("\n");
        if let Err(SettingsError(errors)) = Settings::parse(&text) {
            prop_assert!(!errors.is_empty());
        }
    }
}

#[test]
fn passwords_are_not_shown() {
    let keys = "Username=me\nPassword=hush-hush\nLogonTag=96=hush-hush\nLogonTag1=58\n";
    let settings = Settings::parse(&acceptor_with(&keys.replace("LogonTag1=58\n", "")));
    let settings = settings.expect("well written");
    assert_eq!(settings.sessions[0].config.password.as_ref().expect("there").expose(), "hush-hush");
    assert!(!format!("{settings:?}").contains("hush"), "{settings:?}");
    let errors = Settings::parse(&acceptor_with("LogonTag=554 hush-hush\n")).expect_err("wrong");
    assert!(!errors.to_string().contains("hush"), "{errors}");
}

/// Returns an initiator's file with additional keys.
fn initiator_with(keys: &str) -> String {
    let session =
        "BeginString=FIX.4.4\nSenderCompID=US\nTargetCompID=THEM\nSocketConnectPort=5001\n";
    format!("[SESSION]\nConnectionType=initiator\nSocketConnectHost=127.0.0.1\n{session}{keys}")
}

#[test]
fn keys_of_tls_encrypt_or_are_errors() {
    let files = "SocketCertificateFile=a.pem\nSocketPrivateKeyFile=a.key\nSocketCAFile=ca.pem\n";
    let fine = [
        "SSLEnable=Y\nSSLCACertificate=ca.pem\nSSLServerName=venue\nSSLProtocols=Tls12|Tls13\n\
         SSLValidateCertificates=Y\nSSLCheckCertificateRevocation=N\n",
        "SocketUseSSL=Y\nSocketCAFile=ca.pem\nUseSNI=Y\nSNIHostName=venue\nEnabledProtocols=TLSv1.3\n\
         EndpointIdentificationAlgorithm=HTTPS\n",
        "CLIENT_CERTIFICATE_FILE=a.pem\nCLIENT_CERTIFICATE_KEY_FILE=a.key\n\
         CERTIFICATION_AUTHORITIES_FILE=ca.pem\nCERTIFICATE_VERIFY_LEVEL=2\nSSL_PROTOCOL=+TLSv1_2\n",
        "ClientCertificateFile=a.pem\nClientCertificateKeyFile=a.key\n",
        "SocketCAFile=ca.pem\nSocketMinimumTLSVersion=TLS12\nSocketInsecureSkipVerify=N\n",
    ];
    for keys in fine {
        for text in [initiator_with(keys), initiator_with(keys).replace("SSLEnable=Y\n", "")] {
            let settings = Settings::parse(&text).unwrap_or_else(|errors| panic!("{keys}{errors}"));
            assert_eq!(settings.warnings, [], "{keys}");
            assert!(settings.sessions[0].tls.is_some(), "{keys}");
        }
    }
    let versions = |keys: &str| {
        Settings::parse(&initiator_with(keys)).expect("fine").sessions[0]
            .tls
            .clone()
            .expect("TLS")
            .versions
    };
    assert_eq!(versions("EnabledProtocols=TLSv1, TLSv1.2\n"), [TlsVersion::Tls12]);
    assert_eq!(versions("SocketMinimumTLSVersion=TLS13\n"), [TlsVersion::Tls13]);
    for plain in ["", "SSLEnable=N\n", "SocketUseSSL=N\n"] {
        let settings = Settings::parse(&initiator_with(plain)).expect("well written");
        assert!(settings.sessions[0].tls.is_none(), "{plain}");
    }
    let wrong = [
        "SSLCertificate=a.pfx",
        "SSLCertificatePassword=x",
        "SSLValidateCertificates=N",
        "SSLCheckCertificateRevocation=Y",
        "SocketKeyStore=a.jks",
        "SocketKeyStorePassword=x",
        "SocketTrustStore=a.jks",
        "KeyStoreType=JKS",
        "TrustManagerFactoryAlgorithm=PKIX",
        "KeyManagerFactoryAlgorithm=SunX509",
        "CipherSuites=TLS_RSA_WITH_NULL_MD5",
        "UseSNI=N",
        "SSL_CIPHER_SUITE=HIGH",
        "SSL_PROTOCOL=SSLv3",
        "EnabledProtocols=TLSv9",
        "SSLEnable=perhaps",
        "SocketInsecureSkipVerify=Y",
        "SocketPrivateKeyBytes=x",
        "SocketCABytes=x",
        "SocketCertificateBytes=x",
        "SocketMinimumTLSVersion=9",
        "CERTIFICATE_VERIFY_LEVEL=0",
        "CERTIFICATION_AUTHORITIES_DIRECTORY=x",
        "CERTIFICATE_REVOCATION_LIST_FILE=x",
        "CERTIFICATE_REVOCATION_LIST_DIRECTORY=x",
        "EndpointIdentificationAlgorithm=LDAPS",
        "SSLSomethingNew=1",
        "MyTlsSwitch=1",
        "SSLEnable=",
        "SocketUseSSL=",
        "SSL_PROTOCOL=",
        "CERTIFICATION_AUTHORITIES_FILE=",
    ];
    for key in wrong {
        let SettingsError(errors) =
            Settings::parse(&initiator_with(&format!("{key}\n"))).expect_err(key);
        assert_eq!((errors.len(), errors[0].line), (1, 8), "{key}: {errors:?}");
    }
    for (key, part) in [
        ("SocketKeyStore=a.jks", "Java key stores"),
        ("SocketTrustStore=a.jks", "Java key stores"),
        ("KeyManagerFactoryAlgorithm=SunX509", "Java key stores"),
        ("CERTIFICATE_REVOCATION_LIST_FILE=x", "revocation"),
        ("SSLCheckCertificateRevocation=Y", "revocation"),
        ("CipherSuites=x", "cipher suites"),
        ("SSLSomethingNew=1", "is not supported"),
    ] {
        let SettingsError(errors) =
            Settings::parse(&initiator_with(&format!("{key}\n"))).expect_err(key);
        assert!(errors[0].text.contains(part), "{key}: {errors:?}");
    }
    for keys in [format!("SSLEnable=N\n{files}"), "SSLEnable=Y\nSocketUseSSL=N\n".to_owned()] {
        assert!(Settings::parse(&initiator_with(&keys)).is_err(), "{keys}: a contradiction");
    }
    let acceptor = |keys: &str| Settings::parse(&acceptor_with(&format!("{files}{keys}")));
    assert!(acceptor("NeedClientAuth=Y\n").is_ok() && acceptor("NeedClientAuth=N\n").is_err());
    let without_authorities = |keys: &str| {
        Settings::parse(&acceptor_with(&format!(
            "{}{keys}",
            files.replace("SocketCAFile=ca.pem\n", "")
        )))
    };
    assert!(without_authorities("SSLRequireClientCertificate=N\n").is_ok());
    assert!(without_authorities("SSLRequireClientCertificate=Y\n").is_err());
    assert!(without_authorities("CERTIFICATE_VERIFY_LEVEL=1\n").is_err());
    for key in ["SocketCAFile", "NeedClientAuth", "CERTIFICATE_VERIFY_LEVEL"] {
        let said = without_authorities(&format!("{key}=\n")).expect_err(key).to_string();
        assert!(said.contains(key) && said.contains("has no value"), "{said}");
    }
}

#[test]
fn two_sections_of_one_session_are_an_error_with_both_lines() {
    let text = format!("{}{}", acceptor_with(""), acceptor_with("SocketAcceptAddress=127.0.0.1\n"));
    let SettingsError(errors) = Settings::parse(&text).expect_err("twice");
    let told =
        "line 7: the session FIX.4.4:US->THEM is already defined in line 1; keep one of the two";
    assert_eq!(errors.iter().map(SettingsFinding::to_string).collect::<Vec<_>>(), [told]);
    let other = acceptor_with("SessionQualifier=second\n");
    assert!(Settings::parse(&format!("{}{other}", acceptor_with(""))).is_ok());
}

#[test]
fn files_of_quickfix_go_and_n_are_understood() {
    let session = "BeginString=FIXT.1.1\nSenderCompID=US\nTargetCompID=THEM\nDefaultApplVerID=10\n";
    let read = |keys: &str| Settings::parse(&format!("[SESSION]\n{session}{keys}"));
    let acceptor =
        read("SocketAcceptPort=5001\nMaxMessagesInResendRequest=7\n").expect("well written");
    let config = &acceptor.sessions[0].config;
    assert_eq!((config.role, config.resend_request_max), (SessionRole::Acceptor, 7));
    assert_eq!(config.default_appl_ver_id.as_deref(), Some("10"));
    assert_eq!(acceptor.warnings, []);
    let initiator =
        read("SocketConnectHost=venue\nSocketConnectPort=5001\n").expect("well written");
    assert_eq!(initiator.sessions[0].config.role, SessionRole::Initiator);
    for unclear in ["", "SocketAcceptPort=1\nSocketConnectHost=venue\nSocketConnectPort=5001\n"] {
        assert!(read(unclear).is_err(), "{unclear}");
    }
    assert!(read("SocketAcceptPort=5001\nDefaultApplVerID=11\n").is_err());
}

#[test]
fn logs_are_rotated_where_a_size_is_given() {
    let rotation = |keys: &str| {
        let text = format!(
            "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\n\
             SocketAcceptPort=0\nFileLogPath=log\n{keys}"
        );
        Settings::parse(&text).map(|settings| {
            assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
            settings.sessions[0].log_rotation
        })
    };
    assert_eq!(rotation(""), Ok(None));
    assert_eq!(rotation("FileLogMaxBytes=0\n"), Ok(None));
    let wanted = LogRotation { bytes_max: 1000, kept: 5 };
    assert_eq!(rotation("FileLogMaxBytes=1000\n"), Ok(Some(wanted)));
    let wanted = LogRotation { kept: 2, ..wanted };
    assert_eq!(rotation("FileLogMaxBytes=1000\nFileLogMaxFiles=2\n"), Ok(Some(wanted)));
    assert!(rotation("FileLogMaxBytes=1 MB\n").is_err());
}

/// Returns the errors of a file in which one line is replaced.
fn refused(line: &str) -> String {
    let text = format!(
        "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.2\nSenderCompID=A\nTargetCompID=B\nSocketAcceptPort=0\n{line}\n"
    );
    Settings::parse(&text).map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn guards_without_a_value_let_nobody_in() {
    for key in [
        "RequiredPassword",
        "RequiredUsername",
        "AllowedRemoteAddresses",
        "AllowedClientCertificates",
        "SocketAcceptAddress",
    ] {
        let said = refused(&format!("{key}="));
        assert!(said.contains("line 7") && said.contains("admit everyone"), "{key}: {said}");
    }
    for (key, meant) in [
        ("RequiredPasword", "RequiredPassword"),
        ("ReqiredPassword", "RequiredPassword"),
        ("requireduser", "RequiredUsername"),
        ("AllowedAddresses", "AllowedRemoteAddresses"),
        ("SocketAcceptAdress", "SocketAcceptAddress"),
        ("SocketUseSLL", "SocketUseSSL"),
    ] {
        let said = refused(&format!("{key}=1"));
        let expected = format!("line 7: '{key}' is not known; did you mean {meant}?");
        assert!(said.starts_with(&expected), "{key}: {said}");
    }
    for key in ["RequiredPwd", "AllowedIPs", "allowedhosts"] {
        let said = refused(&format!("{key}=1"));
        assert!(said.contains("line 7") && said.contains("let everyone in"), "{key}: {said}");
    }
    for key in [
        "MaxConnections",
        "MaxPendingConnections",
        "MaxPendingConnectionsPerAddress",
        "FirstMessageTimeout",
    ] {
        assert!(refused(&format!("{key}=0")).contains("refuse every Logon"), "{key}");
        assert_eq!(refused(&format!("{key}=1")), "");
    }
    for key in [
        "SenderCompID",
        "TargetCompID",
        "SenderSubID",
        "TargetSubID",
        "SenderLocationID",
        "TargetLocationID",
        "Username",
        "Password",
    ] {
        assert_eq!(
            refused(&format!("{key}=A\u{1}B")),
            format!("line 7: {key} has a control character")
        );
    }
    assert!(refused("FileLogMaxBytes=1000\nFileLogMaxFiles=3000000").contains("more than 1000"));
}

#[test]
fn both_times_of_a_schedule_are_of_one_zone() {
    let times = |start: &str, end: &str| refused(&format!("StartTime={start}\nEndTime={end}"));
    assert!(times("08:00:00", "16:00:00 America/New_York").contains("zone '' and EndTime"));
    assert!(times("08:00:00 Europe/London", "16:00:00").contains("StartTime has the zone"));
    assert!(times("08:00:00", "16:00:00 Nowhere/X").contains("Nowhere/X"));
    assert_eq!(times("08:00:00 Europe/London", "16:00:00 Europe/London"), "");
    assert_eq!(times("08:00:00 Europe/London", "16:00:00\nTimeZone=Europe/London"), "");
}

#[test]
fn errors_name_the_key_and_what_to_set() {
    for (line, expected) in [
        (
            "StartDay=Monday\nStartTime=8:00:00\nEndTime=17:00:00",
            "StartDay and EndDay belong together",
        ),
        ("StartDay=Monday\nEndDay=Friday", "days without StartTime and EndTime"),
        (
            "StartTime=08:00:00\nEndTime=09:00:00\nStartDay=mo\nEndDay=fr\nWeekdays=mo",
            "exclude Weekdays",
        ),
        (
            "HeartBtInt=30 # seconds",
            "is not a number of seconds; a comment needs a line of its own",
        ),
        ("FileStorePath=", "FileStorePath has no value"),
        ("UseSNI=Y", "UseSNI: no key enables TLS; set SocketUseSSL=Y"),
        (
            "SSL_CA=a.pem",
            "SSL_CA: is not supported; name the authorities with CERTIFICATION_AUTHORITIES_FILE",
        ),
        ("BeginString=FIX.5.0SP1", "set BeginString=FIXT.1.1 and DefaultApplVerID=FIX.5.0SP1"),
    ] {
        let said = refused(line);
        assert!(said.contains(expected), "{line}: {said}");
    }
    let empty = Settings::parse("# nothing\n").expect_err("no session").to_string();
    assert_eq!(empty, "the file has no [SESSION] section");
}

#[test]
fn all_errors_of_a_session_are_reported_at_once_and_each_only_once() {
    let text = "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\n\
        SocketAcceptPort=x\nStartTime=25:00:00\nEndTime=26:00:00\nTimeZone=Nowhere/X\nWeekdays=mo,xx\n\
        AllowedRemoteAddresses=192.0.2.1, 192.0.2.0/33, host\nAllowedClientCertificates=12\n";
    let SettingsError(errors) = Settings::parse(text).expect_err("wrong");
    let quoted = errors.iter().filter_map(|error| error.text.split('\'').nth(1));
    let mut quoted: Vec<&str> = quoted.collect();
    quoted.sort_unstable();
    let expected = ["12", "192.0.2.0/33", "25:00:00", "26:00:00", "Nowhere/X", "host", "x", "xx"];
    assert_eq!((quoted, errors.len()), (expected.to_vec(), 8), "{errors:?}");
    let hosts = "[SESSION]\nConnectionType=initiator\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\n\
        SocketConnectHost=127.0.0.1\nSocketConnectPort=x\n";
    let SettingsError(errors) = Settings::parse(hosts).expect_err("wrong");
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn keys_of_other_engines_are_warnings_with_a_hint() {
    let warnings = |key: &str| {
        let settings = Settings::parse(&acceptor_with(&format!("{key}=1\n"))).expect("no error");
        settings.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for (key, expected) in [
        (
            "RejectGarbledMessage",
            "is not supported and has no effect: a garbled message is always ignored",
        ),
        ("HttpAcceptPort", "--admin PORT of tickwire fix server"),
        ("MySQLStoreDatabase", "FileStorePath"),
        ("JdbcURL", "FileStorePath"),
        ("SocketConnectTimeout", "is not supported and has no effect"),
        ("SocketNoDelayed", "did you mean SocketNoDelay?"),
    ] {
        let said = warnings(key);
        assert!(
            said.starts_with(&format!("line 7: '{key}'")) && said.ends_with(expected)
                || said.contains(expected),
            "{said}"
        );
    }
    assert_eq!(warnings("SocketAcceptProtocol"), "");
    let text = acceptor_with("FileLogPath=log # here\n");
    let settings = Settings::parse(&text).expect("no error");
    assert!(settings.warnings[0].text.contains("a comment needs a line of its own"));
}

#[test]
fn an_unknown_key_is_a_warning_with_the_key_that_it_resembles() {
    let warning = |role: &str, key: &str| {
        let connection = match role {
            "acceptor" => "SocketAcceptPort=0",
            _ => "SocketConnectHost=127.0.0.1\nSocketConnectPort=1",
        };
        let text = format!(
            "[SESSION]\nConnectionType={role}\nBeginString=FIX.4.2\nSenderCompID=A\nTargetCompID=B\n{connection}\n{key}=1\n"
        );
        let settings = Settings::parse(&text).expect("no error");
        settings.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let text = "'HeartbeatInt' is not known and has no effect; did you mean HeartBtInt?";
    assert_eq!(warning("acceptor", "HeartbeatInt"), format!("line 7: {text}"));
    let text = "'AllowPosDup' is not supported and has no effect";
    assert_eq!(warning("acceptor", "AllowPosDup"), format!("line 7: {text}"));
    // An initiator accepts no connections, so the key is not taken for a guard.
    let text = "'ReqiredPassword' is not known and has no effect; did you mean RequiredPassword?";
    assert_eq!(warning("initiator", "ReqiredPassword"), format!("line 8: {text}"));
}
