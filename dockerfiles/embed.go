// Package dockerfiles holds the recipes of the images that boxes start from: a
// base and one file per agent, named after it. It builds nothing; bakery does.
package dockerfiles

import "embed"

// FS holds NAME.Dockerfile for every image. A file says what it needs by the
// build arguments it declares: BASE is the image below it, VERSION with a
// default is the agent's pinned version, NPM_REGISTRY is npm's registry where
// the user has set another than npm's own, PIP_INDEX_URL, PIP_EXTRA_INDEX_URL,
// PIP_PROXY and PIP_TRUSTED_HOST are what the user has set for pip.
//
//go:embed *.Dockerfile
var FS embed.FS
