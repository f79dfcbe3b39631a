// Package locks generates and checks the lock files of dockerfiles, which pin by checksum
// everything that an image is built from. `make locks` writes them after a version in a
// Dockerfile has changed. Without -update, the tests only check the existing files.
package locks
