#!/usr/bin/env python3
"""Prints P and Q as the running Linux kernel computes them (lib/raid6, which md and btrfs share).

btrfs keeps a file as RAID 6 on loop devices; data, P and Q are then read from the devices. Needs root, loop devices,
btrfs in the kernel and btrfs-progs. `crates/volume/tests/kernel-raid6.txt` was made by it:

    scripts/kernel-raid6-vectors.py > crates/volume/tests/kernel-raid6.txt
"""

import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile

DEVICE_BYTES = 160 << 20
STRIP_BYTES = 64 << 10
FILE_BYTES = 24 << 20
ROWS = 8
# Bytes of each strip that are printed; from a place that differs from row to row.
SAMPLE_BYTES = 32


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def content(length):
    """Bytes that nothing repeats in."""
    blocks = (hashlib.sha256(index.to_bytes(8, "little")).digest() for index in range(length // 32))
    return b"".join(blocks)


def rows_of(devices, directory):
    """(data, P, Q) strips of the rows of the RAID 6 chunk that the file fills."""
    paths = [os.path.join(directory, f"{devices}.{index}") for index in range(devices)]
    loops = []
    tree = os.path.join(directory, "tree")
    os.makedirs(tree, exist_ok=True)
    try:
        for path in paths:
            with open(path, "wb") as file:
                file.truncate(DEVICE_BYTES)
            loops.append(run("losetup", "-f", "--show", path).strip())
        run("mkfs.btrfs", "-q", "-f", "-d", "raid6", "-m", "raid1", *loops)
        run("btrfs", "device", "scan", *loops)
        run("mount", loops[0], tree)
        try:
            with open(os.path.join(tree, "file"), "wb") as file:
                file.write(content(FILE_BYTES))
                os.fsync(file.fileno())
        finally:
            run("umount", tree)
        dump = run("btrfs", "inspect-internal", "dump-tree", "-t", "chunk", loops[0])
    finally:
        for loop in loops:
            run("losetup", "-d", loop)
    chunk = next(part for part in dump.split("CHUNK_ITEM")[1:] if "DATA|RAID6" in part)
    # btrfs may use fewer devices for one chunk.
    width = int(re.search(r"num_stripes (\d+)", chunk).group(1))
    places = re.findall(r"stripe \d+ devid (\d+) offset (\d+)", chunk)[:width]
    places = [(int(device), int(offset)) for device, offset in places]
    data = width - 2
    for row in range(ROWS):
        strips = []
        for device, offset in places:
            # Devices are numbered from 1 in the order in which mkfs was told of them.
            with open(paths[device - 1], "rb") as file:
                file.seek(offset + row * STRIP_BYTES)
                strips.append(file.read(STRIP_BYTES))
        # Each row is turned by one device against the row before.
        turned = [strips[(member + row) % width] for member in range(width)]
        if all(any(strip) for strip in turned):
            yield row, turned[:data], turned[data], turned[data + 1]


def main():
    print(f"# P and Q by lib/raid6 of Linux {platform.release()} ({platform.machine()}), read from btrfs RAID 6.")
    print("# Made by scripts/kernel-raid6-vectors.py. A line: data strips, then P, then Q; some bytes of each.")
    with tempfile.TemporaryDirectory() as directory:
        for devices in (4, 10, 16):
            for row, data, p, q in rows_of(devices, directory):
                start = (row * 4111) % (STRIP_BYTES - SAMPLE_BYTES)
                sample = slice(start, start + SAMPLE_BYTES)
                print(" ".join(strip[sample].hex() for strip in [*data, p, q]))


if __name__ == "__main__":
    sys.exit(main())
