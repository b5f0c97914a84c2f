# brunt: `make run` runs an example, `make quick` and `make test` run tests, `make release` builds packages.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c

GO          ?= go
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The tools for measurements and releases, and staticcheck, have their own module. No binary of brunt contains them.
TOOLS       := $(GO) -C tools
# The binary, the release, vet and staticcheck use the same build settings, so that they share the build cache.
ALIKE       := CGO_ENABLED=0 GOFLAGS="$(GOFLAGS) -trimpath"

# Number of packages tested at a time. The tests mostly wait for loads and for their servers.
PARALLEL    ?= 2
# The slowest packages are tested first, so that they don't delay the end.
LONGEST     := ./test/acceptance ./examples/book ./internal/dialect/k6/... ./test/acceptance/processes ./internal/cli ./internal/dialect/ycsb/goycsb ./internal/inspect/postgres ./internal/engine/loop
# test/single prints the packages that start no goroutines and run nothing that does. Their tests mostly compute and take
# a tenth of the time without the race detector. The rules of the house are part of `make check`.
SINGLE      := $(GO) run ./test/single | grep -vxF brunt/test/lint
# Simulations of servers, of which the race detector sees a sixth.
SIMULATED   := TestBracketsOfServersOfKnownCapacity
# The SQLite library is C code translated to Go. Its pointer arithmetic is not checked.
RACE        := -race "-gcflags=modernc.org/...=-d=checkptr=0"
# By default, the race detector makes every program sleep for a second before it exits successfully, including package
# tests. With a shorter sleep it still reports all races found, because it waits for reports in progress.
QUICK_END   := atexit_sleep_ms=10
# Test binaries that run loads keep a large heap alive, and a load on event loops collects garbage at a target of 25 %.
# With GOGC set, neither brunt nor the linker collects that often, which saves a twelfth of the CPU time. The tests of
# brunt's own targets unset it.
RACING      := export GOFLAGS="$(GOFLAGS) -trimpath" GORACE="$(QUICK_END) $(GORACE)" GOGC=$(or $(GOGC),400)
TIMEOUT     ?= 20m
FUZZTIME    ?= 5s
OTHERS      := TestCompilesOnOtherSystems
# Tests of the whole of brunt, mostly with servers. `make quick` omits them: linking them alone would take a quarter of
# its minute.
WHOLE       := examples|test/acceptance|internal/dialect/slowcooker/cook|internal/dialect/ycsb/goycsb

.PHONY: all build run quick test setup check dead race release bench bench-best bench-go bench-wire bench-load bench-tpc bench-etcd bench-grpc bench-jmeter bench-memory bench-record bench-balance bench-inspect bench-report bench-scale bench-soak bench-pgbench bench-sysbench bench-ycsb pictures verdict test-picodata test-clusters kubernetes test-kubernetes failover-etcd failover-postgres fuzz clean bin/bench bin/pictures bin/examples bin/release bin/situations bin/causes causes k6-examples

all: build

build: ## the static binary
	$(ALIKE) $(GO) build -ldflags "-X main.version=$(VERSION)" -o bin/brunt ./cmd/brunt

# Exit code 98 means that this machine was too busy to measure well; the report contains the reason.
run: build ## the example, on an embedded database
	./bin/brunt run examples/cars.yml || [ $$? = 98 ]

quick: ## what needs no server, in a minute, for people who change code
	@$(GO) list ./... | grep -vE '^brunt/($(WHOLE))(/|$$)' \
		| $(ALIKE) xargs $(GO) test -short -vet=off -skip $(OTHERS) -p 4 ./internal/engine/loop ./internal/cli ./internal/dialect/k6 ./internal/run/program
	@$(ALIKE) $(TOOLS) test -short -vet=off ./bench ./examples ./situations

test: setup check race ## everything that must hold

setup: ## what the tests need
	.ci/install

check: ## format, vet, staticcheck, the rules of the house; types on the other systems
	@echo '== gofmt'
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	@echo '== go vet'
	@$(ALIKE) $(GO) vet ./...
	@$(ALIKE) $(GO) vet -tags nok6 ./internal/dialect/k6 ./internal/cli
	@echo '== the rules of the house, the other systems'
	@$(ALIKE) $(GO) test -vet=off -timeout $(TIMEOUT) ./test/lint
	@echo '== staticcheck'
	@staticcheck=$$($(ALIKE) $(TOOLS) tool -n staticcheck); \
	$(ALIKE) $$staticcheck ./...; cd tools; $(ALIKE) $$staticcheck ./...

dead: ## functions that no program reaches (a minute, 3 GB)
	@$(ALIKE) $(GO) run ./test/dead

race: ## every test, against real servers, under the race detector where it can find something
	@echo '== go test of what has no races'
	@$(ALIKE) $(GO) test -vet=off -timeout $(TIMEOUT) $$($(SINGLE))
	@$(ALIKE) $(GO) test -vet=off -timeout $(TIMEOUT) -run $(SIMULATED) ./internal/run/program
	@echo '== go test -race: the first packages take a few minutes to build, once for all folders with brunt'
	@echo '   at the same time: the documentation, and the release, made twice'
	@failed=0; \
	{ $(RACING); $(TOOLS) test $(RACE) -vet=off -timeout $(TIMEOUT) -p 1 ./bench ./examples ./situations && \
	$(ALIKE) $(GO) test -vet=off -timeout $(TIMEOUT) ./test/acceptance/docs && \
	$(ALIKE) $(TOOLS) test -vet=off -timeout $(TIMEOUT) ./release; } & others=$$!; \
	{ $(RACING); $(GO) list ./... \
		| grep -vxF "$$(printf 'brunt/test/%s\n' lint acceptance/clusters acceptance/docs acceptance/kubernetes; $(SINGLE))" \
		| xargs $(GO) test $(RACE) -vet=off -timeout $(TIMEOUT) -p $(PARALLEL) $(LONGEST); } || failed=1; \
	wait $$others || failed=1; exit $$failed

