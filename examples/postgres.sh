# Functions of the examples: PostgreSQL as the user `nobody`, on a Unix socket in /tmp. Sourced after mounted-array.sh.

client=(-h /tmp -U lab)

# Debian keeps the server's programs out of the path.
postgres_program() { ls -d /usr/lib/postgresql/*/bin/"$1" 2>/dev/null | sort -V | tail -n 1 | grep . || command -v "$1"; }

as_nobody() { (cd / && runuser -u nobody -- "$(postgres_program "$1")" "${@:2}"); }

new_database() {
    mkdir "$1"
    chown nobody "$1"
    chmod 700 "$1"
    as_nobody initdb -D "$1" -A trust -U lab >/dev/null
    echo "port=$2" >>"$1/postgresql.conf"
}

start_database() {
    printf "listen_addresses=''\nunix_socket_directories='/tmp'\n" >>"$1/postgresql.conf"
    as_nobody pg_ctl -D "$1" -w -t 60 -l "$1/log" start >/dev/null
}

stop_database() { as_nobody pg_ctl -D "$1" -w -m "${2:-fast}" stop >/dev/null; }
