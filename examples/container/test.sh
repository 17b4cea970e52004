#!/bin/bash
# What the second container of compose.yaml runs: a load with verification on an array that loses a drive.
set -euo pipefail
sockets=${SOCKETS:-/data}
if ! command -v fio >/dev/null; then
    apt-get update -qq && apt-get install -y -qq fio
fi
for _ in $(seq 100); do
    if [ -S "$sockets/s.ctl" ]; then break; fi
    sleep 0.1
done
fio --name=load --ioengine=nbd --uri="nbd+unix:///?socket=$sockets/s" --rw=randwrite --bs=4k --iodepth=8 --size=8m \
    --verify=crc32c --verify_state_save=0 --minimal >/dev/null &
load=$!
sleep 0.5
arraylab ctl "$sockets/s.ctl" fail 2
wait "$load"
echo "container: a drive failed under a verified load"
