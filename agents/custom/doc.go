// Package custom makes agents from TOML files, so that users can add a coding agent
// without writing Go. A file has the same facts as a built-in agent, the recipe of its
// image, templates of its command lines, environment and files, and its options, which
// package spec parses in the same way as struct tags.
//
// The checks are written by hand on top of go-toml: a JSON Schema validator (Schema is
// for editors) does not know the line and column of a TOML key, suggests no correction,
// and cannot check placeholders.
//
// The package is pure: it opens no file, starts nothing, and knows neither where agent
// files are nor how images are built. Parse checks the whole file, so that every agent
// that parses can run: all placeholders exist, templates that need a model have one, and
// no template is inserted into a shell's code.
package custom
