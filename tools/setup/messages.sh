# Messages, logged steps, interruption. Sourced by ./pkm.
# All messages go to stderr, so that the output of `./pkm run ...` can be piped.

assume_yes=${assume_yes-}
setup_log=$root/log/setup.log
child=
# a process that sets up something else meanwhile
beside=

say() {
    printf 'pkm: %s\n' "$*" >&2
}

fail() {
    printf 'pkm: error: %s\n' "$*" >&2
    if [[ $beside ]]; then
        kill -TERM "$beside" 2>/dev/null || true
        wait "$beside" || true
    fi
    exit 1
}

# CMake, colcon and the first lines of programs take a path apart at spaces and at other characters, some of them minutes
# after the start, some without a word.
check_place() {
    local LC_ALL=C
    [[ $root =~ ^[A-Za-z0-9._/+@=,~-]+$ ]] ||
        fail "the path of this directory, $root, has characters by which ROS 2 and CMake cannot be set up; allowed are" \
            'letters without accents, digits and . _ + @ = , ~ - (no spaces). Move or clone it to such a place, e.g.' \
            "mv '${root//\'/\'\\\'\'}' ~/pkm, and start ./pkm there."
}

# One step of the set-up: say what it is, run it with its output in the log, show the end of the log if it fails.
# The child has a process group of its own: a signal to this script alone ends it, too (see interrupted).
step() {
    local what=$1 code=0 start=$SECONDS
    shift
    say "$what ..."
    mkdir -p "$root/log"
    printf '\n### %s\n' "$what" >>"$setup_log"
    set -m
    "$@" >>"$setup_log" 2>&1 </dev/null &
    child=$!
    set +m
    wait "$child" || code=$?
    child=
    if ((code != 0)); then
        tail -n 30 "$setup_log" >&2
        fail "failed: $what. Full output: $setup_log"
    fi
    ((SECONDS - start < 2)) || say "    done in $((SECONDS - start)) s: $what"
}

finish_beside() {
    [[ $beside ]] || return 0
    wait "$beside" || exit 1
    beside=
}

interrupted() {
    trap '' INT TERM
    if [[ $beside ]]; then
        kill -TERM "$beside" 2>/dev/null || true
    fi
    if [[ $child ]]; then
        kill -INT -- "-$child" 2>/dev/null || true
        # package managers need a moment to leave their data base in order
        for _ in {1..150}; do
            kill -0 -- "-$child" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL -- "-$child" 2>/dev/null || true
    fi
    if [[ $beside ]]; then
        wait "$beside" || true
    fi
    ((BASH_SUBSHELL)) || say 'interrupted; the next call continues from here'
    exit 130
}

# Two calls at the same time must not set up the same directories.
lock() {
    command -v flock >/dev/null || return 0
    exec 9<"$root/tools/setup"
    flock --nonblock 9 && return
    say 'waiting for another ./pkm that is setting up this directory'
    flock 9
}

unlock() {
    exec 9<&-
}
