# zbench: build and check. `make` lists the targets; CONTRIBUTING.md explains them.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
CC      ?= cc
CXX     ?= c++
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)
TOOL    := $(GO) tool -modfile=tools/go.mod

# All steps build with the flags of `make build`. With other flags the standard library and
# every package would be compiled a second time.
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath

# ccache keeps the compiled kernels and C. Without it, go build compiles them again for each variant of
# internal/native: with its tests, under the race detector, under the sanitizers, and for fuzzing.
CCACHE := $(firstword $(wildcard /usr/lib/ccache/g++ /usr/lib64/ccache/g++))
ifneq ($(CCACHE),)
ifeq ($(origin CXX)$(origin CC),defaultdefault)
export CXX := $(CCACHE)
export CC := $(dir $(CCACHE))gcc
export CCACHE_DIR := $(or $(CCACHE_DIR),$(shell $(GO) env GOCACHE)/ccache)
# ccache ignores these options, because go build puts the name of its temporary folder there.
export CCACHE_IGNOREOPTIONS := -ffile-prefix-map=* -fdebug-prefix-map=*
export CCACHE_SLOPPINESS := random_seed
export CCACHE_NOHASHDIR := 1
export CCACHE_NODIRECT := 1
endif
endif

# PURE are the packages that must build without C. NATIVE are the packages that use C.
PURE    := ./bench/... ./report/...
NATIVE  := ./internal/native ./rccl ./hbm/... ./internal/doctor ./test/schema
# How many changed texts each reader gets in `make check`, or a time such as 10m.
FUZZTIME ?= 5000

# How many steps of `make check`, `make system-test` and `make ci` run at once. Three steps keep two
# cores busy, because some steps wait often: a linker, a chroot, a cluster, a trainer.
JOBS ?= 3

# These packages compute in Go without unsafe pointers, so check-memory does not instrument them: that would
# take half of the time of the step.
PLAIN := zbench/bench/hardware/matrix zbench/bench/work/muon

UBSAN := -fsanitize=undefined -fno-sanitize-recover=undefined

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/zbench
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/zbench ./cmd/zbench

# The tests run with -vet=off, because `make check` vets once, and every test would vet again. The time limit
# allows for a busy machine, which takes several times as long as an idle one. GOGC is 400, because with the
# default the garbage collector took an eighth to a quarter of the time of simulation tests with heaps of a
# few MB. The test scripts pass GOGC on to zbench.
TEST := GOGC=$${GOGC:-400} $(GO) test -vet=off -timeout 30m

.PHONY: test
# One go command runs all packages, so that two commands do not compile the same package. ./cmd/zbench is first
# because its tests take longest. The number of packages that run at once is the number of cores plus one,
# because some tests wait.
test: ## Run the tests; offline once the modules are there
	$(TEST) -p $$(($$(nproc) + 1)) ./cmd/zbench ./internal/native ./...

# The copy has all files that git tracks or would add, in an empty folder. If this user is root, the tests run
# without root's rights in a user namespace, where the kernel allows one. So a test that needs root fails here
# and not on a user's machine.
.PHONY: test-clone
test-clone: ## make test like a user: in a fresh copy in an empty folder, without root and GOFLAGS
	copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; mkdir "$$copy/zbench"; \
	git ls-files -z --cached --others --exclude-standard --deduplicate | xargs -0 tar -c --ignore-failed-read | tar -x -C "$$copy/zbench"; \
	user=(); if [ "$$(id -u)" = 0 ] && unshare --user --map-user=1000 --map-group=1000 true; then user=(unshare --user --map-user=1000 --map-group=1000); fi; \
	env -u GOFLAGS -u ZBENCH_SHARED "$${user[@]}" $(MAKE) -C "$$copy/zbench" test

# Each step is a target of its own. Steps that fail soon come first, then long steps, so that no
# long step runs alone at the end.
CHECKS := check-format check-vet check-c check-pure check-long check-toolchain check-race check-lint check-fuzz check-memory check-data
SYSTEM_STEPS := system-test-cluster system-test-browser system-test-rocm system-test-cuda system-test-trainers system-test-headers

.PHONY: check
check: ## Run everything that can be checked without a browser
	@$(call steps,$(CHECKS))

# `make ci` runs for every change. All its steps are in one graph, so that no core is idle at the end of a
# target. Steps that fail soon come first. The steps that wait most come next, at the same time as the tests.
# Short steps come last and keep both cores busy until the end.
FIRST := check-format check-vet check-c system-test-trainers system-test-cluster test-clone check-long check-pure check-race system-test-rocm system-test-browser check-memory check-toolchain
CI_STEPS := $(FIRST) $(filter-out $(FIRST),$(CHECKS) $(SYSTEM_STEPS))

