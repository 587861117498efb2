//! Checks dashboards and alert rules against the exported metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::FeedLine;
use tickwire_fix_engine::{FixMetrics, InitiatorOptions, Sessions};
use tickwire_fix_session::{BeginString, Config, MemoryStore, Now, SessionId, SessionRole};
use tickwire_telemetry::metrics::{FeedMetrics, LoopMetrics, Metrics, ReplayMetrics};

/// Labels by sample name.
type LabelsBySample = BTreeMap<String, BTreeSet<String>>;

/// Labels that Prometheus adds.
const OF_PROMETHEUS: [&str; 2] = ["instance", "job"];

fn ops() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ops")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Adds the samples of Prometheus text.
fn add(samples: &mut LabelsBySample, text: &str) {
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let of = samples.entry(name.to_owned()).or_default();
        for piece in line.split(['{', ',']).skip(1) {
            if let Some((label, rest)) = piece.split_once('=')
                && rest.starts_with('"')
            {
                of.insert(label.to_owned());
            }
        }
    }
}

/// Returns the names and labels of all metrics that processes of this program export.
fn exported() -> LabelsBySample {
    let metrics = Metrics::new();
    let lines = Line::ALL
        .into_iter()
        .flat_map(|line| [FeedLine::Incremental(line), FeedLine::Snapshot(line)]);
    let _feed = FeedMetrics::new(&metrics, Some("futures"), lines);
    let _loop = LoopMetrics::new(&metrics, Some("0"));
    let _replay = ReplayMetrics::new(&metrics, Some("futures"));
    let _times = ["decode_time", "book_time", "publish_time"]
        .map(|name| metrics.distribution(name, "", &[("channel", "futures")]));
    let mut sessions = Sessions::default();
    let id = SessionId::new(BeginString::Fix42, "A", "B");
    let store = Box::new(MemoryStore::new());
    let options = InitiatorOptions::new(([127, 0, 0, 1], 1).into());
    let added = sessions.add_initiator(Config::new(SessionRole::Initiator, id), store, options);
    assert!(added.is_ok());
    FixMetrics::new(&metrics).publish(&sessions, Now::default());
    let mut samples = LabelsBySample::from([("up".to_owned(), BTreeSet::new())]);
    add(&mut samples, &metrics.encode());
    {
        add(&mut samples, &crate::publish::metrics().all().encode());
        add(&mut samples, &crate::subscribe::metrics().all().encode());
    }
    samples
}

/// The names in a query.
#[derive(Debug, Default)]
struct QueryNames {
    /// Metrics and the labels that are matched on them.
    metrics: Vec<(String, Vec<String>)>,
    /// Labels by which results are grouped.
    groups: Vec<String>,
}

/// Splits a query into words, quoted texts and single characters.
fn tokens(query: &str) -> Vec<String> {
    let is_word =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | ':' | '.');
    let mut tokens = Vec::new();
    let mut rest = query.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => {
                let end =
                    rest[1..].find('"').unwrap_or_else(|| panic!("no end of a text: {query}"));
                end + 2
            }
            _ if is_word(first) => rest.find(|other| !is_word(other)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        tokens.push(rest[..len].to_owned());
        rest = rest[len..].trim_start();
    }
    tokens
}

/// Words that are not metrics. Function names are recognised by their parenthesis.
const KEYWORDS: [&str; 6] = ["and", "bool", "offset", "or", "unless", "inf"];

/// Collects the names in a PromQL query.
fn named(query: &str) -> QueryNames {
    let tokens = tokens(query);
    let mut named = QueryNames::default();
    let mut at = 0;
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    let is_name =
        |text: &str| text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    while at < tokens.len() {
        let (word, next) = (token(at), token(at + 1));
        at += 1;
        match word {
            "by" | "without" | "on" | "ignoring" | "group_left" | "group_right" if next == "(" => {
                at += 1;
                while token(at) != ")" {
                    if token(at) != "," {
                        named.groups.push(token(at).to_owned());
                    }
                    at += 1;
                }
            }
            "[" => {
                while token(at) != "]" {
                    at += 1;
                }
            }
            // The name of a function or of an aggregation.
            _ if matches!(next, "(" | "by" | "without") => {}
            _ if !is_name(word) || KEYWORDS.contains(&word) => {}
            _ => {
                let mut labels = Vec::new();
                if next == "{" {
                    at += 1;
                    while token(at) != "}" {
                        if is_name(token(at)) {
                            labels.push(token(at).to_owned());
                        }
                        at += 1;
                        assert!(at < tokens.len(), "no end of the labels: {query}");
                    }
                }
                named.metrics.push((word.to_owned(), labels));
            }
        }
    }
    named
}

