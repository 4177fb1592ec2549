# Everything a fresh Debian machine with Rust needs: `make demo` and `make test` install the rest.

CARGO ?= cargo
OUT ?= out
# What is measured and packaged, built as quick as it can be.
DIST = target/dist/bentpipe
# The program of the tests. Who has just built it, as `make test` has, says so: `BUILT=yes` builds no other one, of which the
# features of dependencies would differ.
DEBUG = target/debug/bentpipe
BUILT ?= no
build-debug = @[ $(BUILT) = yes ] || $(CARGO) build --locked -p bentpipe-cli

.PHONY: page test-page bench-page deny dist demo test test-python storms twins fuzz test-deb deb interop sctp-table bench validate validate-kernel validate-kernel-part lint msrv docs site fmt setup setup-all programs clean

# Four protocols over three links: a table on the terminal, figures on a page, opened where there is a display. Only what it
# needs is built, by a profile that is quick to build, unless `BUILT=yes`: then it is the program of the tests.
demo:
	@[ $(BUILT) = yes ] || $(CARGO) build --profile demo --locked -p bentpipe-cli --no-default-features --features sim
	@mkdir -p $(OUT)
	$(if $(filter yes,$(BUILT)),$(DEBUG),target/demo/bentpipe) demo --out $(OUT)/demo.html

dist:
	@sh .ci/page 'the program will have no `serve`'
	$(CARGO) build --profile dist --locked -p bentpipe-cli

# A first build takes ten minutes: what makes a second one quicker is left out, unless the environment says otherwise.
test: export CARGO_INCREMENTAL ?= 0
test: export CARGO_PROFILE_DEV_DEBUG ?= false
test: setup
	@sh .ci/page 'its tests will be skipped'
	CARGO="$(CARGO)" sh .ci/tests
	sh .ci/test-faces $(DEBUG)

# The Python package alone.
test-python: setup
	sh .ci/test-python

# The page of `bentpipe serve`, which a build puts into the program. Needs npm.
PAGE = web/dist/index.html
PAGE_SOURCES := $(shell find web/src web/public web/index.html web/vite.config.ts web/tsconfig.json web/package-lock.json crates/cli/data -type f)

page: $(PAGE)

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci
	@touch $@

$(PAGE): web/node_modules/.package-lock.json $(PAGE_SOURCES)
	cd web && npm run build

# The page in Chromium, tab by tab, wide in the light and narrow in the dark, with `EVERY_LOOK=yes` the other ways round as well;
# pictures of it are in web/test-results/pictures. Where one of the two is missing it says so.
CHROMIUM ?= /usr/bin/chromium

test-page:
	@sh .ci/install-tools $(CHROMIUM):chromium
	$(build-debug)
	@if [ ! -e $(PAGE) ]; then echo "there is no page: its tests are skipped"; \
	elif [ ! -e $(CHROMIUM) ]; then echo "there is no Chromium: the tests of the page are skipped"; \
	else cd web && CHROMIUM=$(CHROMIUM) npx playwright test; fi

# How quick the page is on this machine.
bench-page: page
	@sh .ci/install-tools $(CHROMIUM):chromium
	$(CARGO) build --release --locked -p bentpipe-cli
	cd web && BENTPIPE=../target/release/bentpipe CHROMIUM=$(CHROMIUM) npx playwright test --config bench/playwright.config.ts

# Storms in virtual time, and file transfers on real disks that are broken off at random, a thousand times.
STORM_MINUTES ?= 10

storms: dist
	$(DIST) storm --minutes $(STORM_MINUTES)
	BENTPIPE_TRANSFER_STORMS=1000 $(CARGO) test --locked -p bentpipe-net --test transfer_storms

# The gateways in the simulator beside the same programs over the emulator. Needs root; takes half an hour.
twins:
	bash bench/twins.sh

# Every fuzz target for a number of executions, with coverage. No sanitizer: there is no unsafe code.
CARGO_FUZZ = 0.13.2
FUZZ_RUNS ?= 1000000

fuzz:
	@$(CARGO) fuzz --version 2>/dev/null | grep -q '$(CARGO_FUZZ)' || \
		$(CARGO) install --locked cargo-fuzz --version $(CARGO_FUZZ)
	cd fuzz && for target in $$($(CARGO) fuzz list); do \
		RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run -s none -O $$target -- -runs=$(FUZZ_RUNS) -max_len=1500 || exit 1; done

# 100 MB in each direction between this SCTP and usrsctp.
interop: setup
	BENTPIPE_USRSCTP_MB=100 $(CARGO) test --locked -p bentpipe-net --test usrsctp

# A Debian package, with the notices of those whose work is in it.
DEB = $(OUT)/bentpipe.deb

deb: page dist
	sh packaging/deb.sh $(DEB)

# Installs the package here, checks it and removes it. Needs root, and is no part of `make test`: it has to
# build the program for a release first.
test-deb: deb
	sh packaging/test-deb.sh $(DEB)

# Speed of the parts and of whole runs; prints packet-hops per CPU second.
bench:
	$(CARGO) bench --locked -p bentpipe-orbit --bench step
	$(CARGO) bench --locked -p bentpipe-cli

# TCP over a geostationary link, beside what ns-2.35 gives.
validate:
	$(CARGO) run --profile dist --locked -p bentpipe-experiments --example validate

