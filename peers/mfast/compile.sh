#!/bin/sh
# Compiles peer.cpp to the file that is named, with the flags and sources behind it.
set -e
out=$1
shift
checkout=$(cat target/checkout)
built=$(cat target/built)
c++ -O3 -march=native -DNDEBUG -std=c++14 -DMFAST_STATIC_DEFINE -DMFAST_CODER_STATIC_DEFINE -DMFAST_XML_PARSER_STATIC_DEFINE \
    -I"$checkout/src" -I"$checkout/tinyxml2" "$@" peer.cpp -o "$out" \
    $(find "$built/" -name 'libmfast_xml_parser.a') $(find "$built/" -name 'libmfast_coder.a') \
    $(find "$built/" -name 'libmfast.a') $(find "$built/" -name 'libtinyxml2*.a')
