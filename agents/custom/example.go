package custom

import _ "embed"

// Example is a complete agent file: the one in the guide.
//
//go:embed example.toml
var Example []byte