/// Returns the errors of a query, and of the labels that are shown with its results.
fn faults(samples: &LabelsBySample, query: &str, told: &[String]) -> Vec<String> {
    let named = named(query);
    let mut faults = Vec::new();
    let mut known: BTreeSet<&str> = OF_PROMETHEUS.into();
    if named.metrics.is_empty() {
        faults.push(format!("no metric in {query}"));
    }
    for (metric, labels) in &named.metrics {
        let Some(of) = samples.get(metric) else {
            faults.push(format!("{metric} is not exported: {query}"));
            continue;
        };
        for label in labels
            .iter()
            .filter(|label| !of.contains(*label) && !OF_PROMETHEUS.contains(&label.as_str()))
        {
            faults.push(format!("{metric} has no label {label}: {query}"));
        }
        known.extend(of.iter().map(String::as_str));
    }
    let groups = named.groups.iter().chain(told);
    for label in groups.filter(|label| !known.contains(label.as_str())) {
        faults.push(format!("no metric has the label {label}: {query}"));
    }
    faults
}

/// Returns all pieces of text between `start` and `end`.
fn between(text: &str, start: &str, end: &str) -> Vec<String> {
    let pieces = text.split(start).skip(1);
    pieces
        .filter_map(|piece| piece.split_once(end))
        .map(|(name, _)| name.trim().to_owned())
        .collect()
}

#[test]
fn queries_are_read_as_prometheus_reads_them() {
    let read = named(
        "histogram_quantile(0.99, sum by (instance, le) (rate(a_bucket{x=~\"$x\", y=\"by (z)\"}[1m]))) > 0.005 and b",
    );
    let metrics: Vec<_> =
        read.metrics.iter().map(|(name, labels)| (name.as_str(), labels.len())).collect();
    assert_eq!(metrics, [("a_bucket", 2), ("b", 0)]);
    assert_eq!(read.groups, ["instance", "le"]);
    let samples =
        LabelsBySample::from([("a_total".to_owned(), BTreeSet::from(["line".to_owned()]))]);
    assert!(faults(&samples, "sum by (line) (rate(a_total{line=\"a\"}[5m]))", &[]).is_empty());
    assert_eq!(faults(&samples, "rate(a_total{feed=\"a\"}[5m])", &[]).len(), 1);
    assert_eq!(faults(&samples, "sum by (feed) (b_total)", &["feed".to_owned()]).len(), 3);
    assert_eq!(faults(&samples, "1 + 2", &[]).len(), 1);
}

