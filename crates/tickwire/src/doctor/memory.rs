//! Shared memory that killed processes left behind.

use super::finding::DoctorFinding;
use super::machine::MachineFiles;
use tickwire_feed::counted;
use tickwire_shm_transport::LeftChannels;

/// Parent of the directories of channels that have the default name.
const DIRECTORY: &str = "dev/shm";

/// Examines the users' directories of channels. A directory whose files are all in use needs no finding.
pub fn examine(machine: &MachineFiles) -> Vec<DoctorFinding> {
    let directories = machine.names(DIRECTORY, "tickwire-").into_iter();
    directories.filter_map(|name| left_channels(machine, &format!("{DIRECTORY}/{name}"))).collect()
}

/// Examines which channels of a directory have no writer any more.
fn left_channels(machine: &MachineFiles, directory: &str) -> Option<DoctorFinding> {
    let name = format!("/{directory}");
    match LeftChannels::find(&machine.path(directory)) {
        Ok(LeftChannels { channels: 0, .. }) => None,
        Ok(LeftChannels { channels, bytes }) => {
            let found = format!("{} of killed processes", counted(channels, "channel"));
            let cost = format!("{} MiB of memory that nobody uses", bytes.div_ceil(1 << 20));
            let change = "the next publisher or echoing subscriber in this directory removes them";
            Some(DoctorFinding::wasted(name, found, cost, change))
        }
        Err(error) => Some(DoctorFinding::unknown(name, &error.to_string(), "")),
    }
}
