#!/usr/bin/env bash
# How two downloads share an emulated link without errors when nobody has named a rate: two of Bentpipe,
# and one of Bentpipe beside one of the kernel's TCP with CUBIC and with BBR. Needs root; leaves nothing behind.
#
#   bench/sharing.sh [SECONDS]
#
# Prints the share of the link's rate that each download had over that time (120 s if left out), and how much later
# than the first the second one of two equal downloads ends, which take about as long.
# shellcheck source=bench/lib.sh
source "$(dirname "$0")/lib.sh"

time_limit=${1:-120}
# More than the link carries in the time.
endless=10000000000
# Servers do not outlive the measurement.
server="timeout $((3 * time_limit + 30)) $DOWNLOAD --role server"
client="$DOWNLOAD --role client --bytes $endless --time-limit $time_limit"
bentpipe="--transport bentpipe --address 10.53.0.2:25300"
tcp="--transport tcp --address 10.53.0.2:25301"

links=("GEO 10|10|600" "LEO 20|20|50")

# The shares of the rate on two lines of a file, in one line.
parts() {
    awk -v rate="$1" '{ printf " %.3f |", $1 * 8 / $2 / rate / 1e6 }' "$2"
}

printf 'Shares of the rate of the link over %s s\n\n' "$time_limit"
printf '| link | two downloads | first | second |\n|---|---|---:|---:|\n'
for link in "${links[@]}"; do
    IFS='|' read -r name rate trip <<<"$link"
    run 1 "$rate" "$rate" "$trip" "" "exec $server $bentpipe" "exec $client $bentpipe --flows 2" >"$work/result"
    printf '| %s | Bentpipe, Bentpipe |%s\n' "$name" "$(parts "$rate" "$work/result")"
    # TCP comes ten seconds later, each has that time for itself.
    for control in cubic bbr; do
        run 1 "$rate" "$rate" "$trip" "" "$tune; $server $tcp --control $control & exec $server $bentpipe" \
            "$client $bentpipe >$work/ours & sleep 10; $client $tcp >$work/theirs; wait"
        cat "$work/ours" "$work/theirs" >"$work/result"
        printf '| %s | Bentpipe, TCP %s |%s\n' "$name" "${control^^}" "$(parts "$rate" "$work/result")"
    done
done

printf '\nTwo equal downloads of Bentpipe, each of the bytes that half the link carries in %s s\n\n' "$time_limit"
printf '| link | seed | first ends after | second ends later by |\n|---|---:|---:|---:|\n'
for link in "${links[@]}"; do
    IFS='|' read -r name rate trip <<<"$link"
    for seed in 1 2 3; do
        each="$DOWNLOAD --role client --bytes $((rate * time_limit * 62500)) --time-limit $((2 * time_limit))"
        run "$seed" "$rate" "$rate" "$trip" "" "exec $server $bentpipe" "exec $each $bentpipe --flows 2" >"$work/result"
        ends=$(awk '{ print $2 }' "$work/result" | sort -n | xargs |
            awk '{ printf "%.1f s | %.1f %%", $1, ($2 / $1 - 1) * 100 }')
        printf '| %s | %s | %s |\n' "$name" "$seed" "$ends"
    done
done
