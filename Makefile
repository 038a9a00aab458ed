# `make` alone lists the targets. `make test` needs nothing but Go.

GO      ?= go
BIN     := bin/fencepost
COUNT   ?= 1
FUZZTIME ?= 20s
MUTANTS ?= all

# libsecp256k1 checks signatures three times as fast as pure Go; its C source
# comes with a Go module, so that cgo and a C compiler are all it takes. The race
# detector needs the same.
CC_FOUND := $(shell if [ -n "$$CC" ]; then command -v "$$CC"; else command -v gcc || command -v cc; fi)
CGO      := $(shell $(GO) env CGO_ENABLED)
ifeq ($(CGO),1)
ifneq ($(CC_FOUND),)
HAVE_C := yes
endif
endif
ifeq ($(HAVE_C),yes)
SECP     := ,libsecp256k1
RACE     := -race
RACE_SAY := with the race detector
else
SECP     :=
RACE     :=
RACE_SAY := without the race detector, which needs cgo and a C compiler
export CGO_ENABLED := 0
endif

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
RELEASE := -tags nopause$(SECP) -trimpath -ldflags "-X main.version=$(VERSION)"
TOOL    := $(GO) tool -modfile=regress/tools/go.mod

.DEFAULT_GOAL := help
.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run build
run: build ## start a relay on port 7447, data in ./data (DATA=)
	@exec $(BIN) serve $(if $(DATA),--data $(DATA))

build: ## build bin/fencepost, with libsecp256k1 where a C compiler exists
	$(GO) build $(RELEASE) -o $(BIN) ./cmd/fencepost

.PHONY: test test-pg race explore mutants kill storm conformance browser fuzz
test: ## test the whole module; needs nothing but Go
	@if $(GO) test $(RACE) $(TESTFLAGS) -timeout 10m ./...; \
	then echo "tests passed, $(RACE_SAY)"; \
	else echo "tests failed, $(RACE_SAY)"; exit 1; fi

test-pg: ## run what needs PostgreSQL at its long sizes; starts one or takes FENCEPOST_TEST_POSTGRES
	CI=true FENCEPOST_TEST_FULL=1 $(GO) test $(RACE) ./relay/store/postgres ./regress/postgres -count=1 -v -timeout 30m
	CI=true $(GO) test $(RACE) ./relay ./cmd/fencepost -run 'Replica|Database|Start|Migrate' -count=1 -v -timeout 10m
	CI=true $(GO) test $(RACE) ./regress/cluster -cluster -count=1 -v -timeout 30m
	CI=true $(GO) test ./regress/fences -run Replicas -count=1 -v -timeout 10m

race: ## run the race-ordering suites COUNT times
	$(GO) test $(RACE) -count=$(COUNT) -timeout 60m ./lifecycle/... ./relay/outbox ./regress/suites

explore: ## run every interleaving of the operations in the explorer's table
	$(GO) test $(RACE) ./regress/explore -count=1 -v -timeout 30m -explore.full

mutants: ## remove each fence and see its suite fail (MUTANTS=all or sample)
	$(GO) test ./regress/mutants -count=1 -v -timeout 60m -mutants=$(MUTANTS)

kill: ## kill -9 a relay in the middle of publishing; no acknowledged event may be lost
	$(GO) test ./regress/kill -count=1 -v -timeout 30m -kill.rounds=100

storm: ## storm a relay over real sockets and count stale frames
	$(GO) test $(RACE) ./regress/storm -count=1 -v -timeout 30m

conformance: build ## drive the built relay with real clients from npm
	regress/conformance/run $(BIN)
	$(GO) test ./regress/conformance -run AnotherClient -count=1 -v

browser: ## look at the relay through a headless Chromium
	FENCEPOST_TEST_BROWSER=$$(command -v chromium || command -v chromium-browser || echo /no/chromium) \
		$(GO) test ./regress/browser -count=1 -v -timeout 10m

fuzz: ## run every fuzz target for FUZZTIME
	.ci/fuzz $(FUZZTIME)

.PHONY: bench microbench
bench: build ## measure the relay beside the limits of the machine (BENCH=flags of fencepost bench)
	regress/bench/run $(BIN) $(BENCH)

microbench: ## run the Go benchmarks of every package that has some
	$(GO) test -run '^$$' -bench . -benchmem -timeout 60m \
		$$(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n1 dirname | sort -u)
ifeq ($(HAVE_C),yes)
	$(GO) test -tags libsecp256k1 -run '^$$' -bench Verify ./relay/wire
endif

.PHONY: lint format
lint: ## gofumpt, go vet (both builds) and staticcheck, at pinned versions
	@unformatted=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make format:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags nopause ./...
	$(TOOL) staticcheck ./...

format: ## rewrite the Go files as lint wants them
	$(TOOL) gofumpt -l -w .

.PHONY: full ci
full: export FENCEPOST_TEST_FULL := 1
full: ## everything at its long sizes: all mutants, 50 rounds of the race suites
	$(MAKE) test test-pg lint explore mutants kill storm conformance browser
	$(MAKE) race COUNT=50
	$(MAKE) fuzz FUZZTIME=30s

ci: ## what CI runs, with its budgets
	.ci/run
