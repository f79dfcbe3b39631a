// Package dockerfiles embeds the Dockerfiles of sandbox images: one for the base and one for
// each agent, named after it. It builds nothing; bakery does.
package dockerfiles

import "embed"

// FS contains NAME.Dockerfile for every image. A file declares the build arguments that it
// needs:
//
//   - BASE: the image that it builds on.
//   - VERSION: the agent's version, with the pinned one as the default.
//   - LOCKED: "no" if the lock is for another version or architecture.
//   - NPM_REGISTRY: the user's npm registry, if it is not npm's default.
//   - PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_PROXY, PIP_TRUSTED_HOST: the user's settings
//     for pip.
//
// A line "# Not pinned: WHAT" names downloads without a pinned checksum.
//
// locks/NAME is the lock of an image: the checksums of everything that its build downloads.
// `make locks` writes it, and the build sees it as lock/.
//
//go:embed *.Dockerfile locks
var FS embed.FS
