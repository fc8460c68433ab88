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
