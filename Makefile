# "make run" and "make test" do everything a visitor needs; "make help" lists the rest.
# What is longer than three lines is a script in tools/.

PREFIX  ?= /usr/local
# mount(8) looks for its helpers in /sbin and nowhere else; a Debian package says /usr/sbin.
MOUNT_SBINDIR ?= /sbin
FUZZTIME ?= 30s
GO ?= go

export PREFIX MOUNT_SBINDIR FUZZTIME DESTDIR DIR DEVICES FLAGS TESTFLAGS

# Go fails to build where git will not answer (another user's checkout, no commit yet).
ifneq ($(shell git rev-parse -q --verify HEAD >/dev/null 2>&1 && echo yes),yes)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

.PHONY: help build run test race check lint locks fmt fuzz golden docs bench scale cover install uninstall clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-10s %s\n", $$1, $$2}' Makefile

build: ## bin/sysfsd, static
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/sysfsd ./cmd/sysfsd

run: build ## mount this machine's devices, or DEVICES=100000 made up ones, at DIR until Ctrl-C (FLAGS: more flags)
	@tools/run

test: ## every test, real mounts and devices too; as root installs what they need (TESTFLAGS: more flags)
	@tools/test

race: ## every test of every package, and the daemon, under the race detector
	@SYSFSD_RACE=1 tools/gotest -race $(TESTFLAGS) ./...

check: lint locks race ## the gate before a commit: lint, locks, race, and tests on one processor
	@GOMAXPROCS=1 tools/gotest $(TESTFLAGS) ./...

lint: ## go vet, gofumpt, staticcheck, golangci-lint
	@tools/lint

locks: ## the lock rules, by checklocks
	$(GO) vet -vettool="$$(tools/tool checklocks)" -inferred=false ./...

fmt: ## gofumpt and import order, in place
	"$$(tools/tool golangci-lint)" fmt ./...

fuzz: ## each Fuzz target in turn for FUZZTIME
	@tools/fuzz

golden: ## write the golden files again from what the code says now
	@tools/golden

docs: ## docs/attributes.md and whatever go generate makes
	$(GO) generate ./...
	@tools/golden ./attr

bench: ## Go benchmarks of every package
	$(GO) test -vet=off -run '^$$' -bench . -benchmem -timeout 60m $(TESTFLAGS) ./...

scale: ## tests/ with the numbers of the design, 100,000 devices and more
	SYSFSD_SCALE=1 $(GO) test -vet=off -count=1 -v -timeout 60m $(TESTFLAGS) ./tests/...

cover: ## coverage of every package by every test: cover.out
	$(GO) test -vet=off -count=1 -coverpkg=./... -coverprofile=cover.out $(TESTFLAGS) ./...
	$(GO) tool cover -func=cover.out | tail -n 1

install: build ## below DESTDIR and PREFIX: binary, mount.sysfsd, systemd units, man pages, completions
	@tools/install

uninstall: ## remove what install put there
	@tools/install -u

clean: ## what make built here
	rm -rf bin cover.out
