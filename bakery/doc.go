// Package bakery knows what image an agent needs and has it built: from the
// Dockerfiles that aibox carries it makes recipes, names each image by the
// digest of its recipe, and builds only what is not there yet.
//
// It never puts anything of the host into a build but the certificates that the
// host trusts besides its distribution's own, no secret and no repository, and
// it never runs an agent. The container engine is behind Builder.
package bakery