.PHONY: ci
ci: build ## make test in a fresh copy, and the steps of make check and make system-test, JOBS at once
	@$(call steps,$(CI_STEPS))

# The output of a step is printed in one piece when the step ends. If a step fails, its last line and make
# name it, and no other step begins.
steps = $(MAKE) --no-print-directory --output-sync=recurse $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS)) $(1:%=timed-%)
TIMED := $(patsubst %,timed-%,test-clone $(CHECKS) $(SYSTEM_STEPS))

.PHONY: $(TIMED)
$(TIMED): timed-%:
	@TIMEFORMAT='== $* took %0R s, %0U and %0S s of CPU'; time $(MAKE) --no-print-directory $* || { echo "== $* FAILED"; exit 1; }

.PHONY: check-format
check-format: ## gofumpt
	@bad=$$($(TOOL) gofumpt -l .); \
	if [ -n "$$bad" ]; then echo "not formatted (run: $(TOOL) gofumpt -w .):"; echo "$$bad"; exit 1; fi

# The build cache shares compiled C among checkouts, with the paths of the checkout that compiled it. vet and
# golangci-lint read the sources at these paths, and test-clone's copy no longer exists. So each
# checkout compiles with a flag of its own.
OWN := CGO_CPPFLAGS=-DZB_CHECKOUT_$(shell echo '$(CURDIR)' | cksum | cut -d' ' -f1)

.PHONY: check-vet
check-vet: ## C in one package only, and go vet's check of its calls; golangci-lint has go vet's other checks
	@with=$$($(GO) list -f '{{if .CgoFiles}}{{.ImportPath}}{{end}}' ./...); \
	if [ "$$with" != zbench/internal/native ]; then echo "only zbench/internal/native may import \"C\", but these do: $$with"; exit 1; fi
	$(OWN) $(GO) vet -cgocall ./internal/native

.PHONY: check-c
check-c: ## The C sources under strict warnings
	$(CC) -fsyntax-only -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wpedantic internal/native/unity.c
	$(CXX) -fsyntax-only -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra -Werror internal/native/unity.cc

.PHONY: check-lint
check-lint: ## golangci-lint with .golangci.yml
	$(OWN) $(TOOL) golangci-lint run ./...

.PHONY: check-toolchain
check-toolchain: ## The machine code of the C and the kernels, for the host and for GPUs; gpu-check on the loopback
	ZBENCH_TOOLCHAIN=1 $(TEST) -run '^TestToolchain' ./internal/native
	ZBENCH_TOOLCHAIN=1 $(TEST) -run '^TestScripts$$/^gpucheck' ./cmd/zbench
	$(MAKE) gpu-folder && GPU_FOLDER=$(CURDIR)/$(GPU_FOLDER) $(TEST) -run '^TestDryRun$$' ./test/gpu

# $(call having,TEXT) lists the packages whose tests contain TEXT, so that a step misses no package with such
# tests.
having = $(sort $(patsubst %/,./%,$(dir $(shell grep -rl --include='*_test.go' '$(1)' [a-z]*))))
LONG = $(call having,longtest\.Only)

.PHONY: check-long
check-long: ## The tests that take seconds each, which make test leaves out
	ZBENCH_LONG=1 $(TEST) -run '^TestLong|^TestScripts$$' $(LONG)

# Published files of other projects are not part of this project. A clone does not have them and skips this
# step.
SHARED ?= $(or $(ZBENCH_SHARED),$(wildcard ../shared))

.PHONY: check-data
check-data: ## The tests that read published files of others, in SHARED (../shared); skipped without these files
	@$(if $(SHARED),ZBENCH_SHARED=$(abspath $(SHARED)) $(TEST) -run '^TestData' $(call having,project\.Published),echo "SKIPPED: no published files; set SHARED to their folder")

.PHONY: check-race
check-race: ## The tests under the race detector, of the packages that start goroutines
	packages=$$(scripts/raceable.sh); $(TEST) -race -short $$packages

# If a package has the same files with and without cgo, it is the same program, so its tests need not run twice.
.PHONY: check-pure
check-pure: ## The core and the reports build without cgo; they and their tests are the same files with and without
	CGO_ENABLED=0 $(GO) build $(PURE)
	@files() { CGO_ENABLED=$$1 $(GO) list -deps -test -f \
		'{{if not .Standard}}{{.ImportPath}} {{.GoFiles}} {{.CgoFiles}} {{.SFiles}} {{.TestGoFiles}} {{.XTestGoFiles}}{{end}}' $(PURE); }; \
	with=$$(files 1) && without=$$(files 0) && diff <(echo "$$with") <(echo "$$without") || { echo "a package of $(PURE) needs cgo"; exit 1; }

