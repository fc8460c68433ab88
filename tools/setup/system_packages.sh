# System packages that the wheels need (Debian's names). Sourced by ./pkm.

python_include_exists() {
    "$1" -c 'import pathlib, sys, sysconfig; sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' 2>/dev/null
}

missing_system_packages() {
    local base_python=$1
    if command -v "$base_python" >/dev/null; then
        "$base_python" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
        python_include_exists "$base_python" || echo python3-dev
    else
        echo python3 python3-venv python3-dev
    fi
    command -v cmake >/dev/null || echo cmake
    command -v make >/dev/null || echo make
    command -v g++ >/dev/null || echo g++
    command -v check_urdf >/dev/null || echo liburdfdom-tools
}

install_system_packages() {
    local missing
    read -ra missing <<<"$(missing_system_packages "$1" | tr '\n' ' ')"
    ((${#missing[@]})) || return 0
    local install="apt-get install -y --no-install-recommends ${missing[*]}"
    command -v apt-get >/dev/null ||
        fail "system packages are missing, by their Debian names: ${missing[*]}. Install them with your package manager."
    if ((EUID == 0)); then
        step 'reading the lists of system packages' apt-get update
        export DEBIAN_FRONTEND=noninteractive
        # finishes what an earlier interruption left
        step "installing system packages: ${missing[*]}" bash -c "dpkg --configure -a && $install"
    elif [[ $assume_yes ]] && command -v sudo >/dev/null; then
        say "installing system packages: sudo $install"
        # in the foreground: sudo may ask for a password
        sudo apt-get update -q && sudo DEBIAN_FRONTEND=noninteractive $install || fail "this failed: sudo $install"
    else
        fail "system packages are missing: sudo apt-get update && sudo $install   (or run again with --yes)"
    fi
}

# What some tests use besides: a browser for the viewer's page, Gazebo's parser for SDF, OpenGL for pictures and DART.
# Those that the system does not know are left out; the tests that need them are skipped and say so.
install_test_packages() {
    local name wanted=() known=()
    command -v chromium >/dev/null || wanted+=(chromium)
    command -v ign >/dev/null || command -v gz >/dev/null || wanted+=(ignition-tools sdformat-sdf libsdformat-dev)
    [[ $(ldconfig -p) == *libGL.so.1* ]] || wanted+=(libgl1)
    [[ $(ldconfig -p) == *libEGL.so.1* ]] || wanted+=(libegl1 libgl1-mesa-dri)
    ((${#wanted[@]})) && command -v apt-get >/dev/null || return 0
    local as_root=()
    ((EUID == 0)) || as_root=(sudo)
    if ((EUID != 0)) && ! { [[ $assume_yes ]] && command -v sudo >/dev/null; }; then
        say "note: tests that need ${wanted[*]} are skipped (./pkm test --yes installs them)"
        return 0
    fi
    "${as_root[@]}" apt-get update -q >/dev/null 2>&1 || true
    for name in "${wanted[@]}"; do
        [[ $(apt-cache policy "$name" 2>/dev/null) == *Candidate:\ [0-9]* ]] && known+=("$name")
    done
    ((${#known[@]})) || return 0
    # without them the tests are fewer; that is no reason to end here
    (step "installing system packages for tests: ${known[*]}" \
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${known[@]}") ||
        say "note: tests that need ${known[*]} are skipped"
}
