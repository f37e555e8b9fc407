# Two commands on a fresh machine: `make run` and `make test`. Only python3 (3.11+) and make needed.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test test-all check docs bench bench-paper bench-methods bench-scaling bench-speed bench-latency bench-calibration bench-goodwin bench-thirdparty clean

# 200 runs of a wind-farm simulator by worker processes, and a page about them; again: the runs are
# there already.
run: $(READY)
	test -e wind-farm/study.toml || $(BIN)/steinquad init wind-farm --example wind-farm
	$(BIN)/steinquad run wind-farm/study.toml --report wind-farm/report.html

# Two workers, so one thread each. Tests compile thousands of programs and run each a few times: with
# less optimization by XLA those of networks, kernels and methods take 230 CPU seconds, not 320.
# `make test-all`, and pytest by itself, compile as users do. The flags are of the JAX that
# constraints.txt has: XLA does not start with one that it does not know.
test: export XLA_FLAGS = --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false
test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal

test-all: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m "slow or not slow"

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# The documentation as a site, at the address that it prints.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

# Hours in all; each can be stopped and goes on where it was. See benchmarks/README.md.
bench: bench-scaling bench-speed bench-latency bench-calibration bench-methods bench-goodwin bench-thirdparty bench-paper

bench-paper: $(READY)
	$(BIN)/steinquad reproduce table1 --preset paper --jobs 2

bench-methods: $(READY)
	$(BIN)/python benchmarks/methods.py
	$(BIN)/python benchmarks/default_method.py

bench-speed: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/trainers.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/step_cost.py

bench-latency: $(READY)
	$(BIN)/python benchmarks/latency.py

bench-calibration: $(READY)
	$(BIN)/python benchmarks/calibration.py

bench-goodwin: $(READY)
	$(BIN)/python benchmarks/goodwin.py

bench-thirdparty: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[thirdparty]"
	$(BIN)/python benchmarks/thirdparty.py

bench-scaling: $(READY)
	$(BIN)/python benchmarks/scaling.py

clean:
	rm -rf .venv wind-farm site demo.png

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@
