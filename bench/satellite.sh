#!/usr/bin/env bash
# Downloads over emulated satellite links: Bentpipe on an association that is up, beside the kernel's
# TCP (CUBIC and BBR) on the same links, one after the other. Needs root; leaves nothing behind.
#
#   bench/satellite.sh [SEEDS [ROWS [TOOLS]]]
#
# Prints the share of the link's rate that a download used from the call to the last byte: medians over
# the seeds (5 if left out). ROWS is a pattern for the names of the links, such as 'GEO 10',
# TOOLS some of 'bentpipe cubic bbr'. A download
# that is not over after a minute counts as far as it came.
# shellcheck source=bench/lib.sh
source "$(dirname "$0")/lib.sh"

read -ra tools <<<"${3:-bentpipe cubic bbr}"
time_limit=60

# prepare TOOL DOWN UP BYTES
prepare() {
    local tool=$1 down=$2 up=$3 bytes=$4 common
    if [ "$tool" = bentpipe ]; then
        common="$DOWNLOAD --transport bentpipe --address 10.53.0.2:25300"
        server="$common --role server --rate ${down}Mbit/s"
        client="$common --role client --rate ${up}Mbit/s --bytes $bytes --time-limit $time_limit"
    else
        common="$tune; exec $DOWNLOAD --transport tcp --address 10.53.0.2:25300"
        server="$common --role server --control $tool"
        client="$common --role client --bytes $bytes --time-limit $time_limit"
    fi
}

shares "${1:-5}" "${2:-.}" "${tools[@]}"
