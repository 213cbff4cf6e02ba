# make setup   from nothing to .venv/bin/kube-proxy (root: installs missing packages; else names them)
# make check   format, lint, types, house rules: seconds
# make test    unit, stories, lab: one line each; TIERS=all demands every tier and the slow tests too
# make lab     only the real packets, as a table
# make bench   beside benchmarks/BASELINE.md; SIZE=1000 is quicker, CHECK=1 fails where a bound is broken
# make demo    a small cluster in namespaces, with real packets; KEEP=1 leaves it up and gives a shell

SHELL := /bin/sh
PY := .venv/bin/python
# Debian keeps iptables and its kin out of an ordinary user's PATH.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin

.PHONY: help setup check test lab bench demo

help:
	@sed -n 's/^# make /make /p' Makefile

setup:
	@tools/setup

check: setup
	@.venv/bin/uv lock --quiet --check --offline || { echo "pyproject.toml and uv.lock disagree; run: .venv/bin/uv lock"; exit 1; }
	@.venv/bin/ruff format --check --output-format concise . >&2 || { echo "run: .venv/bin/ruff format ."; exit 1; }
	@.venv/bin/ruff check --quiet --output-format concise .
	@.venv/bin/mypy --no-error-summary
	@$(PY) -m pytest tests/test_house.py

test: setup
	@$(PY) tools/tiers.py

lab:
	@tools/setup --packets
	@$(PY) tools/tiers.py --show lab

bench:
	@tools/setup --packets
	@$(PY) -m benchmarks

demo:
	@tools/setup --packets
	@.venv/bin/kube-proxy demo $(if $(KEEP),--keep)
