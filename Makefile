# Each target sets up all it needs in .venv; a second run only does what has changed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(shell find src/core -name "*.?pp")
EXTRAS ?= test,lint,plot
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# A compiler cache, if there is one, makes the second build of a core short.
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(shell command -v ccache)
# Tests start many processes: compiled modules are kept for them, also where the environment says not to.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test docs lint format coverage sanitize fuzz benchmark wheel clean

# The library, matplotlib and pandas; the tools of development are installed by the other targets.
demo: $(VENV)/demo
	$(BIN)/python -m priorwise.demo

# Ends with a table of the tests that were skipped and why. EXTRAS=test,lint,plot,components installs Python packages
# that some of them need; with PRIORWISE_ALL_COMPONENTS=1 a test that lacks something is an error.
# Two processes; more threads of BLAS would only get in their way.
test: $(VENV)/installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

# The site, into build/docs; runs the gallery. A warning is an error.
docs: $(VENV)/docs
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs
	$(BIN)/python tools/check_site.py build/docs
	@echo "Open build/docs/index.html"

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CORE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/python tools/check_house.py

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CORE)

# Share of the lines of Python and of C++ that the tests run.
coverage: export COVERAGE_FILE := build/coverage/python
coverage: build/coverage/installed
	find build/coverage -name "*.gcda" -delete
	build/coverage/bin/python -m coverage run --source=priorwise -m pytest tests
	build/coverage/bin/python -m coverage report --precision=1 --skip-covered --sort=cover
	$(BIN)/gcovr --root . --filter src/core/ --object-directory build/coverage/core \
	  --txt --txt-summary --sort uncovered-percent

# Tests of a core that watches its memory, its arithmetic and its threads. TESTS=slice: three minutes
# of them, without the threads.
SANITIZERS := address $(if $(filter slice,$(TESTS)),,thread)
sanitize: $(SANITIZERS:%=build/%/installed)
	for kind in $(SANITIZERS); do \
	  build/$$kind/bin/python tools/sanitize.py $$kind $(TESTS) || exit 1; done

# Hostile inputs in child processes, then Hypothesis with random examples. TARGET, SEED, COUNT, SECONDS and
# INDEX are options of tests/fuzz/runner.py.
FUZZ_OPTIONS := $(foreach name,target seed count seconds index,\
  $(if $($(shell echo $(name) | tr a-z A-Z)),--$(name) $($(shell echo $(name) | tr a-z A-Z))))
fuzz: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m fuzz.runner $(FUZZ_OPTIONS)
	$(if $(TARGET),,$(BIN)/python -m pytest tests -m hypothesis --hypothesis-profile=explore)

# Ratios to rivals, one line for this commit and each benchmark in benchmarks/history.csv, and a plot of the history.
benchmark: $(VENV)/installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/track.py

# The source archive and the wheel of this Python, in dist.
wheel: $(VENV)/installed
	$(PIP) install build
	$(BIN)/python -m build --no-isolation --outdir dist .

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

# setuptools builds components that have no wheel, such as PySpark; before 70.1 it needs another package for that.
$(VENV)/created:
	@echo "Step 1 of 2: an environment in $(VENV) with what builds the core: CMake, Ninja, nanobind (about 110 MB)."
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja "setuptools>=70.1"
	@touch $@

# Editable: Python files are used in place; only a change of the core or of the metadata builds again.
$(VENV)/installed: $(VENV)/created pyproject.toml CMakeLists.txt $(CORE)
	$(PIP) install --no-build-isolation --editable ".[$(EXTRAS)]"
	@touch $@

$(VENV)/docs: $(VENV)/installed
	$(PIP) install --no-build-isolation --editable ".[docs]"
	@touch $@

# Shows each package as it is installed, because a first run takes minutes.
$(VENV)/demo: $(VENV)/created pyproject.toml CMakeLists.txt $(CORE)
	@echo "Step 2 of 2: the library with NumPy, SciPy, scikit-learn, matplotlib and pandas (about 450 MB)."
	@echo "The C++ core is compiled, which takes one to five minutes."
	$(BIN)/python -m pip --disable-pip-version-check install --no-build-isolation --editable ".[plot,pandas]"
	@touch $@

# The packages of .venv, but a core with other flags, in a folder that shows the name of the target.
build/coverage/installed: INSTRUMENT := --coverage -fprofile-update=atomic
# AddressSanitizer finds the null pointers and the objects that are too small, too.
build/address/installed: INSTRUMENT := -fsanitize=address,undefined,float-cast-overflow \
  -fno-sanitize=null,vptr,object-size
build/thread/installed: INSTRUMENT := -fsanitize=thread
build/%/installed: $(VENV)/installed $(shell find src/priorwise -name "*.py")
	$(BIN)/python -m venv --without-pip build/$*
	$(BIN)/python -c "import numpy; print(numpy.__path__[0][:-6])" > \
	  $$(echo build/$*/lib/python*/site-packages)/main.pth
	$(PIP) --python build/$*/bin/python install --no-build-isolation --no-deps --force-reinstall . \
	  --config-settings build-dir=build/$*/core \
	  --config-settings "cmake.define.PRIORWISE_INSTRUMENT=$(INSTRUMENT)"
	@touch $@
