#!/usr/bin/env bash
# What can be checked of binder/ without Docker: that repo2docker understands the folder, and that
# its requirements and postBuild give a working JupyterLab in a clean environment.
set -euo pipefail
cd "$(dirname "$0")/.."
python="$(.venv/bin/python -c 'import sys; print(sys._base_executable)')"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

"$python" -m venv "$scratch/r2d"
"$scratch/r2d/bin/pip" install --quiet jupyter-repo2docker
"$scratch/r2d/bin/jupyter-repo2docker" --no-build . >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
echo "repo2docker understands binder/"

# A copy, as the image has: the build must not depend on what lies around here.
git archive --format=tar HEAD | (mkdir "$scratch/repo" && tar -x -C "$scratch/repo")
"$python" -m venv "$scratch/env"
cd "$scratch/repo"
"$scratch/env/bin/pip" install --quiet -r binder/requirements.txt
PATH="$scratch/env/bin:$PATH" ./binder/postBuild
PATH="$scratch/env/bin:$PATH" jupyter lab --version
PATH="$scratch/env/bin:$PATH" jupyter nbconvert --to notebook --execute --allow-errors \
    --output "$scratch/run.ipynb" lessons/01_draft_and_verify/01_draft_and_verify.ipynb 2>"$scratch/log" || {
    cat "$scratch/log"
    exit 1
}
grep -q "Ready. Lesson 1 of 6" "$scratch/run.ipynb"
echo "binder/ installs, and lesson 1 starts in its environment"
