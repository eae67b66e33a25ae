# SPDX-License-Identifier: Apache-2.0
# The commands of this project; meson and ninja do the work.  `make help` lists them.
#
# PREFIX and DESTDIR are read by `install`, MODEL by `eval`, BUILD names another build directory, CI turns
# warnings into errors and skipped tests into failures.
MESON  ?= meson
NINJA  ?= ninja
PREFIX ?= /usr/local
BUILD  ?= build
FUZZ_SECONDS ?= 60
LIVE_SECONDS ?= 120
export MODEL

WERROR := $(if $(CI),true,false)
sanitize := -Db_sanitize=address,undefined
CLEAN_DIRS := $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-analyzer $(BUILD)-fuzz $(BUILD)-install

# $(call built,DIR,MESON OPTIONS,ENVIRONMENT): DIR configured once, then up to date.
define built
	@test -e $(1)/build.ninja || { mkdir -p $(1) && echo "configuring $(1)" && \
		$(3) $(MESON) setup $(1) $(2) >$(1)/setup.log || { cat $(1)/setup.log; exit 1; }; }
	@if [ -t 1 ] && [ -z "$(CI)" ]; then $(NINJA) -C $(1); else $(NINJA) -C $(1) --quiet; fi
endef

.PHONY: all
all: ## what is missing of the build dependencies, then build/glovebox
	@tools/deps build
	$(call built,$(BUILD),-Dwerror=$(WERROR))
	$(if $(filter-out all,$(MAKECMDGOALS)),,@echo "$(BUILD)/glovebox is ready; next: make demo")

.PHONY: check
check: ## both builds, every suite, and the tally as the last line
	@tools/deps build check model
	$(call built,$(BUILD),-Dwerror=$(WERROR))
	$(call built,$(BUILD)-asan,-Dwerror=$(WERROR) $(sanitize))
	@tools/check $(BUILD)

.PHONY: demo
demo: all ## from a task to tested code in five scenes: no key, no Docker, no network
	@tools/demo $(BUILD)/glovebox $(BUILD)/demo

.PHONY: demo-live
demo-live: all ## a small task with a real small model, which often fails at it; LIVE_SECONDS at most
	@tools/deps model
	@tools/demo-live $(BUILD)/glovebox $(LIVE_SECONDS)

.PHONY: eval
eval: all ## tiny tasks solved by one shot, by the loop, by best of N; MODEL=PROVIDER/NAME for another model
	@tools/deps model
	@tools/eval $(BUILD)/glovebox $(EVAL)

.PHONY: tour
tour: all ## what `glovebox exec` does with programs that mean harm
	@tools/tour $(BUILD)/glovebox

.PHONY: bench
bench: ## this program and its peers, interleaved in one run; exit 1 if a target is missed
	@tools/deps build bench
	$(call built,$(BUILD),-Dwerror=$(WERROR))
	@bench/run $(BUILD)/glovebox

.PHONY: lint
lint: ## every lint test, clang-tidy on the whole tree, cppcheck
	@tools/deps build check
	$(call built,$(BUILD),-Dwerror=$(WERROR))
	@GLOVEBOX_LINT=full tools/check $(BUILD) lint

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZ_SECONDS with libFuzzer
	@tools/deps build check
	$(call built,$(BUILD)-fuzz,-Dfuzz=true $(sanitize) -Db_lundef=false,CC=clang-14)
	@tests/fuzz/run $(BUILD)-fuzz $(FUZZ_SECONDS)

.PHONY: proof
proof: ## TSan, valgrind, gcc -fanalyzer, boxes with full counts and exact times: long, for a quiet machine
	@tools/deps build check
	$(call built,$(BUILD),-Dwerror=$(WERROR))
	$(call built,$(BUILD)-tsan,-Db_sanitize=thread -Db_lundef=false)
	@tools/proof $(BUILD)

.PHONY: format
format: ## apply .clang-format to every C file
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs -r clang-format-14 -i

.PHONY: install
install: ## install below DESTDIR and PREFIX; never installs packages
	$(call built,$(BUILD)-install,-Dtests=false)
	@$(MESON) configure $(BUILD)-install -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) $(MESON) install -C $(BUILD)-install --strip

.PHONY: clean
clean: ## remove the build directories
	@rm -rf $(CLEAN_DIRS)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12
