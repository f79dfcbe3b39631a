#!/usr/bin/env bash
# Drives the real program through all its screens, in real terminals of three sizes, dark
# and light, and draws them: one size to docs/pictures, and all sizes to FOLDER.
#
#   scripts/pictures.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1-} == --draw ]]; then # as the user who has the daemon
	make --no-print-directory build
	exec go run -buildvcs=false ./test/pictures --aibox bin/aibox --docs "$2/docs" --all "$2/all"
fi

# The program can run as another user, in a copy of the checkout.
drawn=$(mktemp -d)
trap 'rm -rf "$drawn"' EXIT
chmod 1777 "$drawn"
scripts/with-sandbox.sh --package tmux scripts/pictures.sh --draw "$drawn"
mkdir -p docs/pictures
rm -f docs/pictures/*.svg
cp "$drawn"/docs/*.svg docs/pictures/
if [[ ${1-} ]]; then
	mkdir -p "$1"
	cp "$drawn"/all/*.svg "$1"
fi
