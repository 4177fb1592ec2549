#!/bin/sh
# Servers for real programs, each with what is in DIRECTORY/files: HTTP/1.1 (port 8080) and HTTP/2 (8443, nginx), git
# (9418), SSH (2222) and rsync (8730). They end with this script. Needs root.
#
#   serve.sh DIRECTORY ADDRESS
#
# Where they are missing it makes keys and a certificate, which bench/programs/use.sh knows, and in DIRECTORY/files a
# file of 2 MB and a repository. DIRECTORY/ready is there once all servers are.
set -eu
dir=$1
address=$2
export HOME="$dir/home" GIT_CONFIG_NOSYSTEM=1 PATH="$PATH:/usr/sbin:/sbin"
mkdir -p "$dir/files" "$dir/home" "$dir/tmp" /run/sshd

if [ ! -e "$dir/ssh" ]; then
    ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/ssh"
    echo "[$address]:2222 $(cat "$dir/host.pub")" >"$dir/known_hosts"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$address" \
        -addext "subjectAltName=IP:$address" -keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null
fi
if [ ! -e "$dir/files/repo.git" ]; then
    git init -q "$dir/repo"
    for number in 1 2 3 4 5; do
        head -c 400000 /dev/urandom >"$dir/repo/$number"
        git -C "$dir/repo" add .
        git -C "$dir/repo" -c user.name=n -c user.email=e commit -qm "$number"
    done
    git clone -q --bare "$dir/repo" "$dir/files/repo.git"
fi
[ -e "$dir/files/large" ] || head -c 2000000 /dev/urandom >"$dir/files/large"

cat >"$dir/nginx.conf" <<END
user root;
daemon off;
worker_processes 1;
pid $dir/nginx.pid;
error_log stderr error;
events {}
http {
    types { text/html html; text/css css; application/javascript js; image/png png; }
    log_format line '\$server_port \$server_protocol \$request_uri';
    access_log $dir/access.log line;
    client_body_temp_path $dir/tmp; proxy_temp_path $dir/tmp; fastcgi_temp_path $dir/tmp;
    uwsgi_temp_path $dir/tmp; scgi_temp_path $dir/tmp;
    server {
        listen $address:8080;
        listen $address:8443 ssl http2;
        ssl_certificate $dir/cert.pem;
        ssl_certificate_key $dir/key.pem;
        root $dir/files;
        expires 1h;
        location = /loaded { return 204; }
    }
}
END
cat >"$dir/sshd_config" <<END
ListenAddress $address:2222
HostKey $dir/host
AuthorizedKeysFile $dir/ssh.pub
PidFile none
StrictModes no
UsePAM no
Subsystem sftp internal-sftp
END
cat >"$dir/rsyncd.conf" <<END
address = $address
port = 8730
use chroot = no
uid = root
gid = root
[files]
path = $dir/files
END

pids=
trap 'kill $pids' EXIT
trap 'exit 0' INT TERM
nginx -e stderr -p "$dir" -c "$dir/nginx.conf" &
pids=$!
"$(command -v sshd)" -D -e -f "$dir/sshd_config" 2>"$dir/sshd.log" &
pids="$pids $!"
git daemon --reuseaddr --export-all --listen="$address" --base-path="$dir/files" &
pids="$pids $!"
rsync --daemon --no-detach --config="$dir/rsyncd.conf" &
pids="$pids $!"
for port in 8080 8443 9418 2222 8730; do
    until ss -Hltn "sport = $port" | grep -q .; do sleep 0.05; done
done
touch "$dir/ready"
wait
