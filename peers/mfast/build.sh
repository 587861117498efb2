#!/bin/sh
# Compiles the program that reads templates at run time. MFAST is a clone of github.com/objectcomputing/mFAST with submodules, MFAST_BUILD
# the folder in which its static libraries and fast_type_gen were built.
set -e
[ -f "$MFAST/src/mfast.h" ] || { echo "set MFAST to a clone of github.com/objectcomputing/mFAST with submodules" >&2; exit 1; }
[ -n "$(find "$MFAST_BUILD/" -name libmfast.a 2>/dev/null)" ] || { echo "set MFAST_BUILD to the folder in which the static libraries of mFAST were built" >&2; exit 1; }
mkdir -p target
printf '%s\n' "$MFAST" >target/checkout
printf '%s\n' "$MFAST_BUILD" >target/built
sh compile.sh target/dynamic
