//! Runs `tickwire publish` and `tickwire subscribe` over shared memory, and kills some of the processes.

#[path = "support/bus.rs"]
mod bus;
mod support;

use bus::{PATIENCE, Place, Process, json, sum};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::tickwire;
use tickwire_exchange::{FeedShape, Generator, Options};
use tickwire_feed::Endian;
use tickwire_feed::capture::PrefixedWriter;
use tickwire_testing::{Need, skip};

/// A directory of channels, removed when dropped.
struct Channels(String);

impl Channels {
    fn new(test: u32) -> Self {
        Self(format!("/dev/shm/tickwire-test-{}-{test}", std::process::id()))
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn both_transports_bring_every_sample_with_an_account_each() {
    let place = Place::new(62);
    let channels = Channels::new(62);
    let (packets, templates) = place.feed("simple", "-n 3000");
    let published = place.file("published.json");
    let transports: &[&str] = if cfg!(feature = "dds") { &["shm", "dds"] } else { &["shm"] };
    let subscribed = |transport: &str| {
        let report = place.file(&format!("{transport}.json"));
        let options = format!(
            "--transport {transport} --shm-directory {} --json {}",
            channels.0,
            report.display()
        );
        (place.subscribe(&options), report)
    };
    let subscribers: Vec<_> = transports.iter().map(|transport| subscribed(transport)).collect();
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet --transport {} --subscribers {} --domain {} --shm-directory {} --json {}",
        templates.display(),
        packets.display(),
        if transports.len() > 1 { "both" } else { "shm" },
        transports.len(),
        place.domain,
        channels.0,
        published.display()
    ));
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    for (subscriber, report) in subscribers {
        assert_eq!(subscriber.finish(), 0);
        let report = json(&report);
        assert_eq!((sum(&report, "received"), sum(&report, "lost")), (3000, 0), "{report:#}");
    }
    let published = json(&published);
    let all = published["transports"].as_array().expect("transports");
    assert_eq!(all.len(), transports.len());
    assert!(all.iter().all(|one| one["published"] == 3000 && one["dropped"] == 0), "{all:?}");
    assert_eq!(sum(&published, "echoes"), 3000 * transports.len() as u64);
}

#[test]
fn a_transport_that_refuses_a_sample_says_stopped_and_the_other_goes_on() {
    let place = Place::new(68);
    let channels = Channels::new(68);
    let (packets, templates) = place.feed("complex", "-n 200");
    let at = format!("--shm-directory {} --domain {}", channels.0, place.domain);
    let transports: &[&str] = if cfg!(feature = "dds") { &["shm", "dds"] } else { &["shm"] };
    let subscribers: Vec<_> = transports
        .iter()
        .map(|transport| {
            let report = place.file(&format!("{transport}.json"));
            let options =
                format!("{at} --transport {transport} --no-echo --json {}", report.display());
            let process = Process::start(&format!("subscribe {options}"));
            process.wait_line("Subscribed");
            (process, report)
        })
        .collect();
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet --no-echo {at} --shm-sample 16 --transport {} --subscribers {}",
        templates.display(),
        packets.display(),
        if transports.len() > 1 { "both" } else { "shm" },
        transports.len(),
    ));
    assert_eq!(run.status, if transports.len() > 1 { 1 } else { 2 }, "{}{}", run.out, run.err);
    assert!(run.err.contains("--shm-sample"), "{}", run.err);
    // A publisher that was stopped ends no subscriber.
    std::thread::sleep(Duration::from_secs(1));
    subscribers[0].0.interrupt();
    for ((subscriber, report), transport) in subscribers.into_iter().zip(transports) {
        assert_eq!(subscriber.finish(), 0, "{transport}");
        let report = json(&report);
        let ended = if *transport == "shm" { "stopped" } else { "done" };
        assert_eq!(report["publishers"][0]["ended"], ended, "{report:#}");
        assert_eq!(sum(&report, "lost"), 0, "{report:#}");
    }
}

