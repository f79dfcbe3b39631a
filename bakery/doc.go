// Package bakery determines which image an agent needs and has it built. It makes
// recipes from the Dockerfiles that aibox carries, names each image by the digest of
// its recipe, and builds only images that do not exist yet.
//
// A build gets nothing from the host but the certificates that the host trusts in
// addition to its distribution's: no secret and no repository. The package never runs
// an agent, and reaches the container engine only through Builder.
package bakery
