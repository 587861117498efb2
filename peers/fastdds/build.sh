#!/bin/sh
# Generates the types of the IDL files with Fast DDS's compiler and builds the subscriber and the round trips. Needs fastddsgen, c++ and
# the headers of Fast DDS 2 (Debian: fastddsgen, libfastrtps-dev).
set -e
cd "$(dirname "$0")"
mkdir -p target/roundtrip.idl
idl=../../crates/dds/idl
generate() { fastddsgen -replace -d "$1" "$2" >target/log 2>&1 || { cat target/log >&2; exit 1; }; }
generate target $idl/Market.idl
generate target $idl/Done.idl
generate target/roundtrip.idl RoundTrip.idl
c++ -std=c++17 -O1 -Itarget subscriber.cpp target/*.cxx -lfastrtps -lfastcdr -o target/subscriber
c++ -std=c++17 -O2 -Itarget/roundtrip.idl roundtrip.cpp target/roundtrip.idl/*.cxx -lfastrtps -lfastcdr -o target/roundtrip
