// Package dockerfiles has the recipes of sandbox images: a
// base and one file per agent, named after it. It builds nothing; bakery does.
package dockerfiles

import "embed"

// FS holds NAME.Dockerfile for every image. A file says what it needs by the
// build arguments it declares: BASE is the image below it, VERSION with a
// default is the agent's pinned version, LOCKED is "no" where another version or
// processor is asked for than the lock is of, NPM_REGISTRY is npm's registry where
// the user has set another than npm's own, PIP_INDEX_URL, PIP_EXTRA_INDEX_URL,
// PIP_PROXY and PIP_TRUSTED_HOST are what the user has set for pip. A line
// "# Not pinned: WHAT" names what no checksum of the file or the lock pins.
//
// locks/NAME holds the lock of an image, which its build sees as lock/: checksums of
// all that it fetches, written by `make locks`.
//
//go:embed *.Dockerfile locks
var FS embed.FS
