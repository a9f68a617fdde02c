#!/usr/bin/env bash
# The two commands: `bash run.sh` runs the notebooks on the embedded default,
# `bash run.sh test` runs the tests. `bash run.sh lab` opens JupyterLab.
# Everything is installed into .venv; nothing needs to be activated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"   # spinning threads starve neighbours
export TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE="${HF_HUB_OFFLINE:-1}" TRL_EXPERIMENTAL_SILENCE=1
PY=.venv/bin/python
STAMP=.venv/installed

usage() {
  cat <<'TXT'
usage: bash run.sh [run|batch|test|lab|install] [arguments]
  run    run the ordered notebooks headless (default); --preset smoke|quick|cpu|gpu|paper
  batch  run the cells of a grid file (e.g. data/examples/grid.toml); resumable
  test   run the tests; arguments go to pytest (e.g. -m slow, -k oracle)
  lab    open JupyterLab on the notebooks
  install  install into .venv and stop
TXT
}

find_python() {
  local name
  for name in python3.11 python3.12 python3.13 python3; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"; return
    fi
  done
  echo "run.sh: no Python 3.11 or newer on the PATH; install one (e.g. apt install python3.11 python3.11-venv)" >&2
  return 1
}

want_stamp() { cat requirements.lock pyproject.toml | sha256sum | cut -d' ' -f1; }

install() {
  local stamp; stamp=$(want_stamp)
  if [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$stamp" ]; then return; fi
  local start=$SECONDS python; python=$(find_python)
  echo "Installing into .venv with $python: about 2 GB, 3 to 8 minutes the first time ..."
  [ -x "$PY" ] || "$python" -m venv .venv || {
    echo "run.sh: '$python -m venv' failed; on Debian/Ubuntu install ${python}-venv, or delete a half-made .venv" >&2
    return 1
  }
  "$PY" -m pip install --quiet --disable-pip-version-check -r requirements.lock 2> >(grep -v 'Location .* is ignored' >&2)
  "$PY" -m pip install --quiet --disable-pip-version-check --no-deps -e . 2> >(grep -v 'Location .* is ignored' >&2)
  echo "$stamp" > "$STAMP"
  echo "Installed in $((SECONDS - start)) s."
}

case "${1:-run}" in
  run)
    shift || true
    install
    exec "$PY" -m pivotlab.experiments.batch run "$@"
    ;;
  batch)
    install
    exec "$PY" -m pivotlab.experiments.batch "$@"
    ;;
  test)
    shift
    install
    echo "Running the tests: about 10 minutes on 2 cores ..."
    # One torch thread per worker: two workers fill two cores.
    export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
    exec "$PY" -m pytest -n "${PYTEST_WORKERS:-2}" --dist loadfile "${@:--q}"
    ;;
  lab)
    shift
    install
    exec "$PY" -m jupyterlab --notebook-dir notebooks "$@"
    ;;
  install) install ;;
  -h | --help | help) usage ;;
  *)
    echo "run.sh: unknown command '$1'; a preset is named so: bash run.sh run --preset quick" >&2
    usage >&2
    exit 2
    ;;
esac
