// Package locks makes and checks the locks of dockerfiles: the files that pin by
// checksum what an image is built from. `make locks` writes them again after a version
// in a Dockerfile has changed; without -update the tests look only at what is there.
package locks
