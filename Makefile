.DEFAULT_GOAL := help
.PHONY: help demo test build install test-unit test-matrix bench fuzz soak docs api locks pictures secrets lint fmt vuln setup clean walk elsewhere controls

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
export VERSION
# Where the scripts tell to install Go.
export PATH := $(PATH):/usr/local/go/bin
PREFIX ?= /usr/local
TRIM = -trimpath
STATIC = CGO_ENABLED=0 go build -buildvcs=false $(TRIM)
# No symbols; functions aligned to 16 bytes, not 32, which is 1 % of the program.
LINK = -s -w -funcalign=16

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: ## set up the machine, build aibox and an image, run an agent and review its change
	@scripts/with-sandbox.sh scripts/demo.sh

test: ## install what is missing, and run all checks and tests
	@scripts/test.sh

build: ## build bin/aibox, a static binary that includes aibox-init, PID 1 of the sandbox
	@$(STATIC) -ldflags '$(LINK)' -o bin/aibox-init ./cmd/aibox-init
	@gzip -9 -n -c bin/aibox-init >internal/initbin/bin/aibox-init.gz
	@$(STATIC) -ldflags '$(LINK) -X aibox/cli.Version=$(VERSION)' -o bin/aibox ./cmd/aibox

install: build ## copy bin/aibox to $(PREFIX)/bin
	@install -D -m 0755 bin/aibox $(DESTDIR)$(PREFIX)/bin/aibox

test-unit: ## run the quick tests: no Docker, no network
	@go test -short $$(go list ./... | grep -v aibox/test/)

test-matrix: ## run everything on bare machines, by default Debian 13 with Docker 26 (SUITES="bookworm noble"; needs root or sudo)
	@test/matrix/run.sh --fresh $(SUITES)

bench: ## compare aibox with plain Docker and git, as a table and as JSON
	@scripts/with-sandbox.sh scripts/bench.sh

walk: ## walk through a first run with an empty Docker, and print the time of each step
	@scripts/with-sandbox.sh go test ./test/e2e -run TestAWalkFromAnEmptyMachineToABranchIsTimed -count=1 -v -timeout 1h -walk.empty

elsewhere: ## test the real Aider and Crush from their sources (AIDER=DIR CRUSH=DIR)
	@AIDER=$(AIDER) CRUSH=$(CRUSH) scripts/elsewhere.sh

soak: ## run 300 sessions and 1,000 plain starts, create 1,000 sandboxes, run 1,000 random schedules of faults and the long floods; count failures, leftovers and lost work
	@scripts/with-sandbox.sh go test ./test/e2e -run TestManyRunsLeaveNothing -count=1 -v -timeout 4h -runs 200 -runs.lanes 4 -runs.each 25
	@scripts/with-sandbox.sh go test ./test/e2e -run TestManyRunsLeaveNothing -count=1 -v -timeout 5h -runs 0 -runs.plain -runs.lanes 4 -runs.each 250
	@scripts/with-sandbox.sh go test ./test/e2e -run TestManySessionsRunAtOnce -count=1 -v -timeout 1h -many 20 -many.idle 20s
	@scripts/with-sandbox.sh go test ./test/e2e -run TestManyCreationsLeaveNothing -count=1 -v -timeout 5h -creations 1000 -creations.lanes 4
	@scripts/with-sandbox.sh go test ./test/e2e -run TestOutputArrivesWhole -count=1 -v -timeout 1h -reconnects 50 -reconnects.megabytes 100
	@scripts/with-sandbox.sh go test ./test/e2e -run TestALimitEndsEachFlood/output -count=1 -v -timeout 1h -floods.output 1024
	@scripts/with-sandbox.sh go test ./test/e2e -run TestRandomFaults -count=1 -v -timeout 9h -faults 1000 -faults.daemon 40 -faults.disk 60 -faults.time 8h

fuzz: ## run each fuzz target for 10 seconds (TIME=1m FOLDERS="audit netguard"; 15 minutes and more)
	@scripts/fuzz.sh $(or $(TIME),10s) $(FOLDERS)

controls: ## switch each security control off, and check that a test fails (ONLY=egress/dns; half an hour and more)
	@go run ./test/controls -only '$(ONLY)'

docs: ## update the generated parts of docs/
	@go test ./test/docs -update

pictures: ## draw every screen for docs/pictures, and record and animate a walk
	@scripts/pictures.sh

secrets: ## update the rules for secrets from the version of gitleaks in test/gitleaks/go.mod
	@cd test/gitleaks && GOWORK=off go test . -update

api: ## generate code and the OpenAPI document from the schema in api/aibox/v1, after checking it
	@scripts/api.sh

locks: ## update dockerfiles/locks after a version in a Dockerfile has changed
	@go test ./test/locks -run WholeAndCurrent -count=1 -update

lint: ## run golangci-lint (with go vet and formatting) and shellcheck
	@scripts/lint.sh

fmt: ## format the Go files
	@scripts/tool.sh golangci-lint fmt

vuln: ## check the dependencies for known vulnerabilities (needs network access)
	@scripts/tool.sh govulncheck ./...

setup: ## set up rootless Docker with gVisor, and nothing else
	@scripts/setup-rootless-gvisor.sh

clean: ## remove the results of build
	@rm -rf bin internal/initbin/bin/aibox-init.gz
