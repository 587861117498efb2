#!/bin/sh
# Builds the program; needs QuickFIX (libquickfix-dev).
set -e
[ -f /usr/include/quickfix/Message.h ] || { echo "QuickFIX is not installed (libquickfix-dev)" >&2; exit 1; }
mkdir -p target
c++ -O2 -std=c++14 -w -o target/peer-quickfix main.cpp -lquickfix