.PHONY: check-memory
check-memory: ## The C under the address and undefined-behaviour sanitizers, which check unsafe pointers of Go, too
	CGO_CFLAGS='-O1 -g $(UBSAN)' CGO_LDFLAGS='$(UBSAN)' $(TEST) -asan -short $(PLAIN:%=-gcflags='%=-asan=false -d=checkptr=0') $(NATIVE)

.PHONY: check-fuzz
check-fuzz: ## All readers of text on FUZZTIME changed texts each (5000, or a time)
	scripts/fuzz.sh $(FUZZTIME)

# The steps keep fetched files in ZBENCH_CHROOTS (~/.cache/zbench/chroots) and use them again.
.PHONY: system-test
system-test: build ## The built binary in a browser, and against the vendors' headers, libraries and compilers
	@$(call steps,$(SYSTEM_STEPS))

.PHONY: system-test-browser
system-test-browser: build ## The built binary's report in Chromium
	test -x /usr/bin/chromium || scripts/install.sh chromium
	out=$$(mktemp -d); trap 'rm -rf "$$out"' EXIT; \
	echo '--overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer --ddp-bucket-size 40000000' > "$$out/train.sh"; \
	bin/zbench collectives --nodes 128 --config "$$out/train.sh" --preset zaya1-base --tokens-per-microbatch 16384 --tflops 250 \
		--out "$$out/run" > "$$out/stdout"; \
	code=0; bin/zbench collectives --nodes 8 --fault hang:node=5,gpu=3,bytes=1e6,launch=2 --out "$$out/hung" > "$$out/stdout" 2>&1 || code=$$?; \
	if [ "$$code" != 1 ]; then echo "a sweep that hangs exited with $$code, not 1"; exit 1; fi; \
	bin/zbench hbm --backend loopback --size 8M --max-time 0.02 --sweep --out "$$out/hbm" > "$$out/stdout"; \
	bin/zbench kernels rmsnorm --backend loopback --rows 3 --hidden 64,4097 --out "$$out/norm" > "$$out/stdout"; \
	bin/zbench kernels muon --backend loopback --shape 65x130x2 --shape 96x40 --out "$$out/muon" > "$$out/stdout"; \
	bin/zbench collectives --nodes 8 --scale 1,2,4 --groups 2,4,8 --strides 2,8 -f 4 --out "$$out/scale" > "$$out/stdout"; \
	bin/zbench import testdata/logs/algo_proto.log --out "$$out/import" > "$$out/stdout"; \
	slow='--fault dip:from=16e6,to=17e6,times=1.1'; \
	bin/zbench bisect all_reduce all_gather --backend loopback -g 8 -b 4M -e 64M --place out -c 0 --max-time 0.002 -q --out "$$out/bisect" \
		--variant 7.0= --variant 7.1= --variant "7.2=$$slow" --variant "7.3=$$slow" --variant 'broken=--backend rocm --rccl-lib /nonexistent' > "$$out/stdout"; \
	code=0; bin/zbench screen --backend loopback --nodes 16 --fault slow_hbm:node=3,gpu=5,left=0.85 --out "$$out/screen" > "$$out/stdout" 2>&1 || code=$$?; \
	if [ "$$code" != 3 ]; then echo "a screen with a bad node exited with $$code, not 3"; exit 1; fi; \
	axe=$$(scripts/axe.sh); export ZBENCH_AXE=$$axe; \
	mkdir "$$out/pages"; ZBENCH_PAGES="$$out/pages" $(TEST) -count=1 -run 'NormPage|StreamPage|MuonPage$$|ScreenPage' ./report; \
	cd test/browser; $(GO) test -c -o ../../bin/browser.test .; \
	look() { for page in "$${@:3}"; do pages+=("$$1@$$2@$$out/$$page.html"); done; }; \
	look 'TestLooks|TestAxe$$|TestFirst' none hbm/report norm/report muon/report pages/hbm-timed-true pages/rmsnorm-timed-true pages/rmsnorm-timed-false pages/muon-timed; \
	look . 'SeeFaults|TroubleIsSeen' run/report; \
	look 'TestLooks|TestAxe|TestFirst|TestScreens|SeeFaults|TroubleIsSeen' none import/report; \
	look 'TestLooks|TestAxe$$|TestFirst|TestScreens' none hung/report scale/report bisect/report; \
	look 'TestLooks|TestAxe$$|TestScreens|TestSimulated' none screen/report pages/screen; \
	IFS=:; ZBENCH_REPORT="$${pages[*]}" ../../bin/browser.test

