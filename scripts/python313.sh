#!/usr/bin/env bash
# Says where a Python 3.13 is: on PATH, pyenv's, or one that this script builds once, from the source package of
# Debian 13, into .python-3.13 (two to four minutes of two cores). Nothing of the system is changed, but that headers
# which CPython needs are installed where they are missing and may be.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.python-3.13

works() { "$1" -c 'import sys, ssl, ctypes, zlib; assert sys.version_info[:2] == (3, 13)' 2>/dev/null; }

candidates=("$(command -v python3.13 || true)")
# A shim of pyenv is on PATH although the version is not switched on; the interpreter itself works.
command -v pyenv >/dev/null && candidates+=("$(pyenv prefix 3.13 2>/dev/null || true)/bin/python3.13")
for candidate in "${candidates[@]}" "$folder/bin/python3.13"; do
    if [ -n "$candidate" ] && works "$candidate"; then
        echo "$candidate"
        exit 0
    fi
done

if ! command -v apt-get >/dev/null || ! command -v cc >/dev/null || ! command -v make >/dev/null; then
    echo "no Python 3.13 on PATH or in pyenv, and none can be built without apt-get, cc and make: install one." >&2
    exit 1
fi
echo "no Python 3.13 on PATH or in pyenv: building one into .python-3.13, some minutes ..." >&2

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)
headers=(libssl-dev zlib1g-dev libffi-dev libbz2-dev liblzma-dev libsqlite3-dev)
if ! dpkg --status "${headers[@]}" >/dev/null 2>&1; then
    { "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "${headers[@]}"; } >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Lists of its own: the system's sources stay as they are. apt checks signatures as it always does.
mkdir -p "$work"/{lists/partial,cache/archives/partial,tree}
key=/usr/share/keyrings/debian-archive-keyring.gpg
# Debian's own mirror, from wherever this system takes it.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Created-By: Packages' | grep -v security | head -1)
echo "deb-src [signed-by=$key] $mirror trixie main" >"$work/sources.list"
apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
unset MAKEFLAGS # variables of a `make` above are none of CPython's
# Not optimised by a profile: this interpreter starts tests, and a quick build matters more than its speed.
if ! {
    "${apt[@]}" update &&
        (cd "$work" && "${apt[@]}" source --download-only python3.13) &&
        tar -xf "$work"/python3.13_*.orig.tar.xz -C "$work/tree" --strip-components 1 &&
        cd "$work/tree" &&
        ./configure --quiet --prefix="$folder" --disable-test-modules &&
        make -s -j2 &&
        make -s altinstall ENSUREPIP=no DESTDIR="$work/made"
} >"$work/log" 2>&1; then
    tail -40 "$work/log" >&2
    exit 1
fi
# Moved when it is whole: a build that was killed leaves nothing that looks like one.
rm -rf "$folder"
mv "$work/made$folder" "$folder"
works "$folder/bin/python3.13"
echo "$folder/bin/python3.13"