/// A file has no clock, so the publisher publishes it as fast as its subscribers read.
#[test]
fn a_file_laps_no_subscriber() {
    let place = Place::new(76);
    let channels = Channels::new(76);
    let (packets, templates) = place.feed("complex", "-n 5000");
    let at = format!("--domain {} --transport shm --shm-directory {}", place.domain, channels.0);
    let options = ["", "--show"];
    let subscribers = options.map(|options| {
        let report = place.file(&format!("received{options}.json"));
        let command = format!("subscribe {at} --no-echo {options} --json {}", report.display());
        (Process::start_logging(&command, Stdio::null()), report)
    });
    // A ring of 32 slots.
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet --no-echo --subscribers 2 {at} --shm-ring 128KiB --shm-sample 3KiB",
        templates.display(),
        packets.display()
    ));
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    for (subscriber, report) in subscribers {
        assert_eq!(subscriber.finish(), 0);
        let report = json(&report);
        assert!(sum(&report, "received") > 5000, "{report:#}");
        assert_eq!(sum(&report, "lost"), 0, "{report:#}");
    }
}

/// A subscriber cannot create writers in another user's directory. It reads without echoing and reports that.
#[test]
fn the_channels_of_another_user_are_subscribed_to_without_echoes() {
    let channels = Channels::new(99);
    std::fs::create_dir(&channels.0).expect("made");
    if std::os::unix::fs::chown(&channels.0, Some(1), Some(1)).is_err() {
        return skip(Need::Machine, "only root can give a directory to another user");
    }
    let subscriber = Process::start(&format!(
        "subscribe --transport shm --shm-directory {} --shm-user 1",
        channels.0
    ));
    subscriber.wait_line(&format!(
        "Subscribed over shared memory in {}{}, without echoes",
        channels.0,
        if cfg!(feature = "dds") { " (publishers that use only DDS are not received)" } else { "" }
    ));
    subscriber.interrupt();
    assert_eq!(subscriber.finish(), 0);
}

#[test]
fn waiting_for_any_number_of_subscribers_ends_with_patience() {
    let place = Place::new(69);
    let channels = Channels::new(69);
    let (packets, templates) = place.feed("simple", "-n 30");
    let started = Instant::now();
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet --transport shm --shm-directory {} --subscribers 1024 --patience 100ms",
        templates.display(),
        packets.display(),
        channels.0
    ));
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let told = "fewer subscribers than 1024 on all topics after 100ms: publishing anyway";
    assert!(run.err.contains(told), "{}", run.err);
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    assert!(run.out.contains("The number of missing echoes is unknown, 0 or more"), "{}", run.out);
    let run = tickwire(&format!(
        "publish -t {} -f {} --transport shm --shm-directory {} --subscribers 1025",
        templates.display(),
        packets.display(),
        channels.0
    ));
    let told = "--subscribers 1025: shared memory counts at most 1024 subscribers";
    assert!(run.status == 2 && run.err.contains(told), "{}{}", run.out, run.err);
}

/// An echo of each sample is expected from each subscriber that echoes and for which the publisher
/// waited.
#[test]
fn echoes_that_do_not_come_are_counted_and_an_error() {
    let slow = "--max-rate 1";
    for (test, options, ring) in
        [(78, ["", ""], "64MiB"), (79, ["", "--no-echo"], "64MiB"), (85, ["", slow], "256KiB")]
    {
        let place = Place::new(test);
        let channels = Channels::new(test);
        let (packets, templates) = place.feed("complex", "-n 500");
        let at = format!("--transport shm --shm-directory {}", channels.0);
        let subscribers = options.map(|options| place.subscribe(&format!("{at} {options}")));
        let published = place.file("published.json");
        let run = tickwire(&format!(
            "publish -t {} -f {} --reset packet --subscribers 2 --patience 2s {at} --shm-ring {ring} --json {}",
            templates.display(),
            packets.display(),
            published.display()
        ));
        let is_skipping = options.contains(&slow);
        assert_eq!(run.status, i32::from(is_skipping), "{}{}", run.out, run.err);
        assert!(subscribers.into_iter().all(|subscriber| subscriber.finish() == 0));
        let published = json(&published);
        assert_eq!(sum(&published, "published"), 740);
        let (echoes, missing) = (sum(&published, "echoes"), sum(&published, "echoes_missing"));
        let is_silent = options.contains(&"--no-echo");
        assert_eq!(echoes + missing, if is_silent { 740 } else { 2 * 740 }, "{published:#}");
        assert_eq!(missing > 0, is_skipping, "{published:#}");
        let told = run.err.contains("1 of 2 subscribers over shm do not echo");
        assert_eq!(told, is_silent, "{}", run.err);
        assert_eq!(run.out.contains("echoes are missing"), is_skipping, "{}", run.out);
    }
}

