#!/usr/bin/env bash
# Ten thousand idle connections through the gateway over a geostationary link (10 Mbit/s, 600 ms), and beside them a
# thousand that ask for 5 KB every ten seconds, of which ten a second are new. Needs root and nft; leaves nothing behind.
#
#   bench/many.sh [SECONDS [IDLE [BUSY]]]
#
# SECONDS is how long there are BUSY connections (600, 10,000 and 1,000 if left out), each of which lives for
# BUSY / 10 seconds. Prints the memory (VmRSS), open files and CPU time of both gateways at each stage, what passed
# over the link in ten seconds with idle connections only, and what became of the connections. It fails if one of them did.
# shellcheck source=bench/gateways.sh
source "$(dirname "$0")/gateways.sh"

seconds=${1:-600}
idle=${2:-10000}
busy=${3:-1000}
opening=200
fresh=10
life=$((busy / fresh))
# Idle ones live until the others have ended.
rest=$((seconds + 2 * life + idle / opening + 90))
limits="connections = $((idle + busy + 1000))"
ulimit -n $((idle + busy + 1000))

# Writes the state of the gateway of this end to a file every second, as long as it runs.
beside="watch() {
    while sleep 1; do
        echo \$(awk '/VmRSS/ { print \$2 }' /proc/\$gateway/status) \$(ls /proc/\$gateway/fd | wc -l) \\
            \$(awk '{ print (\$14 + \$15) / $(getconf CLK_TCK) }' /proc/\$gateway/stat) >$work/\$1.new
        mv $work/\$1.new $work/\$1.state
    done
}
watch"

begin gateway 10 10 "$DOWNLOAD --role server --transport tcp --address $site:25301"
client+="
    crowd() { there $DOWNLOAD --role crowd --transport tcp --address $site:25301 --time-limit 100 \"\$@\"; }
    stage() {
        sleep 2
        echo \"\$1 | terminal \$(cat $work/terminal.state) | hub \$(cat $work/hub.state)\"
    }
    stage 'no connections'
    crowd --bytes 100 --fresh $opening --seconds $((idle / opening)) --life $rest --pause $rest >$work/idle & idle=\$!
    until grep -q ', $idle open' $work/idle; do
        kill -0 \$idle || exit 1
        sleep 1
    done
    sleep 20
    stage '$idle idle'
    before=\$(cat /proc/net/dev)
    sleep 10
    echo \"\$before\" >$work/link.before; cat /proc/net/dev >$work/link.after
    stage '$idle idle, ten seconds later'
    crowd --bytes 5000 --fresh $fresh --seconds $((seconds + life)) --life $life --pause 10 >$work/busy & busy=\$!
    sleep $((seconds / 2 + life)); stage '$busy busy, half time'
    wait \$busy || failed=busy
    tail -n 1 $work/busy
    stage 'only the idle ones again'
    wait \$idle || failed=idle
    tail -n 1 $work/idle
    sleep 20
    stage 'all have ended'
    curl --silent http://127.0.0.1:9100/metrics | grep -E 'flows_|peer_conn'
    kill -- \$(jobs -p)
    [ -z \"\$failed\" ]"
echo "stage | gateway: memory in KiB, files, CPU s"
run 1 10 10 600 '' "$server" "$client"
echo "Bytes in and out over the link in ten seconds with $idle idle connections:"
paste "$work/link.before" "$work/link.after" | awk '/:/ && !/ (lo|lan0):/ { print $1, $19 - $2, $27 - $10 }'
