#!/bin/sh
# interchange.sh torch|tensorboard QUERN DOC - other people's programs read what
# quern exports. QN_PYTHON is the Python that has them; skipped without.
set -eu
python=${QN_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "no $python"; exit 77; }
exec "$python" "$(dirname "$0")/interchange.py" "$@"
