#!/usr/bin/env bash
# How two downloads share an emulated link without errors when nobody has named a rate: two of Bentpipe, between hosts of their own,
# one of Bentpipe beside one of the kernel's TCP with CUBIC and with BBR, and two of TCP. Needs root; leaves nothing behind.
#
#   bench/sharing.sh [SECONDS [LINKS [PAIRS [IDLE]]]]
#
# The second download comes 10 s after the first one. Prints what each had in the time after that (60 s if left out), in Mbit/s,
# and Jain's index; then how much later than the first the second one of two equal downloads of one association ends, which take about as
# long. LINKS is a pattern for their names, PAIRS some of FIRST-SECOND, each `bentpipe`, `cubic` or `bbr`. Associations are up for IDLE
# seconds (3 if left out) before their downloads.
# shellcheck source=bench/lib.sh
source "$(dirname "$0")/lib.sh"

time_limit=${1:-60}
pattern=${2:-.}
read -ra pairs <<<"${3:-bentpipe-bentpipe bentpipe-cubic cubic-bentpipe bentpipe-bbr bbr-bentpipe cubic-cubic cubic-bbr bbr-cubic}"
idle=${4:-3}
apart=10
# More than the link carries in the time.
endless=10000000000
# Servers do not outlive the measurement.
server="timeout $((3 * time_limit + 2 * idle + 30)) $DOWNLOAD --role server"
client="$DOWNLOAD --role client --bytes $endless --time-limit $time_limit --idle $idle"

links=("GEO 10|10|600" "LEO 20|20|50")

# The arguments of both ends: ends WHAT PORT
ends() {
    case $1 in
    bentpipe) echo "--transport bentpipe --address 10.53.0.2:$2" ;;
    *) echo "--transport tcp --address 10.53.0.2:$2 --control $1" ;;
    esac
}

# Seconds until a download begins: one of Bentpipe brings its association up first.
before() {
    awk -v what="$1" -v idle="$idle" -v trip="$2" 'BEGIN { print what == "bentpipe" ? idle + trip * 3 / 1000 : 0 }'
}

printf 'Mbit/s in the %s s after the second download came\n\n' "$time_limit"
printf "| link | first | second | Mbit/s | Jain's index |\n|---|---|---|---:|---:|\n"
for link in "${links[@]}"; do
    IFS='|' read -r name rate trip <<<"$link"
    [[ $name =~ $pattern ]] || continue
    for pair in "${pairs[@]}"; do
        IFS=- read -r first second <<<"$pair"
        # Seconds before the one and the other command, of which one begins at once.
        read -r wait_first wait_second < <(awk -v apart="$apart" -v a="$(before "$first" "$trip")" -v b="$(before "$second" "$trip")" \
            'BEGIN { second = apart + a - b; print second < 0 ? -second : 0, second < 0 ? 0 : second }')
        run 1 "$rate" "$rate" "$trip" "" \
            "$tune; $server $(ends "$first" 25300) & exec $server $(ends "$second" 25301)" \
            "(sleep $wait_first; $client $(ends "$first" 25300) --skip $apart >$work/first) &
            sleep $wait_second; $client $(ends "$second" 25301) >$work/second; wait"
        cat "$work/first" "$work/second" |
            awk -v row="| $name | $first | $second |" '{ had[NR] = $1 * 8 / $2 / 1e6 } END { if (NR != 2) exit 1; a = had[1]; b = had[2]
                printf "%s %.1f, %.1f | %.3f |\n", row, a, b, (a + b) ^ 2 / (2 * (a ^ 2 + b ^ 2)) }'
    done
done

printf '\nTwo equal downloads of Bentpipe, each of the bytes that half the link carries in %s s\n\n' "$time_limit"
printf '| link | seed | first ends after | second ends later by |\n|---|---:|---:|---:|\n'
for link in "${links[@]}"; do
    IFS='|' read -r name rate trip <<<"$link"
    [[ $name =~ $pattern ]] || continue
    for seed in 1 2 3; do
        each="$DOWNLOAD --role client --bytes $((rate * time_limit * 62500)) --time-limit $((2 * time_limit)) --idle $idle"
        run "$seed" "$rate" "$rate" "$trip" "" "exec $server $(ends bentpipe 25300)" \
            "exec $each $(ends bentpipe 25300) --flows 2" >"$work/result"
        later=$(awk '{ print $2 }' "$work/result" | sort -n | xargs |
            awk '{ printf "%.1f s | %.1f %%", $1, ($2 / $1 - 1) * 100 }')
        printf '| %s | %s | %s |\n' "$name" "$seed" "$later"
    done
done