/// The last values of 4,000 securities do not fit: publishing over shared memory ends with Stopped
/// and continues over DDS.
#[test]
#[cfg(feature = "dds")]
fn last_values_that_fill_the_file_system_end_shared_memory_alone() {
    let place = Place::new(80);
    let (packets, templates) = place.feed("complex", "-n 5000 --securities 4000");
    let room = place.file("room");
    std::fs::create_dir(&room).expect("made");
    let script = r#"
        mount -t tmpfs -o size=16m none "$1" || exit 77
        at="--domain $5 --shm-directory $1/channels --no-echo"
        "$2" subscribe --transport shm $at --json "$6/shm.json" & shm=$!
        "$2" subscribe --transport dds $at --json "$6/dds.json" & dds=$!
        "$2" publish -f "$3" -t "$4" --reset packet --transport both --subscribers 2             --shm-ring 1MiB --shm-sample 4KiB $at --json "$6/published.json"
        status=$?
        wait $dds; dds=$?
        kill -INT $shm; wait $shm
        echo "publisher $status, shm $?, dds $dds"
    "#;
    let run = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .args([&room, &env!("CARGO_BIN_EXE_tickwire").into(), &packets, &templates])
        .arg(place.domain.to_string())
        .arg(&place.directory)
        .output();
    let Ok(run) = run else {
        return skip(Need::Programs, "a file system of its own needs unshare");
    };
    let (out, error) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    if run.status.code() == Some(77) || error.starts_with("unshare:") {
        return skip(Need::Machine, format_args!("no file system of its own: {error}"));
    }
    // A ring of 128 samples may be too small for the subscriber, which then has status 1.
    assert!(out.contains("publisher 1, shm ") && out.contains(", dds 0"), "{out}{error}");
    assert!(error.contains(".values.") && error.contains("No space left on device"), "{error}");
    assert!(error.contains("publishing over shm ends, the other transport continues"), "{error}");
    assert!(!error.contains("cannot announce"), "{error}");
    let [published, shm, dds] =
        ["published.json", "shm.json", "dds.json"].map(|name| json(&place.file(name)));
    let [over_shm, over_dds] =
        [0, 1].map(|index| sum(&published["transports"][index], "published"));
    assert!(0 < over_shm && over_shm < over_dds, "{published:#}");
    assert_eq!((sum(&dds, "received"), sum(&dds, "lost")), (over_dds, 0), "{dds:#}");
    assert_eq!(sum(&shm, "received") + sum(&shm, "lost"), over_shm, "{shm:#}");
    assert_eq!(shm["publishers"][0]["ended"], "stopped", "{shm:#}");
}

