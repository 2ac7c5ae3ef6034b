# Two commands do everything: `make replicate` and `make test`.
# Both first build .venv from the hash-pinned lock (requirements/cpu.lock, or LOCK=requirements/gpu.lock).
SHELL  := /bin/bash
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(not (3,11) <= sys.version_info[:2] <= (3,13))' 2>/dev/null && { echo $$p; break; }; done)
LOCK   ?= requirements/cpu.lock
SCALE  ?= laptop
CORES  ?= 2
BIN    := .venv/bin
# named after what it was built from: another lock or another Python builds it anew
STAMP  := .venv/installed-$(basename $(notdir $(LOCK)))-$(shell $(PYTHON) -c 'import platform; print(platform.python_version())' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help environment replicate test plan compare docs summary lock clean

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

environment: $(STAMP) ## build .venv from the lock

$(STAMP): $(LOCK)
	@case "$(CURDIR)" in *[[:space:]]*) echo "the path of this folder has a space, which Snakemake cannot run scripts from: $(CURDIR). Move it." >&2; exit 1;; esac
	@if [ -z "$(PYTHON)" ]; then echo "leakmeter needs Python 3.11, 3.12 or 3.13; found: $$(python3 --version 2>&1 || echo none). Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; fi
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3,11) <= v <= (3,13) else "leakmeter needs Python 3.11, 3.12 or 3.13; $(PYTHON) is %d.%d. Name another: make PYTHON=/path/to/python3.12" % v)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) has no venv module; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@echo "== building .venv with $$($(PYTHON) --version) from $(LOCK) (about 2 minutes)"
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --disable-pip-version-check --no-deps --require-hashes --progress-bar off -r $(LOCK) | grep -E --line-buffered '^(Collecting|Installing|Successfully|ERROR)' | cut -c1-100; exit $${PIPESTATUS[0]}
	@$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps --no-build-isolation -e .
	@echo "== compiling bytecode"
	@$(BIN)/python -m compileall -q -j 0 .venv/lib src workflow/scripts >/dev/null 2>&1 || true
	@touch $@

CONFIG  = config/$(if $(filter laptop,$(SCALE)),config,$(SCALE)).yaml

replicate: $(STAMP) ## run a scale: make replicate [SCALE=smoke|laptop|paper] [CORES=n]
	@[ -f $(CONFIG) ] || { echo "no scale $(SCALE): there is no $(CONFIG)" >&2; exit 1; }
	@$(BIN)/snakemake --cores $(CORES) --configfile $(CONFIG)

test: $(STAMP) ## every check: lint, unit tests, the smoke scale end to end
	@$(BIN)/python -m pytest

plan: $(STAMP) ## what a scale will cost: make plan SCALE=paper [RECORDED=results/laptop] [NODE=GB]
	@$(BIN)/python -m leakmeter.reporting.plan plan config/$(if $(filter laptop,$(SCALE)),config,$(SCALE)).yaml $(if $(RECORDED),--recorded $(RECORDED)) $(if $(NODE),--node $(NODE))

compare: $(STAMP) ## which cells moved: make compare A=results/laptop B=/other/results/laptop [OUT=cells.csv]
	@if [ -z "$(A)" ] || [ -z "$(B)" ]; then echo "name two result folders: make compare A=results/laptop B=/other/results/laptop" >&2; exit 2; fi
	@$(BIN)/python -m leakmeter.reporting.compare $(A) $(B) $(if $(OUT),--out $(OUT)) || [ $$? = 1 ]

docs: $(STAMP) ## write config/README.md from the schema, README.md's blocks from docs/ and the rules
	@$(BIN)/python -c 'import yaml; from leakmeter.runtime import write_text; from leakmeter.workflow import config_markdown; write_text("config/README.md", config_markdown(yaml.safe_load(open("workflow/schemas/config.schema.yaml"))))'
	@$(BIN)/python -m leakmeter.reporting.summary readme

summary: $(STAMP) ## keep a finished run in docs/ and resources/benchmarks/, then README.md from it
	@$(BIN)/python -m leakmeter.reporting.plan record results/$(SCALE)
	@$(BIN)/python -m leakmeter.reporting.summary take results/$(SCALE)

lock: ## resolve requirements/*.lock anew (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --extra cpu --extra cluster --extra test pyproject.toml -o requirements/cpu.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --extra gpu --extra cluster --extra test pyproject.toml -o requirements/gpu.lock

clean: ## remove results and the environment
	rm -rf results .snakemake .venv
