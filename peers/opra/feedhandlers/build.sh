#!/bin/sh
# Builds the program. FHCE is a clone of https://github.com/csinitiative/fhce in which the makefile of feeds/opra/fast/codec was run.
set -e
opra=$FHCE/feeds/opra/fast
codec=$(ls -d "$opra"/codec/lib_*/ 2>/dev/null | head -n 1)
[ -f "$codec/libfhopra_fast.a" ] || { echo "set FHCE to a clone of github.com/csinitiative/fhce in which the makefile of feeds/opra/fast/codec was run" >&2; exit 1; }
mkdir -p target
cc -O3 -march=native -Wall -I"$opra/codec" -I"$opra/v2" -I"$opra/common" -I"$FHCE/common" -c feedhandlers.c -o target/feedhandlers.o
rm -f target/libpeer_feedhandlers.a
ar rcs target/libpeer_feedhandlers.a target/feedhandlers.o
cp "$codec/libfhopra_fast.a" target/
# Cargo does not see that the library is another.
touch src/main.rs
RUSTFLAGS="-L native=$PWD/target" cargo build --release --quiet --target-dir target