#[test]
fn dashboards_ask_for_metrics_that_exist() {
    let samples = exported();
    let mut queries = 0;
    let mut wrong = Vec::new();
    // Prometheus checks the syntax of rules.
    let mut rules = String::from("groups:\n- name: queries\n  rules:\n");
    let directory = ops().join("grafana/dashboards");
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let dashboard: Value = serde_json::from_str(&read(&path)).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let query = target["expr"].as_str().unwrap();
                let told = between(target["legendFormat"].as_str().unwrap(), "{{", "}}");
                queries += 1;
                let whole = query.replace("$instance", ".*").replace("$session", ".*");
                writeln!(rules, "  - {{ record: query, expr: {} }}", Value::from(whole)).unwrap();
                let of = faults(&samples, query, &told).into_iter();
                wrong.extend(
                    of.map(|fault| format!("{} \"{}\": {fault}", path.display(), panel["title"])),
                );
            }
        }
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            let Some(query) = variable["query"]["query"].as_str() else { continue };
            let (metric, label) = query
                .trim_start_matches("label_values(")
                .trim_end_matches(')')
                .rsplit_once(", ")
                .unwrap();
            // The selector matches several names.
            let names = metric.trim_start_matches("{__name__=~\"").trim_end_matches("\"}");
            for name in names.split('|') {
                wrong.extend(faults(&samples, name, &[label.to_owned()]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(queries > 30, "{queries} queries");
    let name = format!("tickwire-queries-{}.yml", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, rules).unwrap();
    run_of_prometheus("promtool", &["check", "rules"], &path);
    std::fs::remove_file(&path).unwrap();
}

/// Metrics on no dashboard: parts or sums of those that are, maxima since the start, and details for troubleshooting.
const OFF_DASHBOARDS: [&str; 29] = [
    "book_applied_updates_total",
    "book_dropped_updates_total",
    "book_held_updates_total",
    "book_old_session_snapshots_total",
    "book_old_updates_total",
    "book_replayed_updates_total",
    "decode_untrusted_seq_num_messages_total",
    "feed_delivered_packets_total",
    "feed_held_packets_max",
    "feed_no_seq_num_packets_total",
    "feed_not_held_packets_total",
    "feed_not_polled_packets_total",
    "feed_out_of_order_max",
    "feed_refused_replayed_packets_total",
    "feed_replacement_packets_total",
    "feed_unawaited_replayed_packets_total",
    "feed_unnumbered_packets_total",
    "fix_delivered_messages_total",
    "fix_session_logons_total",
    "net_hardware_stamps_total",
    "net_implausible_stamps_total",
    "net_refused_packets_total",
    "net_too_long_packets_total",
    "record_begun_files_total",
    "record_refused_packets_total",
    "record_waited_seconds",
    "record_written_bytes_total",
    "replay_accepted_gaps_total",
    "replay_received_messages_total",
];

#[test]
fn every_metric_is_on_a_dashboard_or_left_out_on_purpose() {
    let names = ["feed.json", "fix.json", "dds.json"];
    let dashboards = names.map(|name| read(&ops().join("grafana/dashboards").join(name))).concat();
    let is_named = |name: &str, rest: &[char]| {
        let mut found = dashboards.match_indices(name);
        found.any(|(at, _)| dashboards[at + name.len()..].starts_with(rest))
    };
    let is_shown = |name: &str| is_named(name, &['{', '[', ' ', ')', '"']);
    let shown = |name: &String| {
        // One sample of a histogram is enough.
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        is_shown(name) || base.is_some_and(|base| is_shown(&format!("{base}_bucket")))
    };
    let missing: BTreeSet<String> = exported()
        .into_keys()
        .filter(|name| name.starts_with("tickwire_") && !shown(name))
        .collect();
    assert_eq!(missing, OFF_DASHBOARDS.map(|name| format!("tickwire_{name}")).into());
}

#[test]
fn everything_that_is_known_of_topics_is_on_the_dashboard_and_losses_alert() {
    let dashboard = read(&ops().join("grafana/dashboards/dds.json"));
    let alerts = read(&ops().join("prometheus/alerts.yml"));
    for name in exported().into_keys() {
        let is_of_topics =
            name.starts_with("tickwire_publish_") || name.starts_with("tickwire_subscribe_");
        // Times are on other dashboards, by their distributions.
        if is_of_topics && !name.contains("_seconds") {
            assert!(dashboard.contains(&name), "{name} is on no panel");
        }
    }
    for name in ["subscribe_lost_samples", "subscribe_gone_publishers", "publish_dropped_samples"] {
        assert!(alerts.contains(&format!("increase(tickwire_{name}_total[")), "{name}");
    }
}

/// Returns the text of each systemd unit by name.
fn units() -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(ops().join("systemd")).unwrap();
    let unit = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, read(&path))
    };
    entries.map(|entry| unit(entry.unwrap().path())).collect()
}

#[test]
fn each_unit_has_a_port_of_its_own_that_prometheus_scrapes() {
    let config = read(&ops().join("prometheus/prometheus.yml"));
    let mut ports = BTreeSet::new();
    for (name, text) in units() {
        let port = between(&text, "MONITOR=", "\n");
        let port: String = port[0].chars().take_while(char::is_ascii_digit).collect();
        assert!(text.contains("--monitor ${MONITOR}"), "{name}");
        assert!(config.contains(&format!("\"127.0.0.1:{port}\"")), "{name}: {port} is not scraped");
        let kind = name.trim_end_matches(".service");
        assert!(config.contains(&format!("{port} {kind}")), "{name}: not in the table of ports");
        assert!(ports.insert(port.clone()), "{name}: another unit has port {port} too");
    }
    assert_eq!(
        between(&config, "\"127.0.0.1:", "\"").len(),
        ports.len(),
        "a target without a unit"
    );
}

