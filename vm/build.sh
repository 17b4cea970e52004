#!/usr/bin/env bash
# Builds the virtual machine of `make test-vm` from Debian packages: a kernel with md, LVM, device mapper, multipath, NVMe, SCSI,
# nbd, ublk, LIO and nvmet, a root file system with their tools, and QEMU. Installs nothing on the host and needs no KVM, no loop
# device and no mount.
#
#   build.sh            prints the machine's directory, after building it where it is missing
#
# The machine lies in $ARRAYLAB_VM_CACHE (~/.cache/arraylab), in a directory named by the checksum of the files that define it.
# Needed on the host: root (`ldconfig -r` changes its root), apt-get, dpkg, mke2fs, xz.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$PATH:/usr/sbin:/sbin"

guest_packages="busybox-static bash coreutils grep sed gawk diffutils util-linux mount fdisk udev kmod procps psmisc hostname gzip xz-utils tar
  findutils e2fsprogs xfsprogs btrfs-progs mdadm lvm2 thin-provisioning-tools dmsetup cryptsetup-bin multipath-tools kpartx nvme-cli
  smartmontools nbd-client nbd-server fio sg3-utils parted python3-minimal targetcli-fb open-iscsi iproute2 strace jq sysstat numactl"
emulator_packages="qemu-system-x86 seabios ipxe-qemu"

fail() { echo "error: $1" >&2; echo "hint: $2" >&2; exit 1; }

# With nothing installed: the packages and all they depend on come down, and none is installed.
download() { # DIRECTORY PACKAGE…
    local directory=$1; shift
    mkdir -p "$directory/debs/partial"; : >"$directory/status"
    apt-get -qq -y -o Dir::State::status="$directory/status" -o Dir::Cache::archives="$directory/debs/" \
        -o APT::Install-Recommends=false -o APT::Sandbox::User=root -o Debug::NoLocking=1 --download-only install "$@" >&2
}

