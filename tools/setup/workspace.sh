# The colcon workspace: src/ -> install/. Sourced by ./pkm.

# setup files of colcon and ROS use variables that are not set
source_prefix() {
    set +eu
    # shellcheck source=/dev/null
    source "$1/local_setup.bash"
    set -eu
}

source_workspace() {
    set +eu
    # shellcheck source=/dev/null
    source "$root/install/setup.bash"
    set -eu
    # several BLAS threads for 6 x 6 systems only wait for each other, milliseconds at a time when the machine is busy
    export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
    # programs speak while they work, also through a pipe
    export PYTHONUNBUFFERED=1
}

# Python modules, and what is inside of installed files, are links: only new files and packaging ask for a build.
workspace_fingerprint() {
    (
        cd "$root/src"
        echo "$root ${ROS_DISTRO-wheels} $("$python" -VV)"
        find . -type f \( -path '*/config/*' -o -path '*/launch/*' -o -path '*/urdf/*' -o -path '*/rviz/*' \) \
            ! -path '*/__pycache__/*' | LC_ALL=C sort
        find . -type f \( -name package.xml -o -name setup.py -o -name setup.cfg \) | LC_ALL=C sort | xargs cat
        cat "$root/colcon.meta" "$root/tools/setup/workspace.sh"
    ) | sha256sum
}

build_workspace() {
    local stamp=$root/install/.pkm-build wanted
    wanted="$(workspace_fingerprint)"
    [[ -e $stamp && $(<"$stamp") == "$wanted" && -e $root/install/setup.bash ]] && return
    # links to files that are gone, or into another place that this directory was moved from
    [[ -d $root/install ]] && find "$root/install" -xtype l -delete
    step 'building the packages of src/' colcon_build
    echo "$wanted" >"$stamp"
}

# colcon under the Python that the programs are to run with: it writes that into their first line
colcon_build() {
    cd "$root"
    nice "$python" -c 'import sys; from colcon_core.command import main; sys.exit(main())' \
        build --base-paths src --symlink-install --metas colcon.meta
    # an installation without links does this, too; else, where PYTHONDONTWRITEBYTECODE is set, every start does it again
    "$python" -m compileall -q src/*/pkm_* verification
}

# What compiled kernels depend on; the library looks more closely, this saves its start.
kernels_fingerprint() {
    {
        "$python" -VV
        "$python" -c 'from importlib.metadata import version as v; print(v("numba"), v("llvmlite"), v("numpy"))'
        uname -m
        cat "$root"/src/*/*/kernels/*.py "$root"/src/*/*/first_calls.py
    } | sha256sum
}

# From the sources, in a process beside this one, which finish_beside waits for: they need none of what is set up meanwhile.
start_kernels() {
    local stamp=$root/install/.pkm-kernels kept=$root/src/pkm_description/pkm_description/kernels/__pycache__/compiled
    local wanted
    wanted=$(kernels_fingerprint)
    [[ -e $stamp && $(<"$stamp") == "$wanted" && -d $kept ]] && return
    (
        trap interrupted INT TERM
        setup_log=$root/log/setup_of_kernels.log
        step 'compiling the kernels, two minutes or three' compile_kernels
        mkdir -p "$kept" "$root/install"
        echo "$wanted" >"$stamp"
    ) &
    beside=$!
}

compile_kernels() {
    local packages=(pkm_description pkm_estimation pkm_identification) name path=
    for name in "${packages[@]}"; do path+=$root/src/$name:; done
    PYTHONPATH=$path${PYTHONPATH-} OPENBLAS_NUM_THREADS=1 "$python" -m pkm_description.nodes.compile_kernels \
        "${packages[@]}"
}