#[test]
fn systemd_accepts_the_units() {
    let folder = std::env::temp_dir().join(format!("tickwire-units-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in units() {
        // The program of the unit need not be installed.
        let path = folder.join(name.replace('@', "@one"));
        std::fs::write(&path, text.replace("/usr/bin/tickwire", "/bin/true")).unwrap();
        let verify = std::process::Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(&path)
            .output();
        let Ok(output) = verify else {
            tickwire_testing::skip(
                tickwire_testing::Need::Programs,
                "systemd-analyze is not installed",
            );
            break;
        };
        // Unknown keys are warnings only.
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.trim().is_empty(), "{name}: {text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn alerts_ask_for_metrics_that_exist() {
    let samples = exported();
    let text = read(&ops().join("prometheus/alerts.yml"));
    let rules: Vec<&str> = text.split("- alert: ").skip(1).collect();
    assert!(rules.len() > 10, "{} rules", rules.len());
    for rule in rules {
        let name = rule.lines().next().unwrap();
        let part = |key: &str| {
            let line = rule.lines().find_map(|line| line.trim().strip_prefix(key));
            line.unwrap_or_else(|| panic!("{name} has no {key}")).trim()
        };
        let labels = part("labels: { severity:").trim_end_matches('}').trim();
        let is_known = |text: &str| ["page", "warning"].contains(&text);
        assert!(is_known(labels.trim_end_matches(", hours: trading")), "{name}: {labels}");
        // One event is a fault; a state must last.
        let is_state = !part("expr:").contains("increase(");
        assert_eq!(rule.contains("\n        for: "), is_state, "{name}");
        part("summary:");
        part("description:");
        let wrong = faults(&samples, part("expr:"), &between(rule, "$labels.", " "));
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
}

/// Runs a program of Prometheus. Skips if it is not installed.
fn run_of_prometheus(program: &str, arguments: &[&str], path: &Path) {
    let Ok(output) = std::process::Command::new(program).args(arguments).arg(path).output() else {
        let reason = format!("{program} is not installed");
        return tickwire_testing::skip(tickwire_testing::Need::Peers, &reason);
    };
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&text));
}

#[test]
fn prometheus_accepts_its_configuration_and_raises_the_alerts() {
    let folder = ops().join("prometheus");
    run_of_prometheus("promtool", &["check", "config"], &folder.join("prometheus.yml"));
    run_of_prometheus("promtool", &["test", "rules"], &folder.join("alerts.test.yml"));
}

#[test]
fn alertmanager_accepts_the_example_that_mutes_alerts_outside_trading_hours() {
    let book = read(&ops().join("../docs/operations.md"));
    let examples = between(&book, "```yaml\n", "```");
    let [example] = &examples[..] else { panic!("{} examples", examples.len()) };
    let alerts = read(&ops().join("prometheus/alerts.yml"));
    assert!(example.contains("'hours = \"trading\"'") && alerts.contains("hours: trading }"));
    let name = format!("tickwire-alertmanager-{}.yml", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, example).unwrap();
    run_of_prometheus("amtool", &["check-config"], &path);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn no_alert_is_raised_for_a_session_outside_its_schedule_or_disabled() {
    let text = read(&ops().join("prometheus/alerts.yml"));
    let rule = between(&text, "- alert: TickwireFixSessionDown", "labels:").remove(0);
    let samples = exported();
    for gauge in ["fix_session_in_schedule == 1", "fix_session_enabled == 1"] {
        assert!(rule.contains(&format!("and tickwire_{gauge}")), "{rule}");
    }
    // `and` compares all labels: those of the three metrics are the same.
    let labels = |name: &str| &samples[&format!("tickwire_fix_session_{name}")];
    assert_eq!(labels("logged_on"), labels("in_schedule"));
    assert_eq!(labels("logged_on"), labels("enabled"));
}

/// The files of `ops/` that a container of the compose file sees, by their paths there.
struct Mounts(Vec<(String, PathBuf)>);

impl Mounts {
    /// Reads the volumes of a compose file; named volumes are left out.
    fn of(compose: &str) -> Self {
        let lines = compose.lines().filter_map(|line| line.trim().strip_prefix("volumes: ["));
        // Splitting at quotes gives the quoted texts and the commas between them in turn.
        let volumes = lines.flat_map(|list| list.split('"').skip(1).step_by(2));
        let mounts = volumes.filter(|volume| volume.starts_with("./")).map(|volume| {
            let parts: Vec<&str> = volume.split(':').collect();
            let [from, to, "ro"] = parts[..] else { panic!("{volume} is not mounted read-only") };
            (to.to_owned(), ops().join(from))
        });
        Self(mounts.collect())
    }

    /// Returns the file behind a path of a container.
    fn resolve(&self, path: &str) -> PathBuf {
        let found = self
            .0
            .iter()
            .find_map(|(to, from)| Some(from.join(path.strip_prefix(to)?.trim_start_matches('/'))));
        found.unwrap_or_else(|| panic!("{path} is not mounted"))
    }
}

#[test]
fn the_compose_file_mounts_what_is_there_and_its_parts_find_each_other() {
    let compose = read(&ops().join("compose.yml"));
    let mounts = Mounts::of(&compose);
    assert_eq!(mounts.0.len(), 3, "{:?}", mounts.0);
    for (to, from) in &mounts.0 {
        assert!(from.is_dir(), "{to}: {} is no directory", from.display());
    }
    let value = |start: &str| {
        let values = between(&compose, start, "\n");
        let [value] = &values[..] else { panic!("{start} occurs {} times", values.len()) };
        value.trim_end_matches(['"', ']', ',']).to_owned()
    };
    // Prometheus: its configuration, and the rules beside it.
    let config = value("--config.file=");
    let config = mounts.resolve(config.split('"').next().unwrap());
    let rules = between(&read(&config), "rule_files: [", "]");
    for rule in rules.iter().flat_map(|list| list.split(", ")) {
        assert!(config.with_file_name(rule).is_file(), "{rule}");
    }
    assert_eq!(rules.len(), 1);
    // Grafana: where its dashboards are, and where Prometheus listens.
    let home = mounts.resolve(&value("GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH: "));
    assert!(home.is_file(), "{}", home.display());
    let provisioning = mounts.resolve("/etc/grafana/provisioning");
    let dashboards = read(&provisioning.join("dashboards/tickwire.yml"));
    let path = between(&dashboards, "{ path: ", " }");
    assert!(mounts.resolve(&path[0]).join("feed.json").is_file(), "{}", path[0]);
    let source = read(&provisioning.join("datasources/prometheus.yml"));
    let listens = value("--web.listen-address=");
    assert!(source.contains(&format!("url: http://{listens}\n")), "{listens}: {source}");
    assert!(
        compose.matches("network_mode: host").count() == 2,
        "both reach the loopback interface"
    );
    // Every image has a version.
    let images = between(&compose, "image: ", "\n");
    let has_version =
        |image: &String| image.rsplit_once(':').is_some_and(|(_, of)| of.contains('.'));
    assert!(images.len() == 2 && images.iter().all(has_version), "{images:?}");
}

#[test]
fn the_dockerfile_copies_and_builds_what_is_there() {
    let project = ops().join("..");
    let text = read(&project.join("Dockerfile"));
    let manifest = read(&project.join("Cargo.toml"));
    let minimum = between(&manifest, "rust-version = \"", "\"");
    let image = between(&text, "FROM rust:", "-");
    let version =
        |text: &str| text.split('.').map(|part| part.parse().unwrap()).collect::<Vec<u32>>();
    assert!(version(&image[0]) >= version(&minimum[0]), "{image:?} is older than {minimum:?}");
    let own = read(&project.join("crates/tickwire/Cargo.toml"));
    let lists = text.lines().filter_map(|line| line.split_once("--features "));
    let lists: Vec<&str> = lists.filter_map(|(_, rest)| rest.split(' ').next()).collect();
    assert_eq!(lists.len(), 2, "built, and its licences collected, with features");
    for feature in lists.iter().flat_map(|list| list.split(',')) {
        assert!(own.contains(&format!("\n{feature} = [")), "tickwire has no feature {feature}");
    }
    assert_eq!(lists[0], lists[1], "licences of another build");
    let copied: Vec<String> = between(&text, "COPY --from=build ", "\n");
    assert_eq!(copied.len(), 2);
    for path in copied.iter().flat_map(|line| line.split(' ')) {
        let Some(path) = path.strip_prefix("/source/") else { continue };
        let is_made = path == "target/release/tickwire"
            || text.contains(&format!("third-party-licences {path}"));
        assert!(is_made || project.join(path).is_file(), "{path}");
    }
}