# Outside CI, a step is skipped with a message if the machine cannot fetch files (no root, no network).
FETCH = fetch() { "$$@" || { [ -z "$${CI:-}" ] && echo "SKIPPED: $$* failed" >&2; }; }

.PHONY: system-test-headers
system-test-headers: ## The symbol list against the real headers of HIP, RCCL, rocBLAS, hipBLASLt, CUDA, NCCL, cuBLAS and NVML
	@$(FETCH); rocm=$$(fetch scripts/chroot.sh trixie); sid=$$(fetch scripts/chroot.sh sid); rocm7=$$(fetch scripts/chroot.sh rocm7); cuda11=$$(fetch scripts/cuda.sh bookworm); cuda12=$$(fetch scripts/cuda.sh trixie); \
	ZBENCH_ROCM_INCLUDE=$${rocm:+$$rocm/usr/include} ZBENCH_ROCM7_INCLUDE=$${rocm7:+$$rocm7/usr/include} ZBENCH_HIPBLASLT_INCLUDE=$${sid:+$$sid/usr/include} \
	ZBENCH_CUDA11_INCLUDE=$${cuda11:+$$cuda11/usr/include} ZBENCH_CUDA12_INCLUDE=$${cuda12:+$$cuda12/usr/include} \
		ZBENCH_SYSTEM_TEST=$${CI:-} $(TEST) -count=1 -run Headers ./internal/native

.PHONY: system-test-rocm
system-test-rocm: build ## zbench on the real librccl and HIP; every kernel through hiprtc 5.7 and 6
	@$(FETCH); trixie=$$(fetch scripts/chroot.sh trixie); sid=$$(fetch scripts/chroot.sh sid); \
	ZBENCH=$(CURDIR)/bin/zbench ZBENCH_TRIXIE=$$trixie ZBENCH_SID=$$sid ZBENCH_PLACES=ZBENCH_TRIXIE,ZBENCH_SID \
		$(TEST) -count=1 ./test/libraries

.PHONY: system-test-cuda
system-test-cuda: build ## zbench on the real libnccl, CUDA runtime and driver library; every kernel through nvrtc 11.8 and 12.4
	@$(FETCH); cuda11=$$(fetch scripts/cuda.sh bookworm); cuda12=$$(fetch scripts/cuda.sh trixie); \
	ZBENCH=$(CURDIR)/bin/zbench ZBENCH_CUDA11=$$cuda11 ZBENCH_CUDA12=$$cuda12 ZBENCH_PLACES=ZBENCH_CUDA11,ZBENCH_CUDA12 \
		$(TEST) -count=1 ./test/libraries

.PHONY: system-test-trainers
system-test-trainers: build ## Real PyTorch on the loopback, compared with gloo over links of a known rate
	@command -v tc >/dev/null || scripts/install.sh iproute2
	@$(FETCH); torch=$$(fetch scripts/chroot.sh $(or $(TORCH),torch)); \
	ZBENCH=$(CURDIR)/bin/zbench ZBENCH_TORCH=$$torch $(TEST) -timeout 60m -count=1 ./test/trainers

.PHONY: system-test-cluster
system-test-cluster: build ## zbench under the real Slurm (8 nodes) and Open MPI, and in network namespaces
	@$(FETCH); ready=$$(fetch scripts/slurm.sh install); \
	$(GO) test -c -o bin/cluster.test ./test/cluster; cd test/cluster; \
	if [ -n "$$ready" ]; then ZBENCH=$(CURDIR)/bin/zbench ../../scripts/slurm.sh 8 ../../bin/cluster.test -test.timeout 30m; fi

.PHONY: release
release: ## A tar.gz, a deb and an rpm with manual pages and completions, and checksums, in dist
	scripts/release.sh dist

.PHONY: release-check
release-check: ## Two builds of HEAD are equal; packages are installed and removed in clean chroots; as root
	scripts/release-check.sh

.PHONY: loopback
loopback: ## The loopback as shared libraries with the vendors' names, in bin/loopback
	scripts/loopback.sh bin/loopback

.PHONY: gpu-check
gpu-check: build ## On a machine with a GPU: check that everything runs and that the results are right. FLAGS='--lib-path DIR …'
	scripts/gpu-check.sh bin/zbench $(FLAGS)

