#!/bin/sh
# Builds the program. FIX8 is the folder to which https://github.com/fix8/fix8 is installed (the prefix of its configure).
set -e
[ -x "$FIX8/bin/f8c" ] || { echo "set FIX8 to the folder to which github.com/fix8/fix8 is installed" >&2; exit 1; }
made=target/generated
mkdir -p "$made"
LD_LIBRARY_PATH=$FIX8/lib "$FIX8/bin/f8c" -p peer -n PEER -o "$made" "$FIX8/share/fix8/schema/FIX42.xml" >target/f8c.log
rm -f target/libpeer_fix8.a
for source in fix8 "$made/peer_types" "$made/peer_traits" "$made/peer_classes"; do
    object=target/$(basename "$source").o
    c++ -O3 -march=native -DNDEBUG -std=c++17 -w -I"$FIX8/include" -I"$FIX8/include/fix8" -I"$made" -c "$source.cpp" -o "$object"
    ar rcs target/libpeer_fix8.a "$object"
done
# Cargo does not see that the library is another.
touch src/main.rs
RUSTFLAGS="-L native=$PWD/target -L native=$FIX8/lib -C link-arg=-Wl,-rpath,$FIX8/lib" \
    cargo build --release --quiet --target-dir target
