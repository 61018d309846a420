# Shared by ./demo, ./test and .ci/run; sourced by bash from the root of the repository.

g4_packages=(g++ cmake ninja-build git pkg-config python3 libabsl-dev libeigen3-dev nlohmann-json3-dev libcli11-dev catch2
             libflatbuffers-dev flatbuffers-compiler libxxhash-dev libspeexdsp-dev
             libpng-dev libturbojpeg0-dev libsndfile1-dev)

# What the tests of the bindings, the desktop example and the ABI need besides. Any Rust from 1.63 and any Go from 1.19 will do.
g4_test_packages=(abigail-tools qt6-base-dev xvfb python3-venv python3-dev)
command -v cargo > /dev/null || g4_test_packages+=(cargo)
command -v go > /dev/null || g4_test_packages+=(golang-go)

# g4_setup [PACKAGE...]: installs the packages that the build and the given ones need, where they are missing (Debian, Ubuntu).
g4_setup() {
  local missing=() installed as_root=() package
  if command -v dpkg-query > /dev/null; then
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${g4_packages[@]}" "$@" 2> /dev/null || true)
    for package in "${g4_packages[@]}" "$@"; do
      grep -Fqx "installed $package" <<< "$installed" || missing+=("$package")
    done
  else
    echo "This is no Debian or Ubuntu: g4 needs ${g4_packages[*]} $*, or what they are called here." >&2
  fi
  if [[ ${#missing[@]} -gt 0 ]]; then
    echo "Installing packages: ${missing[*]}" >&2
    if [[ $EUID -ne 0 ]]; then
      if ! command -v sudo > /dev/null; then
        echo "There is no sudo here: run as root: apt-get install ${missing[*]}" >&2
        return 1
      fi
      as_root=(sudo)
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" ||
      { echo "apt-get could not install: ${missing[*]}" >&2; return 1; }
  fi
  if ! printf '3.25\n%s\n' "$(cmake --version | sed -n 's/^cmake version //p')" | sort -CV; then
    echo "g4 needs CMake 3.25 or newer; this is $(cmake --version | head -1). See https://cmake.org/download" >&2
    return 1
  fi
}

# g4_build PRESET [TARGET...]: configures build/PRESET the first time (later ninja does, where it must) and builds the targets, or all.
g4_build() {
  local preset=$1
  shift
  { [[ -e build/$preset/build.ninja ]] || cmake --preset "$preset" --log-level=WARNING > /dev/null; } &&
    cmake --build --preset "$preset" --parallel "$(nproc)" ${1:+--target "$@"}
}