# bin/gpu-compare is a program to copy to a machine that has a GPU but no Go.
.PHONY: bin/gpu-compare
bin/gpu-compare:
	$(GO) test -c -o $@ ./test/gpu

.PHONY: gpu-compare
gpu-compare: build bin/gpu-compare ## On a machine with a GPU: compare zbench with BabelStream, torch, the vendor's BLAS, Liger and nccl-tests, by turns. FLAGS as above
	ZBENCH=$(CURDIR)/bin/zbench ZBENCH_FLAGS='$(FLAGS)' scripts/gpu-compare.sh bin/gpu-compare

# The folder to copy to a machine with a GPU must stay below 64 MiB; GPU_MIB leaves a margin. PEERS=DIR has
# clones of the programs with which zbench is compared. Their sources are copied and built on that machine.
GPU_FOLDER := bin/gpu
GPU_MIB    := 54
.PHONY: gpu-folder
gpu-folder: ## The folder to copy to a machine with a GPU, in bin/gpu: gpu-call.sh runs the checks there. PEERS=DIR with BabelStream, nccl-tests, Liger-Kernel
	rm -rf $(GPU_FOLDER); mkdir -p $(GPU_FOLDER)/peers
	$(GO) build -ldflags '$(LDFLAGS)' -o $(GPU_FOLDER)/zbench ./cmd/zbench
	$(GO) test -c -ldflags '-s -w' -o $(GPU_FOLDER)/gpu-compare ./test/gpu
	cp scripts/gpu-*.sh $(GPU_FOLDER)
	for part in BabelStream/src nccl-tests/src nccl-tests/os nccl-tests/verifiable Liger-Kernel/src; do \
		if [ -d "$(PEERS)/$$part" ]; then mkdir -p $(GPU_FOLDER)/peers/$$(dirname $$part); cp -r "$(PEERS)/$$part" $(GPU_FOLDER)/peers/$$(dirname $$part); \
		else echo "PEERS has no $$part: what needs it will be NOT CHECKED"; fi; done
	size=$$(du -sm $(GPU_FOLDER) | cut -f1); echo "$(GPU_FOLDER): $$size MiB"; [ "$$size" -le $(GPU_MIB) ]

.PHONY: experiments
experiments: ## The experiments of docs/EXPERIMENTS.md at full size, 100 and 1,000 seeds
	$(GO) test ./test/experiments ./test/planted -run Full -v -timeout 60m -args -full

# How long `make soak-sweeps` runs. malloc uses one arena, because the memory that several arenas keep for reuse
# looks like a leak.
SOAK ?= 10m

# How many nodes of 8 processes `make soak-cluster` simulates.
SOAK_NODES ?= 128

.PHONY: soak-cluster
soak-cluster: build ## 1,024 processes under the real Slurm on 128 nodes (SOAK_NODES): results as in one process; seconds and memory are printed
	scripts/slurm.sh install; $(GO) test -c -o bin/cluster.test ./test/cluster; cd test/cluster; \
	ZBENCH=$(CURDIR)/bin/zbench ZBENCH_SOAK=1 ../../scripts/slurm.sh $(SOAK_NODES) ../../bin/cluster.test -test.run TestSoakCluster -test.v -test.timeout 90m

.PHONY: soak-sweeps
soak-sweeps: soak-cluster ## The cluster, then random sweeps with random faults, interrupted and resumed, for SOAK (10m)
	MALLOC_ARENA_MAX=1 $(GO) test ./cmd/zbench -timeout 0 -run TestSoak -v -args -soak $(SOAK)

# How many sweeps `make soak-kills` disturbs, the seed of the first sweep, and how many sweeps run at once.
# SOAK=10m ends the run earlier.
SCHEDULES ?= 1000
FIRST_SCHEDULE ?= 0
AT_ONCE ?= 8

.PHONY: soak-kills
soak-kills: SOAK = 24h
soak-kills: ## Sweeps of 1 to 16 processes that are killed, frozen, interrupted, or meet a full disk or a clock that steps, and are resumed (SCHEDULES)
	$(GO) test ./cmd/zbench -timeout 0 -parallel $(AT_ONCE) -run TestSoakDisturbed -v -args -schedules $(SCHEDULES) -first-schedule $(FIRST_SCHEDULE) -soak $(SOAK)

.PHONY: bench
bench: ## Go benchmarks, with allocations
	$(GO) test -run '^$$' -bench . -benchmem -count 6 ./...
