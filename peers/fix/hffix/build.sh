#!/bin/sh
# Builds the program: HFFIX is a clone of https://github.com/jamesdbrock/hffix.
set -e
[ -f "$HFFIX/include/hffix.hpp" ] || { echo "set HFFIX to a clone of github.com/jamesdbrock/hffix" >&2; exit 1; }
mkdir -p target
c++ -O3 -std=c++17 -march=native -I"$HFFIX/include" -c hffix.cpp -o target/hffix.o
rm -f target/libpeer_hffix.a
ar rcs target/libpeer_hffix.a target/hffix.o
RUSTFLAGS="-L native=$PWD/target" cargo build --release --quiet --target-dir target