# TCP beside that of the kernel over the emulator, point by point, with plots in out/kernel. Needs root; takes two hours
# with five seeds.
KERNEL_SEEDS ?= 5
KERNEL_POINTS ?= .

validate-kernel: dist
	@.venv/bin/python -c 'import matplotlib' 2>/dev/null || sh .ci/install-python matplotlib==3.10.8 'there will be no plots'
	python=.venv/bin/python; $$python -c 'import matplotlib' 2>/dev/null && plots="--plots $(OUT)/kernel" || python=python3; \
		$$python bench/kernel/validate.py --seeds $(KERNEL_SEEDS) --only '$(KERNEL_POINTS)' $$plots

# The part of it that runs in CI: a minute. BENTPIPE names a program that is built already.
validate-kernel-part:
	@[ -n "$(BENTPIPE)" ] || $(MAKE) --no-print-directory dist
	BENTPIPE=$(abspath $(or $(BENTPIPE),$(DIST))) python3 bench/kernel/validate.py --seeds 1 --jobs 3 --if-possible \
		--only 'LEO 20, 1 BDP, clean|GEO 10, 1 BDP, (100|1000) kB'

# SCTP with small receive buffers over a geostationary and a LEO link.
sctp-table:
	$(CARGO) run --profile dist --locked -p bentpipe-experiments --example sctp_windows

# Licences, sources and doubled versions of what is depended on. It runs once for each time it is built: to optimize it would take longer.
CARGO_DENY = 0.18.9

deny:
	@$(CARGO) deny --version 2>/dev/null | grep -q '$(CARGO_DENY)' || \
		$(CARGO) install --debug --locked cargo-deny --version $(CARGO_DENY)
	$(CARGO) deny check licenses bans sources

# Parts of the command that must build by themselves: the demo's, and those of hosts without the simulator. With the workspace and one
# test beside them dependencies have the features that they have anyway, and are not checked once more for each part.
FEATURES = sim gateway top serve

lint: deny
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	for features in $(FEATURES); do \
		$(CARGO) clippy --workspace --lib --bins --test docs --locked --no-default-features --features bentpipe-cli/$$features -- -D warnings \
			|| exit 1; done
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet

# Whether the oldest Rust that is promised builds it: `rustup toolchain install VERSION` first, unless it is the one in use, which
# `make lint` tries.
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

msrv:
	@if rustc --version | grep -q ' $(MSRV)\.'; then echo "Rust $(MSRV) is in use: make lint tries it"; else \
		rustup run $(MSRV) cargo check --workspace --all-targets --locked --target-dir target/msrv; fi

# The documentation of the crates, and the site.
docs: site
	$(CARGO) doc --workspace --no-deps --locked
	@echo "Open $(OUT)/site/index.html; the crates are in target/doc/bentpipe_transport/index.html"

site-installed = .venv/bin/python -c 'import material' 2>/dev/null || sh .ci/install-python mkdocs-material==9.8.2 'the site cannot be built'

# The pages of docs/ with search, a page of the commands, and links and anchors checked.
site:
	@$(site-installed)
	$(build-debug)
	@if .venv/bin/python -c 'import material' 2>/dev/null; then NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet; \
		else echo "skipped: the site, as mkdocs-material is not installed"; fi

fmt:
	$(CARGO) fmt --all

# tshark judges the packet captures, ip, unshare and nft make the networks of the emulator and the gateway, Skyfield judges the
# orbits, pyd3tn the bundles; usrsctp is the stack that SCTP is tested against; curl, nginx, git, OpenSSH, rsync and strongSwan work through the gateway. Where
# they cannot be installed the tests that need them say so and pass on.
setup:
	@sh .ci/install-tools tshark:tshark ip:iproute2 unshare:util-linux nft:nftables curl:curl /usr/include/usrsctp.h:libusrsctp-dev \
		/usr/sbin/nginx:nginx-light git:git ssh:openssh-client /usr/sbin/sshd:openssh-server rsync:rsync openssl:openssl \
		direwolf:direwolf charon-systemd:charon-systemd swanctl:strongswan-swanctl \
		/usr/lib/ipsec/plugins/libstrongswan-openssl.so:libstrongswan-standard-plugins \
		/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so:libcharon-extra-plugins
	@.venv/bin/python -c 'import skyfield' 2>/dev/null || \
		sh .ci/install-python skyfield==1.55 'the test of satellite positions against it will be skipped'
	@.venv/bin/python -c 'import pyd3tn' 2>/dev/null || \
		sh .ci/install-python pyd3tn==0.15.2 'the tests of bundles against it will be skipped'
	@.venv/bin/python -c 'import maturin, mypy, pytest' 2>/dev/null || \
		sh .ci/install-python -rcrates/python/tests/requirements.txt 'the tests of the Python package will be skipped'

# What `.ci/run` needs of it, Chromium and the site's packages.
setup-all: setup
	@sh .ci/install-tools $(CHROMIUM):chromium npm:npm node:nodejs
	@$(site-installed)

# What bench/programs.sh needs besides.
programs: setup
	@sh .ci/install-tools chromium:chromium python3:python3

clean:
	$(CARGO) clean
	rm -rf $(OUT)
