# shellcheck shell=bash
# Sourced by the other scripts: where things are, and as whom a server runs.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
target=$root/target
mkdir -p "$target"

# The user that owns data directories and runs servers: this one, unless this one is root.
server_user() {
    if [ "$(id -u)" = 0 ]; then echo "${PGSVM_SERVER_USER:-postgres}"; else id -un; fi
}

as_server_user() {
    if [ "$(id -u)" = 0 ]; then
        local user
        user=$(server_user)
        (cd / && setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups "$@")
    else
        "$@"
    fi
}

# Where server trees and data directories go: target/, or a folder of this checkout's own below /var/tmp
# when the server's user cannot enter the checkout (one below /root, say).
server_area() {
    if as_server_user test -x "$target"; then
        echo "$target"
        return
    fi
    local area
    area=/var/tmp/pgsvm-$(cksum <<<"$root" | cut -d ' ' -f 1)
    mkdir -p "$area"
    if [ "$(stat -c %u "$area")" != "$(id -u)" ]; then
        echo "$area belongs to somebody else" >&2
        return 1
    fi
    echo "$area"
}

# The pg_config of the server tree for one major version, made on first use.
server_pg_config() {
    "$root/scripts/pg-tree" "$1" "$(server_area)/pg/$1"
}

# The major versions that a run covers: PG from the environment, or all.
majors() {
    case ${PG:-all} in
        all) echo "15 16 17 18" ;;
        15 | 16 | 17 | 18) echo "$PG" ;;
        *) echo "PG=$PG: 15, 16, 17 or 18" >&2; return 1 ;;
    esac
}

# The SQL tests, in the order of their names.
sql_tests() {
    (cd "$root/tests/sql" && find . -name '*.sql' -printf '%f\n' | sed 's/\.sql$//' | LC_ALL=C sort)
}

# What SQL tests are run with, whatever the server, the database and the role have: PostgreSQL's own defaults of the settings by
# which plans, memory and the looks of output go; pg_regress sees to time zone, dates and the language of messages.
sql_test_options() {
    local setting options=
    # shellcheck disable=SC2016  # "$user" is PostgreSQL's
    for setting in \
        'search_path="$user",public' work_mem=4MB hash_mem_multiplier=2 maintenance_work_mem=64MB temp_buffers=8MB \
        effective_cache_size=4GB seq_page_cost=1 random_page_cost=4 cpu_tuple_cost=0.01 cpu_operator_cost=0.0025 \
        parallel_setup_cost=1000 parallel_tuple_cost=0.1 min_parallel_table_scan_size=8MB max_parallel_workers=8 \
        max_parallel_workers_per_gather=2 max_parallel_maintenance_workers=2 parallel_leader_participation=on \
        jit=off enable_seqscan=on enable_indexscan=on enable_bitmapscan=on enable_sort=on enable_hashagg=on enable_hashjoin=on \
        enable_mergejoin=on enable_nestloop=on enable_partition_pruning=on plan_cache_mode=auto from_collapse_limit=8 \
        join_collapse_limit=8 default_statistics_target=100 synchronize_seqscans=off default_toast_compression=pglz \
        'default_transaction_isolation=read committed' default_transaction_read_only=off row_security=on \
        statement_timeout=0 lock_timeout=0 idle_in_transaction_session_timeout=0 client_min_messages=notice \
        bytea_output=hex extra_float_digits=1 xmloption=content; do
        options+=" -c ${setting// /\\ }"
    done
    printf '%s' "$options"
}

# need_packages PACKAGE...: installs those of Debian's packages that this machine lacks, through sudo unless root. Prints
# nothing and takes no time when all are there. Debian's own server is not started.
need_packages() {
    local package with_rights='' missing=() no_cluster=/etc/postgresql-common/createcluster.d/pgsvm-setup.conf
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        command -v sudo > /dev/null || { echo "as root, run: apt-get install ${missing[*]}" >&2; return 1; }
        with_rights=sudo
    fi
    echo "installing ${missing[*]}" >&2
    # while this drop-in is there, installing the server's package makes no cluster and starts none
    $with_rights mkdir -p "$(dirname $no_cluster)"
    echo "create_main_cluster = false" | $with_rights tee $no_cluster > /dev/null
    local status=0
    $with_rights apt-get -q update > /dev/null \
        && $with_rights env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "${missing[@]}" > /dev/null \
        || status=$?
    $with_rights rm -f $no_cluster
    return "$status"
}

# record_counts NAME PASSED FAILED: leaves the counts of one test run for .ci/run and says them.
record_counts() {
    mkdir -p "$target/counts"
    echo "$2 $3" > "$target/counts/$1"
    echo "$1: $2 passed, $3 failed"
}

# Real data sets, kept beside the checkout; tests that need one skip without it.
export PGSVM_DATA=${PGSVM_DATA:-$root/../shared/data}

# Error details are compared with expected output: no backtraces in them.
export RUST_BACKTRACE=0
