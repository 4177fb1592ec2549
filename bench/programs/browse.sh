#!/bin/sh
# Loads the site of bench/programs/site.py, served by bench/programs/serve.sh, in a headless Chromium that knows nothing
# of it yet. Prints the milliseconds until the page was loaded; fails unless all of its objects are what they should be.
#
#   browse.sh DIRECTORY ADDRESS http1|http2
set -eu
dir=$1
address=$2
case $3 in
http1) url=http://$address:8080 protocol='8080 HTTP/1.1' ;;
http2) url=https://$address:8443 protocol='8443 HTTP/2.0' ;;
*) echo "$3: neither http1 nor http2" >&2; exit 1 ;;
esac
profile=$(mktemp -d "$dir/profile.XXXXXX")
: >"$dir/access.log"
key=$(openssl x509 -in "$dir/cert.pem" -noout -pubkey | openssl pkey -pubin -outform der |
    openssl dgst -sha256 -binary | base64)
HOME=$profile chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --disable-extensions \
    --ignore-certificate-errors-spki-list="$key" --unsafely-treat-insecure-origin-as-secure="$url" \
    --user-data-dir="$profile" --remote-debugging-port=0 "$url/" >"$profile/said" 2>&1 &
browser=$!
# Its other processes may still write for a moment.
gone() {
    kill $browser
    wait $browser || true
    for _ in $(seq 50); do
        rm -rf "$profile" 2>/dev/null && break
        sleep 0.1
    done
}
trap gone EXIT
for _ in $(seq 1200); do
    line=$(grep -F "$protocol /loaded?" "$dir/access.log" || true)
    [ -z "$line" ] || break
    kill -0 $browser || { cat "$profile/said" >&2; exit 1; }
    sleep 0.1
done
[ -n "$line" ] || { echo "the page was not loaded in two minutes" >&2; exit 1; }
right=${line##*&}
[ "$right" = 100 ] || { echo "$right of 100 objects are right" >&2; exit 1; }
line=${line##*\?}
echo "${line%&*}"
