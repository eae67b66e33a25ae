# SPDX-License-Identifier: Apache-2.0
# The commands of this project; meson and ninja do the work.  `make help` lists them.
#
# PREFIX and DESTDIR are read by `install`, BUILD names another build directory, CI turns
# warnings into errors and skipped tests into failures.
MESON  ?= meson
NINJA  ?= ninja
PREFIX ?= /usr/local
BUILD  ?= build
PYTHON ?= /usr/bin/python3
FUZZ_SECONDS ?= 60

WERROR := $(if $(CI),true,false)
CLEAN_DIRS := build build-asan build-fuzz build-install

# $(call built,DIR,MESON OPTIONS): DIR configured once, then up to date.
define built
	@test -e $(1)/build.ninja || $(MESON) setup $(1) -Dwerror=$(WERROR) $(2)
	@$(NINJA) -C $(1)
endef

.PHONY: all
all: ## build dependencies (asks before it installs: see tools/deps), then build/glovebox
	@tools/deps build
	$(call built,$(BUILD))

.PHONY: check
check: ## both builds, every suite, and the tally as the last line
	@tools/deps build check
	$(call built,$(BUILD))
	$(call built,$(BUILD)-asan,-Db_sanitize=address$(comma)undefined)
	@tools/check $(BUILD)

.PHONY: lint
lint: ## every lint test, clang-tidy on the whole tree, cppcheck
	@tools/deps build check
	$(call built,$(BUILD))
	@GLOVEBOX_LINT=full tools/check $(BUILD) lint

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZ_SECONDS with libFuzzer
	@tools/deps build check
	@test -e $(BUILD)-fuzz/build.ninja || CC=clang-14 $(MESON) setup $(BUILD)-fuzz \
		-Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	@$(NINJA) -C $(BUILD)-fuzz
	@tests/fuzz/run $(BUILD)-fuzz $(FUZZ_SECONDS)

.PHONY: format
format: ## apply .clang-format to every C file
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs -r clang-format-14 -i

.PHONY: install
install: ## install below DESTDIR and PREFIX; never installs packages
	@test -e $(BUILD)-install/build.ninja || $(MESON) setup $(BUILD)-install -Dtests=false
	@$(MESON) configure $(BUILD)-install -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) $(MESON) install -C $(BUILD)-install --strip

.PHONY: clean
clean: ## remove the build directories
	@rm -rf $(CLEAN_DIRS)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z]*\):.* ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

comma := ,
