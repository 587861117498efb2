#!/bin/sh
# Builds Cyclone's own example of round trips against the library that a build of the crate tickwire-dds has made. CYCLONE names the
# output folder of its build script, `target/release/build/tickwire-dds-*/out`.
set -e
[ -f "$CYCLONE/lib/libddsc.a" ] || { echo "set CYCLONE to target/release/build/tickwire-dds-*/out" >&2; exit 1; }
mkdir -p target
for program in ping pong; do
    gcc -O2 -I. -I"$CYCLONE/include" -o "target/$program" \
        "$CYCLONE/cyclonedds/examples/roundtrip/$program.c" RoundTrip.c "$CYCLONE/lib/libddsc.a" -lpthread -lm -ldl
done
