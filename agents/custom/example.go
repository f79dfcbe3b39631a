package custom

import _ "embed"

// Example is an agent file that works as it is: the one in the guide.
//
//go:embed example.toml
var Example []byte
