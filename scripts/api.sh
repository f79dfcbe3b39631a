#!/usr/bin/env bash
# Check the schema of the API, and generate Go code and the OpenAPI document from it.
set -euo pipefail
cd "$(dirname "$0")/../api/generate"
export GOWORK=off
go tool buf lint ..
go tool buf generate --template ../buf.gen.yaml
go tool buf generate --template ../e2b/buf.gen.yaml
cd ../..
go test ./api/aibox/v1 -run WrittenFromTheSchema -update -count=1 >/dev/null
