# All commands of the project. Call them as ./dev RECIPE.

# Tests start hundreds of processes: each finds its bytecode ready, whatever the shell says of that.
export PYTHONDONTWRITEBYTECODE := ""

# list the recipes
default:
    @just --list --unsorted

# run the whole system once: devices, claims, pods, the life of a claim, the log verified
demo *args:
    @dra demo {{args}}

# run the system until you stop it; prints the kubeconfig
up *args:
    @dra up {{args}}

# all checks and tests that run on every change
test: form types-and-suite

# format, lint, types, architecture, generated files
lint: form types

[private]
form:
    ruff format --check --quiet
    ruff check --quiet
    lint-imports --no-logo
    python docs/generate.py --check

[private]
types:
    mypy

[private]
suite:
    pytest -q -n auto --dist worksteal

[parallel]
[private]
types-and-suite: types suite

# rewrite what can be rewritten: formatting, simple lint, generated docs
fix:
    ruff format
    ruff check --fix
    python docs/generate.py

# build (once, 11 min cold) the real Kubernetes programs that `e2e` runs on
controlplane:
    PYTHONPATH=tests python -m e2e.controlplane.build

# tests on a real Kubernetes control plane
e2e *args: controlplane
    pytest -q tests/e2e {{args}}

# compare with answers of other engines: ./dev vectors allocator|cel PATH [--failures]
vectors kind *args:
    @python tests/vectors/{{kind}}.py {{args}}

# compose.yaml for real: build the images, start, run the examples (needs root and Docker)
compose:
    tests/compose/run

# what is measured, against whom: log, allocator, end_to_end, ...
bench name *args: 
    PYTHONPATH=tests:. python -m benchmarks.{{name}} {{args}}
