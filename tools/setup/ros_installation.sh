# A sourced ROS 2 installation: used as it is; pip only for what has no system package. Sourced by ./pkm.

has_ros_installation() {
    [[ ${ROS_DISTRO-} ]] && command -v ros2 >/dev/null
}

prepare_ros_installation() {
    local purpose=$1
    python=$(command -v python3)
    check_rosdep
    local wanted=(mujoco numba rosbags viser)
    [[ $purpose == test ]] && wanted+=(pytest pytest_timeout xdist hypothesis pinocchio filterpy ruff mypy importlinter sphinx myst_parser playwright)
    # requirements-test.txt has it for these only
    if [[ $purpose == test && $(uname -m) == x86_64 ]] &&
        "$python" -c 'import sys; sys.exit(sys.version_info >= (3, 14))'; then
        wanted+=(dartpy)
    fi
    # ROS 2 from wheels, set up before this one was sourced, must not be mixed with it
    if [[ -e $root/.venv/.pkm-wheels ]]; then
        say 'removing .venv, build and install of the set-up with wheels'
        rm -rf "$root/.venv" "$root/build" "$root/install"
    fi
    [[ -x $root/.venv/bin/python ]] && python=$root/.venv/bin/python
    if ! modules_exist "${wanted[@]}"; then
        complete_with_pip "$purpose"
    fi
    command -v colcon >/dev/null || fail 'colcon is missing: sudo apt-get install python3-colcon-common-extensions'
    start_kernels
}

# Once per state of the package files: rosdep takes seconds.
check_rosdep() {
    local stamp=$root/log/rosdep-checked wanted install
    wanted=$(cat "$root"/src/*/package.xml | sha256sum)
    [[ -e $stamp && $(<"$stamp") == "$wanted" ]] && return
    if ! command -v rosdep >/dev/null; then
        say 'note: rosdep is not installed, missing system packages are not checked'
        return
    fi
    install="rosdep install --from-paths $root/src --ignore-src --rosdistro $ROS_DISTRO -y"
    if ! rosdep check --from-paths "$root/src" --ignore-src --rosdistro "$ROS_DISTRO" >&2; then
        if ((EUID == 0)) || [[ $assume_yes ]]; then
            say "$install"
            # in the foreground: it may ask for a password
            $install >&2 || fail "this failed: $install   (if rosdep was never used here: rosdep update)"
        else
            fail "system packages are missing: $install   (or run again with --yes; if rosdep was never used here:" \
                'rosdep update)'
        fi
    fi
    mkdir -p "$root/log"
    echo "$wanted" >"$stamp"
}

modules_exist() {
    "$python" - "$@" <<'TEXT'
import sys
from importlib.util import find_spec

sys.exit(any(find_spec(name) is None for name in sys.argv[1:]))
TEXT
}

# A virtual environment that sees the system's packages; numpy stays the system's, for which ROS was compiled.
complete_with_pip() {
    local requirements=("$root/requirements.txt") chosen=$root/.venv/requirements.txt
    if [[ ! -x $root/.venv/bin/python ]]; then
        step 'virtual environment .venv for what has no system package (mujoco, numba, rosbags, viser)' \
            "$python" -m venv --system-site-packages "$root/.venv"
        touch "$root/.venv/COLCON_IGNORE"
        python=$root/.venv/bin/python
    fi
    [[ $1 == test ]] && requirements+=("$root/requirements-test.txt")
    "$python" - "${requirements[@]}" >"$chosen" <<'TEXT'
import re
import sys
from importlib import metadata
from pathlib import Path

print(f'numpy=={metadata.version("numpy")}')
for file in sys.argv[1:]:
    # with the marker (python_version) that may follow
    for name, pin in re.findall(r'^([\w.-]+)([=>]=[^#\n]+)', Path(file).read_text(), re.MULTILINE):
        try:
            metadata.version(name)  # what the system has is good
        except metadata.PackageNotFoundError:
            print(name + pin)
TEXT
    step "by pip: $(grep -v '^numpy' "$chosen" | tr '\n' ' ')" \
        "$python" -m pip install --disable-pip-version-check -r "$chosen"
}