/// A publisher over DDS and one over shared memory arrive together: the subscriber receives one of them whole.
#[test]
#[cfg(feature = "dds")]
fn a_subscriber_that_chooses_between_two_new_publishers_receives_one_of_them() {
    let place = Place::new(81);
    let channels = Channels::new(81);
    let (packets, templates) = place.feed("simple", "-n 300");
    let report = place.file("received.json");
    let at = format!("--domain {} --shm-directory {}", place.domain, channels.0);
    let subscriber =
        Process::start(&format!("subscribe {at} --no-echo --json {}", report.display()));
    subscriber.wait_line("Subscribed over DDS (no publisher");
    let publishers = ["dds", "shm"].map(|transport| {
        Process::start(&format!(
            "publish -t {} -f {} --reset packet --no-echo --patience 3s --transport {transport} {at}",
            templates.display(),
            packets.display()
        ))
    });
    assert!(publishers.into_iter().all(|publisher| publisher.finish() == 0));
    assert_eq!(subscriber.finish(), 0);
    let report = json(&report);
    assert_eq!((sum(&report, "received"), sum(&report, "lost")), (300, 0), "{report:#}");
    assert_eq!(report["publishers"].as_array().map(Vec::len), Some(1), "{report:#}");
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let refused = |command: &str, why: &str| {
        let run = tickwire(command);
        assert!(run.status == 2 && run.err.contains(why), "{command}: {}{}", run.out, run.err);
    };
    let left_out = "which --transport leaves out";
    if cfg!(feature = "dds") {
        for option in ["--best-effort", "--history all", "--network any", "--lease 5s"] {
            refused(&format!("subscribe --transport shm {option}"), left_out);
        }
        for option in
            ["--shm-ring 1MiB", "--shm-sample 100", "--shm-readers owner", "--shm-group 0"]
        {
            refused(&format!("subscribe --transport dds {option}"), left_out);
        }
    }
    refused("subscribe --transport shm --shm-ring 100", "100 is not from 4096 to");
    refused("subscribe --transport shm --shm-sample 2MiB", "2MiB is not from 1 to 1048568 bytes");
    for option in ["--transport shm", "--shm-ring 1MiB", "--domain 3", "--source-name a"] {
        refused(&format!("receive --framing cme --capture-line a=x {option}"), "--publish");
    }
}

/// Publishes the feed, packets and templates, over shared memory with `options`; nobody subscribes.
fn publish_alone((packets, templates): &(PathBuf, PathBuf), options: &str) -> support::Run {
    tickwire(&format!(
        "publish -t {} -f {} --reset packet --no-echo --transport shm --subscribers 0 {options}",
        templates.display(),
        packets.display()
    ))
}

/// Stopped and continued again and again, as under a debugger or on a machine that swaps: the publisher of a file waits.
#[test]
fn a_file_loses_nothing_to_a_subscriber_that_stops_and_goes_on() {
    use nix::sys::signal::{Signal, kill};
    let (place, channels) = (Place::new(73), Channels::new(73));
    let (packets, templates) = place.feed("simple", "-n 20000");
    let (report, published) = (place.file("received.json"), place.file("published.json"));
    let at = format!("--domain {} --transport shm --shm-directory {}", place.domain, channels.0);
    let subscriber =
        Process::start(&format!("subscribe {at} --no-echo --json {}", report.display()));
    subscriber.wait_line("Subscribed");
    let publisher = Process::start(&format!(
        "publish -t {} -f {} --reset packet --no-echo --shm-ring 16KiB --json {} {at}",
        templates.display(),
        packets.display(),
        published.display()
    ));
    let id = nix::unistd::Pid::from_raw(subscriber.child.id().try_into().expect("an id"));
    let pauses = std::thread::spawn(move || {
        // The last signal continues the process. Once the process has ended, sending a signal is an
        // error.
        for _ in 0..6 {
            for (signal, pause) in [(Signal::SIGSTOP, 500), (Signal::SIGCONT, 20)] {
                let _ = kill(id, signal);
                std::thread::sleep(Duration::from_millis(pause));
            }
        }
    });
    assert_eq!(publisher.finish(), 0);
    pauses.join().expect("no panic");
    assert_eq!(subscriber.finish(), 0, "nothing is lost");
    let report = json(&report);
    assert_eq!((sum(&report, "received"), sum(&report, "lost")), (20_000, 0), "{report:#}");
    let published = json(&published);
    assert!(sum(&published, "stalls") > 0, "it never had to wait: {published:#}");
}

