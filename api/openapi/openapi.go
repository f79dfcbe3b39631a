// Package openapi holds the OpenAPI document of REST, generated from the schema.
package openapi

import _ "embed"

// Document is the document, as YAML.
//
//go:embed aibox.yaml
var Document []byte
