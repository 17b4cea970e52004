#!/usr/bin/env bash
# Fails unless the binary is statically linked and starts; prints its size.
set -euo pipefail
binary=$1
if ldd "$binary" 2>&1 | grep -qv -e 'statically linked' -e 'not a dynamic executable'; then
  echo "$binary is linked dynamically:" >&2
  ldd "$binary" >&2
  exit 1
fi
"$binary" --version
ls -l "$binary"