/// Returns the value of a field of a file of `/proc`, such as `status`.
fn proc_field(path: &std::path::Path, field: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

#[test]
fn cpu_pins_the_thread_that_publishes_and_not_the_monitor() {
    let allowed = proc_field("/proc/self/status".as_ref(), "Cpus_allowed_list").expect("a list");
    let Some((cpu, _)) = allowed.split_once(['-', ',']) else {
        return skip(Need::Machine, "pinning is visible only with two CPUs");
    };
    let (place, channels) = (Place::new(90), Channels::new(90));
    let (packets, templates) = place.feed("simple", "-n 20000");
    // A pipe without the last packets, which end the feed: the publisher waits while its threads are examined.
    let pipe = place.file("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let mut feed = std::fs::File::options().read(true).write(true).open(&pipe).expect("open");
    let mut packets = std::fs::read(&packets).expect("packets");
    packets.truncate(200_000);
    // The thread keeps the pipe open until the process ends.
    std::thread::spawn(move || {
        feed.write_all(&packets).expect("room in the pipe");
        loop {
            std::thread::park();
        }
    });
    let publisher = Process::start(&format!(
        "publish -t {} -f {} --reset packet --no-echo --subscribers 0 --monitor 127.0.0.1:0 --cpu {cpu} --transport shm --shm-directory {}",
        templates.display(),
        pipe.display(),
        channels.0
    ));
    let tasks = PathBuf::from(format!("/proc/{}/task", publisher.child.id()));
    let named = |name: &str| {
        let tasks =
            tasks.read_dir().ok()?.filter_map(|task| Some(task.ok()?.path().join("status")));
        tasks.into_iter().find(|status| proc_field(status, "Name").as_deref() == Some(name))
    };
    let cpus = |name| proc_field(&named(name)?, "Cpus_allowed_list");
    let begun = Instant::now();
    let monitor = loop {
        // The main thread has the name of the program.
        let (main, monitor) = (cpus("tickwire"), cpus("monitor"));
        match monitor {
            Some(monitor) if main.as_deref() == Some(cpu) => break monitor,
            _ => assert!(begun.elapsed() < PATIENCE, "{main:?} and {monitor:?}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(monitor, allowed);
}

#[test]
fn a_publisher_makes_no_directory_for_another_user() {
    let (place, channels) = (Place::new(71), Channels::new(71));
    let other = nix::unistd::geteuid().as_raw() + 1;
    let options = format!("--shm-user {other} --shm-directory {}", channels.0);
    let run = publish_alone(&place.feed("simple", "-n 20"), &options);
    assert_eq!(run.status, 2, "{}{}", run.out, run.err);
    assert!(run.err.contains("--shm-user"), "{}", run.err);
    assert!(!std::path::Path::new(&channels.0).exists(), "it was made all the same");
}

#[test]
fn the_group_of_readers_is_named_or_numbered() {
    let (place, channels) = (Place::new(72), Channels::new(72));
    let feed = place.feed("simple", "-n 20");
    let gid = nix::unistd::getegid();
    let own = nix::unistd::Group::from_gid(gid).expect("readable");
    let name = own.map_or_else(|| gid.to_string(), |own| own.name);
    for group in [name, gid.to_string()] {
        let options = format!("--shm-group {group} --shm-directory {}", channels.0);
        let run = publish_alone(&feed, &options);
        assert_eq!(run.status, 0, "{group}: {}{}", run.out, run.err);
    }
    for (group, told) in [
        ("no-such-group-here", "there is no group"),
        ("+5", "there is no group"),
        // To chown, it is -1: no change.
        ("4294967295", "group numbers are 0 to 4294967294"),
        ("4294967296", "group numbers are 0 to 4294967294"),
    ] {
        let run = publish_alone(&feed, &format!("--shm-group {group}"));
        assert!(run.status == 2 && run.err.contains(told), "{group}: {}", run.err);
    }
    let run = publish_alone(&feed, "--shm-group 0 --shm-readers owner");
    assert!(run.status == 2 && run.err.contains("--shm-readers"), "{}", run.err);
}

#[test]
fn the_group_of_readers_is_that_of_the_rings() {
    use std::os::unix::fs::MetadataExt;
    if !nix::unistd::geteuid().is_root() {
        return skip(Need::Machine, "only root can give files to a group that it is not in");
    }
    const GROUP: u32 = 54_321;
    let (place, channels) = (Place::new(91), Channels::new(91));
    let (packets, templates) = place.feed("simple", "-n 20");
    let publisher = Process::start(&format!(
        "publish -t {} -f {} --reset packet --no-echo --transport shm --subscribers 1 --patience 1m --shm-group {GROUP} --shm-directory {}",
        templates.display(),
        packets.display(),
        channels.0
    ));
    let rings = || -> Option<Vec<u32>> {
        let files = std::fs::read_dir(&channels.0).ok()?.filter_map(|file| file.ok());
        let rings = files.filter(|file| file.path().extension().is_some_and(|kind| kind == "ring"));
        let groups: Vec<u32> = rings.map(|ring| ring.metadata().expect("readable").gid()).collect();
        (!groups.is_empty()).then_some(groups)
    };
    let begun = Instant::now();
    let groups = loop {
        if let Some(groups) = rings() {
            break groups;
        }
        assert!(begun.elapsed() < PATIENCE, "no ring");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(groups.iter().all(|group| *group == GROUP), "{groups:?}");
    publisher.kill();
}

#[test]
fn a_ring_that_does_not_hold_two_samples_is_refused() {
    let place = Place::new(70);
    let channels = Channels::new(70);
    let (packets, templates) = place.feed("complex", "-n 20");
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet --no-echo --transport shm --shm-directory {} --shm-ring 4KiB --patience 0",
        templates.display(),
        packets.display(),
        channels.0
    ));
    let told = "its ring of 4096 bytes does not hold two samples of 16448 bytes";
    assert!(run.status == 2 && run.err.contains(told), "{}{}", run.out, run.err);
    assert!(run.err.contains("--shm-ring"), "{}", run.err);
}

/// A subscriber that has found no publisher over DDS receives from a publisher that arrives later over shared memory.
#[test]
#[cfg(feature = "dds")]
fn a_subscriber_that_waits_in_vain_over_dds_takes_a_publisher_over_shared_memory() {
    let place = Place::new(98);
    let channels = Channels::new(98);
    let (packets, templates) = place.feed("simple", "-n 300");
    let report = place.file("received.json");
    let at = format!("--domain {} --shm-directory {}", place.domain, channels.0);
    let subscriber = Process::start(&format!("subscribe {at} --json {}", report.display()));
    subscriber.wait_line("Subscribed over DDS (no publisher");
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet --transport shm {at}",
        templates.display(),
        packets.display()
    ));
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    subscriber.wait_line("Subscribed over shared memory");
    assert_eq!(subscriber.finish(), 0);
    let report = json(&report);
    assert_eq!((sum(&report, "received"), sum(&report, "lost")), (300, 0), "{report:#}");
}

#[test]
fn a_subscriber_says_which_transport_it_takes() {
    let place = Place::new(63);
    let channels = Channels::new(63);
    let (_, templates) = place.feed("simple", "-n 10");
    let at = format!("--shm-directory {}", channels.0);
    let says = |line: &str| {
        let subscriber = Process::start(&format!("subscribe --domain {} {at}", place.domain));
        subscriber.wait_line(line);
        subscriber.interrupt();
        subscriber.finish();
    };
    if cfg!(feature = "dds") {
        says("Subscribed over DDS (no publisher of these topics in /dev/shm/tickwire-test-");
    }
    let publisher =
        place.publish_lines(&templates, &format!("--transport shm --subscribers 0 {at}"));
    says("Subscribed over shared memory in /dev/shm/tickwire-test-");
    publisher.kill();
    // The files that a killed publisher left do not count as a publisher.
    if cfg!(feature = "dds") {
        says("Subscribed over DDS (no publisher of these topics");
    }
}

#[test]
fn over_shared_memory_a_publisher_that_is_killed_leaves_an_unknown_loss_and_the_next_goes_on() {
    let place = Place::new(64);
    let channels = Channels::new(64);
    let (packets, templates) = place.feed("simple", "-n 500");
    let received = place.file("received.json");
    let at = format!("--transport shm --shm-directory {}", channels.0);
    let log = place.file("log");
    let options = format!("{at} --json {}", received.display());
    let subscriber = place.subscribe_logging(&log, &options);
    let killed = place.publish_lines(&templates, &format!("{at} --subscribers 1"));
    killed.kill();
    let until = Instant::now() + PATIENCE;
    while !std::fs::read_to_string(&log)
        .expect("a log")
        .contains("disappeared without announcing its end")
    {
        assert!(Instant::now() < until, "it is told that the publisher has gone");
        std::thread::sleep(Duration::from_millis(20));
    }
    // A new subscriber ignores the channels of the killed publisher.
    let fresh = place.file("fresh.json");
    let late = place.subscribe(&format!("{at} --json {}", fresh.display()));
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet --subscribers 2 --domain {} {at}",
        templates.display(),
        packets.display(),
        place.domain
    ));
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert_eq!(subscriber.finish(), 1, "what the first wrote is unknown");
    assert_eq!(late.finish(), 0);
    assert_eq!(sum(&json(&fresh), "received"), 500);
    let report = json(&received);
    assert_eq!(sum(&report, "received"), 500);
    let [killed, next] = [0, 1].map(|index| &report["publishers"][index]);
    assert!(killed["lost"].is_null() && killed["ended"] == "gone", "{report:#}");
    assert_eq!((&next["lost"], &next["ended"]), (&0.into(), &"done".into()), "{report:#}");
}

