.DEFAULT_GOAL := help
.PHONY: help demo test build install test-unit test-matrix bench soak docs locks pictures secrets lint fmt vuln setup clean

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
export VERSION
PREFIX ?= /usr/local
STATIC = CGO_ENABLED=0 go build -buildvcs=false -trimpath

help: ## print these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: ## from a bare machine to a reviewed change: sets up, builds, bakes, runs an agent
	@scripts/with-sandbox.sh scripts/demo.sh

test: ## install what is missing and run every check and test, unit to end-to-end
	@scripts/test.sh

build: ## build bin/aibox, one static file with its PID 1 of the box inside
	@$(STATIC) -ldflags '-s -w' -o internal/initbin/bin/aibox-init ./cmd/aibox-init
	@$(STATIC) -ldflags '-s -w -X aibox/cli.Version=$(VERSION)' -o bin/aibox ./cmd/aibox

install: build ## copy bin/aibox to $(PREFIX)/bin
	@install -D -m 0755 bin/aibox $(DESTDIR)$(PREFIX)/bin/aibox

test-unit: ## the quick tests: no Docker, no network
	@go test -short $$(go list ./... | grep -v aibox/test/)

test-matrix: ## everything again on bare machines, by default a Debian 13 with Docker 26 (SUITES="bookworm noble"; needs root or sudo)
	@test/matrix/run.sh --fresh $(SUITES)

bench: ## the ratios of aibox against plain Docker and git, as a table and as JSON
	@scripts/with-sandbox.sh scripts/bench.sh

soak: ## 200 runs in a row and 4 x 25 side by side: failures and what is left, counted
	@scripts/with-sandbox.sh go test ./test/e2e -run TestManyRunsLeaveNothing -count=1 -v -timeout 4h -runs 200 -runs.lanes 4 -runs.each 25

docs: ## write the generated parts of docs/
	@go test ./test/docs -update

pictures: ## draw every screen for docs/pictures, by driving the program (needs tmux)
	@scripts/pictures.sh

secrets: ## write the rules for secrets, from the version of gitleaks in test/gitleaks/go.mod
	@cd test/gitleaks && GOWORK=off go test . -update

locks: ## write the lock files of dockerfiles/locks, after a version in a Dockerfile has changed
	@go test ./test/locks -run WholeAndCurrent -count=1 -update

lint: ## go vet, golangci-lint with formatting, shellcheck
	@scripts/lint.sh

fmt: ## format the Go files
	@scripts/tool.sh golangci-lint fmt

vuln: ## known vulnerabilities of the dependencies (needs the vulnerability database)
	@scripts/tool.sh govulncheck ./...

setup: ## rootless Docker with gVisor, and nothing else
	@scripts/setup-rootless-gvisor.sh

clean: ## remove what build made
	@rm -rf bin internal/initbin/bin/aibox-init
