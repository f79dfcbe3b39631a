#!/usr/bin/env bash
# Drives the real program through all its screens, in pseudo-terminals, and draws them dark
# and light: one size to docs/pictures, and all sizes to FOLDER. It also records a walk to
# docs/pictures/walk.cast and animates it.
#
#   scripts/pictures.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1-} == --draw ]]; then # as the user who has the daemon
	make --no-print-directory build
	all=()
	[[ $3 == no ]] || all=(--all "$2/all")
	exec go run -buildvcs=false ./test/pictures --aibox bin/aibox --docs "$2/docs" "${all[@]}"
fi

# The program can run as another user, in a copy of the checkout.
drawn=$(mktemp -d)
trap 'rm -rf "$drawn"' EXIT
chmod 1777 "$drawn"
scripts/with-sandbox.sh scripts/pictures.sh --draw "$drawn" "${1:-no}"
mkdir -p docs/pictures
rm -f docs/pictures/*.svg docs/pictures/*.cast
cp "$drawn"/docs/* docs/pictures/
if [[ ${1-} ]]; then
	mkdir -p "$1"
	cp "$drawn"/all/*.svg "$1"
fi
