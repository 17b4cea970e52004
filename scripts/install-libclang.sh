#!/bin/sh
# Installs libclang where there is none: builds with the feature `ublk` read the kernel's header with it.
set -eu
if ! ls /usr/lib/llvm-*/lib/libclang.so* >/dev/null 2>&1; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libclang-dev clang >/dev/null
fi
