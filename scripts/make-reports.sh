#!/bin/sh
# Runs the five published plans on their twins and writes their reports, a gallery page and the kept figures.
# usage: make-reports.sh ARRAYLAB OUT FIGURES        ARRAYLAB_FULL=1 runs every case at its full length
set -eu
arraylab=$1 out=$2 figures=$3
rm -rf "$out"
mkdir -p "$out/runs"

run() { # PLAN ARGUMENTS…
    plan=$1
    shift
    [ -z "${ARRAYLAB_FULL:-}" ] || set --
    "$arraylab" run "$plan" --target "twin:$plan" --out "$out/runs/$plan" "$@"
}

run flashsystem-840 --set ramp_time=1
run raid-levels --set runtime=30
# Whole: its cache takes minutes to fill, and N7 is about what follows.
run e2700
run storpool
run dorado-2100-g2

set -- "$out/runs/dorado-2100-g2" "$out/runs/flashsystem-840" "$out/runs/raid-levels" "$out/runs/e2700" "$out/runs/storpool"
"$arraylab" gallery "$@" --out "$out" --figures "$figures"
