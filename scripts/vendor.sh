#!/usr/bin/env bash
# Fetches the charting library of the report page, and its licences, from npm into src/confide/report/vendor.
# The versions are fixed here, what came is compared with SHA256SUMS; `--update` writes SHA256SUMS anew.
set -euo pipefail
cd "$(dirname "$0")/../src/confide/report/vendor"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fetch() { # package, its version, a file inside, its name here
    npm pack --silent --pack-destination "$folder" "$1@$2" >/dev/null
    tar -xzf "$folder"/*.tgz -C "$folder"
    cp "$folder/package/$3" "$4"
    cp "$folder/package/LICENSE" "LICENSE.${1##*/}.txt"
    rm -rf "$folder"/*
}

fetch d3 7.9.2 dist/d3.min.js d3.min.js
fetch @observablehq/plot 0.6.17 dist/plot.umd.min.js plot.umd.min.js
# Plot's file holds these three: only their licences are needed.
fetch interval-tree-1d 1.0.4 LICENSE LICENSE.interval-tree-1d.txt
fetch binary-search-bounds 2.0.5 LICENSE LICENSE.binary-search-bounds.txt
fetch isoformat 0.2.1 LICENSE LICENSE.isoformat.txt
chmod 644 -- *

if [ "${1-}" = --update ]; then
    sha256sum -- *.js LICENSE.* >SHA256SUMS
fi
sha256sum --check --quiet SHA256SUMS
