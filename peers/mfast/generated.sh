#!/bin/sh
# Runs the program with types and decoder that fast_type_gen makes of the templates; made once a template file.
set -e
digest=$(sha256sum "$1" | cut -c1-16)
made=target/generated/$digest
if [ ! -x "$made/peer" ]; then
    mkdir -p "$made"
    cp "$1" "$made/peer_templates.xml"
    generator=$(find "$(cat target/built)/" -name fast_type_gen -type f)
    (cd "$made" && "$generator" -- peer_templates.xml >generator.log 2>&1)
    sh compile.sh "$made/peer" -DGENERATED=peer_templates -I"$made" "$made/peer_templates.cpp"
fi
exec "$made/peer" "$@"
