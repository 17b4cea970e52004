# The machine itself: what the other tests rest on.

# Proves that every disk of the machine is there, writable, and empty at its start.
smoke_disks_are_there() {
    local name
    for name in s0 s1 s2 s3 s4 s5 mp1 mp2 n01 n02 nm; do
        [ -z "$(wipefs -n "$(disk $name)")" ] || fail "$name is not empty"
    done
    cmp "/sys/class/block/$(kernel_name "$(disk mp1)")/device/wwid" "/sys/class/block/$(kernel_name "$(disk mp2)")/device/wwid"
    [ "$(disk mp1)" != "$(disk mp2)" ] || fail "one path only"
}

# Proves that a plain disk, nobody's, is written with consent.
smoke_a_free_disk_is_written() {
    accepted "$(disk s0)"
}