bin/bench bin/causes bin/examples bin/pictures bin/release bin/situations:
	@$(ALIKE) $(TOOLS) build -o ../$@ ./$(@F)

release: bin/release ## binaries, packages, image, checksums: into dist/; ONLY=linux/amd64 for one system
	./bin/release $(if $(ONLY),-only $(ONLY))

bench: bench-go bench-wire bench-load bench-memory bench-ycsb ## all measurements; docs/benchmarks.md says what they are

bench-go: ## the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m -p 1 ./...

bench-wire: bin/bench ## CPU per request, latency and lag, compared with other tools
	./bin/bench wire $(BENCH)

bench-load: bin/bench ## rows per second loaded into a table
	./bin/bench load $(BENCH)

bench-tpc: bin/bench ## TPC-C next to go-tpc, if it is installed: loading of its tables, transactions by kind, shares, conditions, CPU
	./bin/bench tpc $(BENCH)

bench-best: bin/bench ## docs/bench/best.json from all raw runs: what bench-wire and bench-ycsb compare theirs with
	./bin/bench best

bench-memory: bin/bench ## memory over 100 million requests
	./bin/bench memory $(BENCH)

bench-soak: bin/bench ## memory and pace over an hour at 20 000 requests a second
	./bin/bench soak $(BENCH)

bench-ycsb: bin/bench ## brunt ycsb compared with go-ycsb
	./bin/bench ycsb $(BENCH)

bench-pgbench: bin/bench ## brunt pgbench compared with pgbench: CPU per transaction, lag, time of -i
	./bin/bench pgbench $(BENCH)

bench-sysbench: bin/bench ## brunt sysbench compared with sysbench: CPU per transaction, time of prepare
	./bin/bench sysbench $(BENCH)

bench-etcd: bin/bench ## brunt etcd-benchmark compared with etcd's benchmark (BENCH='-benchmark FILE'): CPU per request
	./bin/bench etcd $(BENCH)

bench-grpc: bin/bench ## brunt grpc compared with ghz and h2load: CPU per call, lag at a rate
	./bin/bench grpc $(BENCH)

bench-jmeter: bin/bench ## brunt jmeter compared with JMeter 5.6.3: CPU and memory of the book service's test plan; 15 minutes
	./bin/bench jmeter $(BENCH)

bench-scale: bin/bench ## a coordinator with 1 000 simulated workers, brunt merge of them, four workers next to one process; 5 minutes
	./bin/bench scale $(BENCH)

bench-inspect: build bin/causes ## the server's CPU and the p99 with and without --inspect, for each kind of server; four minutes
	./bin/causes -cost 4 -length 3s $(BENCH)

bench-report: ## a page and exports of 24 hours, a comparison of 20 runs with 20
	$(GO) test -run '^$$' -bench 'OfADay|BenchmarkRuns' -timeout 30m -p 1 ./internal/report ./internal/report/export ./internal/judge/compare

bench-balance: ## CPU per request for each balancing method
	$(GO) test -run '^$$' -bench BenchmarkBalance -benchtime 300000x -count 5 ./internal/engine/loop

bench-record: ## the cost of recording one sample
	$(GO) test -run '^$$' -bench Record -benchmem -count 5 ./internal/measure

test-picodata: ## brunt against a Picodata cluster, named by BRUNT_PICODATA_PG and BRUNT_PICODATA_IPROTO
	BRUNT_PICODATA_REQUIRED=1 $(GO) test -count=1 -timeout 30m -v ./test/acceptance/picodata

failover-etcd failover-postgres: failover-%: build ## the example: a cluster whose leader is stopped, or killed, under load; WRITE=1
	@$(ALIKE) $(GO) build -o bin/failover ./examples/failover
	./bin/failover $* $(if $(WRITE),-write docs/failover.md) || [ $$? = 98 ]

k6-examples: bin/examples ## k6's own examples under k6 and brunt: the table in docs/k6.md; about five minutes
	./bin/examples -write

test-clusters: ## outages and losses that brunt reports, compared with other clients'; on a quiet machine, 15 minutes; WRITE=1
	$(GO) test -count=1 -run TestOutagesOfCloseFaults ./test/acceptance -quiet
	$(GO) test -count=1 -timeout 60m -v ./test/acceptance/clusters $(if $(WRITE),-write) $(CLUSTERS)

kubernetes: ## the control plane of Kubernetes that test-kubernetes runs; ten minutes the first time
	@.ci/kubernetes

test-kubernetes: kubernetes ## brunt on a cluster of Kubernetes, as root; a few minutes
	$(ALIKE) $(GO) test -vet=off -count=1 -timeout 30m -v ./test/acceptance/kubernetes $(KUBERNETES)

pictures: build bin/pictures ## the pictures of reports in docs/images, on a quiet machine; four minutes
	./bin/pictures

verdict: build bin/situations ## whether the verdict is right, in situations whose truth is known; about 20 minutes
	./bin/situations $(VERDICT)

causes: build bin/causes ## whether the cause of slowness is named, in servers with a planted one; about fifteen minutes
	./bin/causes $(CAUSES)

fuzz: ## each fuzz target for FUZZTIME
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -parallel 2 $$package; \
		done; \
	done

clean:
	rm -rf bin dist .cache
	find . -name '*.test' -o -name '*.prof' | xargs -r rm -f
