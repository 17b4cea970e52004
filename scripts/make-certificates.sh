#!/usr/bin/env bash
# Makes certificates for `arraylab serve --tls DIR` and its clients, under the names that libnbd, nbdkit and QEMU use:
#   scripts/make-certificates.sh DIR [NAME-OR-ADDRESS…]
# DIR/server gets what the server reads, DIR/client what a client needs (`nbds://HOST/?tls-certificates=DIR/client`).
# The names are those by which clients reach the server; by default localhost, 127.0.0.1 and ::1. Valid for a year.
set -euo pipefail

directory=${1:?a directory for the certificates}
shift
names=("$@")
[ "${#names[@]}" -eq 0 ] && names=(localhost 127.0.0.1 ::1)
if [ -e "$directory/server" ]; then
  echo "$directory/server exists; remove it first" >&2
  exit 2
fi

alternatives=()
for name in "${names[@]}"; do
  if [[ $name =~ ^[0-9.]+$ || $name == *:* ]]; then
    alternatives+=("IP:$name")
  else
    alternatives+=("DNS:$name")
  fi
done
joined=$(IFS=,; echo "${alternatives[*]}")

umask 077
mkdir -p "$directory/server" "$directory/client"
# The authority's key is used here and kept nowhere.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }

make_key "$work/ca-key.pem"
openssl req -x509 -new -key "$work/ca-key.pem" -days 365 -subj "/CN=arraylab authority" \
  -addext "keyUsage=critical,keyCertSign,cRLSign" -out "$directory/server/ca-cert.pem"
cp "$directory/server/ca-cert.pem" "$directory/client/ca-cert.pem"

sign() { # who, extended key usage, more extensions
  make_key "$directory/$1/$1-key.pem"
  openssl req -new -key "$directory/$1/$1-key.pem" -subj "/CN=arraylab $1" -out "$work/$1.csr"
  printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=%s\n%s\n' "$2" "$3" \
    >"$work/$1.ext"
  openssl x509 -req -in "$work/$1.csr" -CA "$directory/server/ca-cert.pem" -CAkey "$work/ca-key.pem" -CAcreateserial -CAserial "$work/ca.srl" \
    -days 365 -extfile "$work/$1.ext" -out "$directory/$1/$1-cert.pem" 2>/dev/null
}
sign server serverAuth "subjectAltName=$joined"
sign client clientAuth ""
echo "server: $directory/server    client: $directory/client" >&2
