#!/bin/sh
# Builds mFAST (a clone with its submodule tinyxml2, named by MFAST) and the program that reads templates when it runs.
set -e
[ -f "$MFAST/src/mfast.h" ] || { echo "set MFAST to a clone of github.com/objectcomputing/mFAST with submodules" >&2; exit 1; }
mkdir -p target
printf '%s\n' "$MFAST" >target/checkout
cmake -S "$MFAST" -B target/mfast -DBUILD_TESTS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_PACKAGES=OFF \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="-O3 -march=native" >target/cmake.log
cmake --build target/mfast -j 2 >target/build.log
sh compile.sh target/dynamic
