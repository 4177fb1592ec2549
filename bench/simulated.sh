#!/usr/bin/env bash
# The gateways in the simulator over the links of bench/gateway.sh: the share of the rate that one download has, means
# and 95 % intervals.
#
#   bench/simulated.sh [SEEDS [ROWS [MODES]]]
#
# ROWS is a pattern for the names of the links, such as 'GEO 10', MODES some of 'dedicated shared'.
# shellcheck source=bench/lib.sh
source "$(dirname "$0")/lib.sh"

seeds=${1:-100}
rows=${2:-.}
read -ra modes <<<"${3:-dedicated shared}"

printf '| link | mode | share of the rate | first byte, s |\n|---|---|---:|---:|\n'
for link in "${links[@]}"; do
    IFS='|' read -r name down up trip megabytes settings <<<"$link"
    [[ $name =~ $rows ]] || continue
    for mode in "${modes[@]}"; do
        scenario_sets "$mode"
        for seed in $(seq "$seeds"); do
            "$BENTPIPE" run gateway-geo --json --seed "$seed" "${sets[@]}"
        done | python3 -c '
import json, math, statistics, sys

name, mode, down, size = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
text, decoder, runs = sys.stdin.read().strip(), json.JSONDecoder(), []
while text:
    run, end = decoder.raw_decode(text)
    runs.append(run["flows"][0])
    text = text[end:].lstrip()
incomplete = [run for run in runs if not run["complete"]]
assert not incomplete, incomplete
shares = [8 * size / run["connection_time"] / down for run in runs]
firsts = [run["first_byte_after"] for run in runs]

def interval(values):
    return f"{statistics.mean(values):.3f} ± {statistics.NormalDist().inv_cdf(0.975) * statistics.stdev(values) / math.sqrt(len(values)):.3f}"

print(f"| {name} | {mode} | {interval(shares)} | {interval(firsts)} |")
' "$name" "$mode" "${down}e6" "${megabytes}e6"
    done
done