unpack() { # DIRECTORY ROOT
    mkdir -p "$2"
    for package in "$1"/debs/*.deb; do dpkg -x "$package" "$2"; done
    # Packages of bookworm still ship /bin and /lib; an installed Debian has them merged into /usr.
    local part
    for part in bin sbin lib lib64; do
        if [ -d "$2/$part" ] && [ ! -L "$2/$part" ]; then
            mkdir -p "$2/usr/$part"; cp -a "$2/$part/." "$2/usr/$part/"; rm -rf "${2:?}/$part"
        fi
        mkdir -p "$2/usr/$part"; ln -sfn "usr/$part" "$2/$part"
    done
    ldconfig -r "$2"
}

kernel_package() {
    # 6.12 has the ublk driver and packs its modules with xz; its patch level changes with each point release.
    apt-cache search --names-only '^linux-image-6\.12\.[0-9]+\+deb[0-9]+-amd64$' | cut -d' ' -f1 | sort -V | tail -1
}

# A program of the guest with the guest's libraries: the host may have neither.
of_guest() { # FILE NAME ARGUMENTS…
    "$root/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" --argv0 "$2" "$root/usr/bin/$1" "${@:3}"
}
kmod() { of_guest kmod "$@"; } # NAME ARGUMENTS…: depmod, modprobe

# Installing a package would; without it the first start of Python in each machine takes seconds.
compile_python() {
    PYTHONHOME=$root/usr of_guest python3.11 python3 -m compileall -q -s "$root" "$root"/usr/lib/python3.11 >&2
}

configure_root() {
    rm -rf "$root"/usr/share/{doc,man,locale,info,bash-completion,zsh} "$root"/usr/lib/systemd/{system,user} "$root"/var/cache
    # Further names for SCSI disks, by five processes at each change of each disk; udev's own rules give the others.
    rm "$root"/usr/lib/udev/rules.d/{55-scsi-sg3_id,58-scsi-sg3_symlink}.rules
    mkdir -p "$root"/{proc,sys,dev,run,tmp,mnt,lab,root,etc/lvm,etc/nvme,etc/iscsi,etc/target,var/lib,var/tmp}
    printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
    printf '%s\n' root:x:0: disk:x:6: tty:x:5: cdrom:x:24: kmem:x:15: lp:x:7: dialout:x:20: audio:x:29: video:x:44: \
        input:x:101: render:x:102: kvm:x:103: sgx:x:104: tape:x:26: floppy:x:25: nogroup:x:65534: >"$root/etc/group"
    printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"
    printf '127.0.0.1 localhost lab\n' >"$root/etc/hosts"
    echo lab >"$root/etc/hostname"
    echo nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555 >"$root/etc/nvme/hostnqn"
    echo 11111111-2222-3333-4444-555555555555 >"$root/etc/nvme/hostid"
    echo InitiatorName=iqn.2026-11.lab:host >"$root/etc/iscsi/initiatorname.iscsi"
    [ -e "$root/usr/bin/awk" ] || ln -s gawk "$root/usr/bin/awk"
    [ -e "$root/usr/bin/sh" ] || ln -s bash "$root/usr/bin/sh"
    ln -sfn /proc/self/mounts "$root/etc/mtab"
    cp "$here/multipath.conf" "$root/etc/multipath.conf"
    install -m 755 "$here/init.sh" "$root/usr/sbin/lab-init"
    compile_python
}

# What block devices and file systems are made of; the rest of the kernel's modules would triple the image.
copy_modules() { # VERSION
    local from=$machine/kernel/lib/modules/$1 to=$root/usr/lib/modules/$1 part
    mkdir -p "$to"
    cp "$from"/modules.{builtin,builtin.modinfo,order} "$to/"
    for part in arch block crypto lib fs net/9p net/core security \
        drivers/{block,md,nvme,scsi,target,virtio,nvdimm,dax,message,infiniband/core,char/hw_random} \
        drivers/net/{net_failover,virtio_net}.ko; do
        if [ -e "$from/kernel/$part" ]; then
            mkdir -p "$to/kernel/$(dirname "$part")"; cp -a "$from/kernel/$part" "$to/kernel/$(dirname "$part")/"
        fi
    done
    kmod depmod -b "$root" "$1"
}

# An initial RAM disk that mounts the root file system from the virtio disk, and no more.
make_initrd() { # VERSION
    local initrd=$machine/initrd.d path order=""
    mkdir -p "$initrd"/{bin,proc,sys,dev,mnt,m}
    cp "$root/usr/bin/busybox" "$initrd/bin/"
    for path in $(for module in virtio_blk ext4; do kmod modprobe -d "$root" -S "$1" --show-depends $module; done \
        | sed -n 's/^insmod //p' | awk '!seen[$1]++ {print $1}'); do
        cp "$path" "$initrd/m/"; path=$initrd/m/$(basename "$path")
        # busybox loads unpacked modules only
        case $path in *.xz) xz -df "$path"; path=${path%.xz} ;; esac
        order="$order $(basename "$path")"
    done
    cat >"$initrd/init" <<INIT
#!/bin/busybox sh
export PATH=/bin; /bin/busybox --install -s /bin
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev
for module in $order; do insmod /m/\$module; done
while [ ! -e /dev/vda ]; do sleep 0.1; done
mount -t ext4 /dev/vda /mnt || sh
umount /proc /sys /dev; exec switch_root /mnt /usr/sbin/lab-init
INIT
    chmod +x "$initrd/init"
    # The guest's busybox packs it: the host may have no cpio.
    (cd "$initrd" && find . | "$root/usr/bin/busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$machine/initrd"
}

build() {
    download "$machine/guest" $guest_packages
    download "$machine/emulator" $emulator_packages
    local package; package=$(kernel_package)
    [ -n "$package" ] || { echo "no package linux-image-6.12… is known to apt" >&2; return 1; }
    mkdir -p "$machine/kernel"
    (cd "$machine/kernel" && apt-get -qq -o APT::Sandbox::User=root download "$package" >&2 && dpkg -x ./*.deb .)
    unpack "$machine/emulator" "$machine/qemu"
    root=$machine/root; unpack "$machine/guest" "$root"
    configure_root
    local version; version=$(basename "$machine"/kernel/lib/modules/*)
    copy_modules "$version"
    mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$root" "$machine/root.ext4" 900M >&2
    make_initrd "$version"
    cp "$machine"/kernel/boot/vmlinuz-* "$machine/vmlinuz"
    # Only what is needed to run is kept.
    rm -rf "$machine"/{guest,emulator,kernel,root,initrd.d}
}

if [ "${1:-}" = --into ]; then
    # A process of its own, so that `set -e` counts although its caller asks how it ended.
    machine=$2; build; exit 0
fi
[ "$(id -u)" = 0 ] || fail "the machine of \`make test-vm\` is built by root" "run make as root, or in a container"
for program in apt-get apt-cache dpkg mke2fs xz; do
    command -v $program >/dev/null || fail "$program is missing" "install it; the machine is made from Debian packages"
done
cache=${ARRAYLAB_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/arraylab}
final=$cache/vm-$(cat "$here"/{build.sh,init.sh,multipath.conf} | sha256sum | cut -c1-12)
mkdir -p "$cache"
exec 9>"$cache/vm.lock"; flock 9
if [ ! -e "$final/vmlinuz" ]; then
    echo "building the machine in $final" >&2
    machine=$final.partial; rm -rf "$machine"; mkdir -p "$machine"
    if ! "$0" --into "$machine"; then
        # Lists of packages that are missing or old are the usual cause.
        rm -rf "$machine"; mkdir -p "$machine"; apt-get -qq update >&2
        "$0" --into "$machine" || fail "the machine could not be built" "its packages come from the sources of apt; look at what it says above"
    fi
    rm -rf "$final"; mv "$machine" "$final"
    # Machines of earlier definitions, by then unused.
    find "$cache" -maxdepth 1 -name 'vm-????????????' -mtime +7 -not -path "$final" -exec rm -rf {} +
fi
echo "$final"
