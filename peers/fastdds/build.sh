#!/bin/sh
# Generates the types of the IDL files with Fast DDS's compiler and builds the subscriber. Needs fastddsgen, c++ and the headers
# of Fast DDS 2 (Debian: fastddsgen, libfastrtps-dev).
set -e
cd "$(dirname "$0")"
mkdir -p target
for idl in Market Done; do fastddsgen -replace -d target "../../crates/dds/idl/$idl.idl" >target/log 2>&1 || { cat target/log >&2; exit 1; }; done
c++ -std=c++17 -O1 -Itarget subscriber.cpp target/*.cxx -lfastrtps -lfastcdr -o target/subscriber
