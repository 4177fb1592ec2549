#!/usr/bin/env bash
# The gateways in the simulator and as programs over the emulator, over the links of bench/gateway.sh: goodput, first
# byte, 100 kB, bytes on the link, retransmissions, parity and round trip. Needs root and nft; leaves nothing behind.
#
#   bench/twins.sh [SEEDS [ROWS [MODES]]]
#
# ROWS is a pattern for the names of the links, such as 'GEO 10', MODES some of 'dedicated shared'.
# shellcheck source=bench/lib.sh
source "$(dirname "$0")/lib.sh"

seeds=${1:-3}
rows=${2:-.}
read -ra modes <<<"${3:-dedicated shared}"

printf '| link | mode | goodput, share of the rate | real | difference | first byte, s | real | 100 kB, s | real |'
printf ' bytes on the link | real | retransmitted | real | parity | real | round trip, s | real |\n'
printf '|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n'
for link in "${links[@]}"; do
    IFS='|' read -r name down up trip megabytes settings <<<"$link"
    [[ $name =~ $rows ]] || continue
    for mode in "${modes[@]}"; do
        scenario_sets "$mode"
        "$BENTPIPE" twin gateway-geo --seeds "$seeds" --json "${sets[@]}" 2>"$work/said" >"$work/rows" || {
            cat "$work/said" >&2
            exit 1
        }
        python3 - "$work/rows" "$name" "$mode" "$down" <<'END'
import json, sys

rows, name, mode, down = json.load(open(sys.argv[1])), *sys.argv[2:5]
simulated, real = ([row[side]["mean"] for row in rows] for side in ("simulated", "real"))
rate = float(down) * 1e6
print(
    f"| {name} | {mode} | {simulated[0] / rate:.3f} | {real[0] / rate:.3f} | "
    f"{100 * (simulated[0] / real[0] - 1):+.1f} % | {simulated[1]:.3f} | {real[1]:.3f} | "
    f"{simulated[2]:.3f} | {real[2]:.3f} | {simulated[3]:.3f} | {real[3]:.3f} | "
    f"{simulated[5]:.0f} | {real[5]:.0f} | {simulated[6]:.0f} | {real[6]:.0f} | {simulated[7]:.3f} | {real[7]:.3f} |"
)
END
    done
done