#[test]
fn feeds_in_the_shapes_of_exchanges_are_published_by_template() {
    use FeedShape::{Asts, B3, Bse, Eurex, Mcx, Szse};
    for (test, shape) in (92..).zip([Asts, B3, Bse, Eurex, Mcx, Szse]) {
        let place = Place::new(test);
        let channels = Channels::new(test);
        let options = Options { messages: 500, ..Options::shaped(shape) };
        let [packets, templates, published, received] =
            ["feed.bin", "feed.xml", "published.json", "received.json"]
                .map(|name| place.file(name));
        std::fs::write(&templates, options.feed.templates()).expect("written");
        let mut file =
            PrefixedWriter::new(std::fs::File::create(&packets).expect("made"), Endian::Big);
        for packet in Generator::new(&options).expect("options of a feed") {
            file.write_packet(&packet.expect("a packet").bytes).expect("written");
        }
        let templates = templates.display();
        let at = format!("--transport shm --shm-directory {} -t {templates}", channels.0);
        let subscriber = place.subscribe(&format!("{at} --no-echo --json {}", received.display()));
        let run = tickwire(&format!(
            "publish -f {} --reset packet --samples templates --no-echo --domain {} {at} --json {}",
            packets.display(),
            place.domain,
            published.display()
        ));
        assert_eq!(run.status, 0, "{shape:?}: {}{}", run.out, run.err);
        assert_eq!(subscriber.finish(), 0, "{shape:?}");
        let (published, received) = (json(&published), json(&received));
        // Templates without fields have no samples.
        let messages = sum(&published, "published") + sum(&published, "passed_over");
        assert!(messages == sum(&published, "messages") && messages >= 500, "{published:#}");
        assert!(sum(&published, "published") > 400, "{shape:?}: {published:#}");
        assert_eq!(sum(&received, "received"), sum(&published, "published"), "{shape:?}");
        assert_eq!(sum(&received, "lost"), 0, "{shape:?}");
    }
}
