#!/usr/bin/env bash
# Check the schema of the API, and generate Go code and the OpenAPI document from it.
set -euo pipefail

# share_unary FILE…: makes generated services use the package unary, for the program's size.
share_unary() {
	local file method
	for file; do
		sed -i -e 's/connect\.NewUnaryHandler(/unary.NewHandler(/' -e 's|^import ($|&\n\tunary "aibox/api/unary"|' "$file"
		grep -oP 'return c\.\K\w+(?=\.CallUnary)' "$file" | while read -r method; do
			sed -i -E -e "s/^(\t\t$method: +)connect\.NewClient\[/\1unary.NewClient[/" -e "s/^(\t$method +\*)connect\.Client\[/\1unary.Client[/" "$file"
		done
		gofmt -w "$file"
	done
}

cd "$(dirname "$0")/../api/generate"
export GOWORK=off
go tool buf lint ..
go tool buf generate --template ../buf.gen.yaml
go tool buf generate --template ../e2b/buf.gen.yaml
cd ../..
share_unary api/aibox/v1/aiboxv1connect/*.go api/e2b/*pb/*.connect.go
go test ./api/aibox/v1 -run WrittenFromTheSchema -update -count=1 >/dev/null
