// Package custom makes agents from TOML files, so that a coding agent which aibox
// does not know needs no Go: the same facts as a built-in one's, the recipe of its
// image, templates of its command lines, environment and files, and its options,
// which go through the very same parse of tags (package spec).
//
// The checks are written by hand on top of go-toml: a JSON Schema validator (Schema is
// for editors) knows no line and column of a TOML key, proposes no correction, and
// cannot check that placeholders are known where they are used.
//
// It is pure: it opens no file, starts nothing, and knows neither where agent files
// lie nor how images are built. A file is checked as a whole when it is parsed, so
// that an agent that parses can be run: placeholders are known, a model is there
// for those that need it, no template is a shell's code.
package custom
