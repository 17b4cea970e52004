#!/usr/bin/env bash
# Installs the programs that the tests drive as real clients, where they are missing.
# With --long those of `make test-long` as well. Debian and its kin only; elsewhere it names what is missing and fails.
set -euo pipefail

# program → Debian package
declare -A package_of=(
  [fio]=fio
  [nbdkit]=nbdkit
  [nbdinfo]=libnbd-bin
  [nbdcopy]=libnbd-bin
  [nbdfuse]=libnbd-bin
  [fusermount3]=fuse3
  [qemu-io]=qemu-utils
  [qemu-img]=qemu-utils
  [mkfs.ext4]=e2fsprogs
  [losetup]=mount
  [sfdisk]=fdisk
  [sqlite3]=sqlite3
  [python3]=python3
  [curl]=curl
  [promtool]=prometheus
  [chromium]=chromium
  [pdftotext]=poppler-utils
  [gcc]=gcc
  [openssl]=openssl
  [parallel]=parallel
  [sshd]=openssh-server
  [ssh]=openssh-client
  [ip]=iproute2
  [npm]=npm
)
if [ "${1:-}" = --long ]; then
  package_of[psql]=postgresql-client
  # Its programs are not on the path where Debian puts them.
  package_of[/usr/lib/postgresql]=postgresql
fi

# Checks Kubernetes files against the schemas of Kubernetes itself; from PyPI, into a directory of its own.
kubernetes_validate=kubernetes-validate==1.37.0
kubernetes_validate_directory="${XDG_CACHE_HOME:-$HOME/.cache}/arraylab/${kubernetes_validate/==/-}"
install_kubernetes_validate() {
  [ -d "$kubernetes_validate_directory" ] && return
  echo "test clients missing: $kubernetes_validate" >&2
  rm -rf "$kubernetes_validate_directory.part"
  PIP_ROOT_USER_ACTION=ignore python3 -m pip install -q --disable-pip-version-check \
    --target "$kubernetes_validate_directory.part" "$kubernetes_validate" >&2
  mv "$kubernetes_validate_directory.part" "$kubernetes_validate_directory"
}

# Checks a report for those who use a screen reader or a keyboard; from npm, into a directory of its own.
axe_core=axe-core@4.14.1
axe_core_directory="${XDG_CACHE_HOME:-$HOME/.cache}/arraylab/${axe_core/@/-}"
install_axe_core() {
  [ -d "$axe_core_directory" ] && return
  echo "test clients missing: $axe_core" >&2
  rm -rf "$axe_core_directory.part"
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$axe_core_directory.part" "$axe_core" >&2
  mv "$axe_core_directory.part" "$axe_core_directory"
}

is_here() { command -v "$1" >/dev/null 2>&1 || [ -d "$1" ]; }
missing_programs=()
missing_packages=()
PATH="$PATH:/usr/sbin:/sbin"
for program in "${!package_of[@]}"; do
  if ! is_here "$program"; then
    missing_programs+=("$program")
    missing_packages+=("${package_of[$program]}")
  fi
done
if ! python3 -m pip --version >/dev/null 2>&1; then
  missing_programs+=(pip)
  missing_packages+=(python3-pip)
fi
if [ "${#missing_programs[@]}" -eq 0 ]; then
  install_kubernetes_validate
  install_axe_core
  exit 0
fi

echo "test clients missing: ${missing_programs[*]}" >&2
if ! command -v apt-get >/dev/null 2>&1; then
  echo "no apt-get here: install them by hand (Debian packages: ${missing_packages[*]})" >&2
  exit 1
fi
run_as_root=()
if [ "$(id -u)" -ne 0 ]; then
  run_as_root=(sudo -n)
fi
export DEBIAN_FRONTEND=noninteractive
"${run_as_root[@]}" apt-get update -q >&2
"${run_as_root[@]}" apt-get install -y -q --no-install-recommends "${missing_packages[@]}" >&2
still_missing=()
for program in "${missing_programs[@]}"; do
  is_here "$program" || [ "$program" = pip ] || still_missing+=("$program")
done
if [ "${#still_missing[@]}" -ne 0 ]; then
  echo "could not install: ${still_missing[*]}" >&2
  exit 1
fi
install_kubernetes_validate
install_axe_core
