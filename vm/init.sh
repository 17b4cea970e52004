#!/bin/bash
# First process of the test machine: devices by udev, the share of the host, then its script, then off. No systemd.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm; mount -t devpts pts /dev/pts; mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run; mount -t tmpfs tmp /tmp; mount -t debugfs debug /sys/kernel/debug
ln -sfn /proc/self/fd /dev/fd; ln -sfn fd/0 /dev/stdin; ln -sfn fd/1 /dev/stdout; ln -sfn fd/2 /dev/stderr
modprobe configfs; mount -t configfs config /sys/kernel/config
mkdir -p /run/lock /run/lvm /run/udev; hostname lab; ip link set lo up
/usr/lib/systemd/systemd-udevd --daemon
# What was there before udev; what the modules find is an event of its own.
udevadm trigger --action=add --subsystem-match=block --subsystem-match=misc
for module in sd_mod sg virtio_scsi nvme dm_multipath; do modprobe -q $module; done
udevadm settle -t 60
modprobe 9pnet_virtio; modprobe 9p
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none lab /lab
# The host ends a machine that no longer does this. A watchdog device would: it does not know when the host gives it no processor.
busybox sh -c 'while :; do echo >/lab/alive; sleep 5; done' &
echo "arraylab-vm: booted $(uname -r) after $(cut -d' ' -f1 /proc/uptime) s"
bash /lab/guest.sh
echo "arraylab-vm: off after $(cut -d' ' -f1 /proc/uptime) s"
# The first process must not end, nor read a program from a disk, while the kernel powers off.
mkfifo /run/never; exec 9<>/run/never
sync; echo o >/proc/sysrq-trigger; read -r <&9
