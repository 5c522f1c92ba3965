#!/bin/sh
# Prints the Python to make the virtual environment with: the one named by $PYTHON if that is
# set, else the first in PATH that will do. One will do if it is CPython 3.11 or newer with venv
# and pip, and not the free-threaded build (the extension uses the stable ABI, which that lacks).

set -u

say() { printf '%s\n' "$*" >&2; }

# Prints what is wrong with a Python, and nothing if it will do.
check='
import platform, sys, sysconfig
if platform.python_implementation() != "CPython":
    print("is not CPython")
elif sys.version_info < (3, 11):
    print("is Python %d.%d" % sys.version_info[:2])
elif sysconfig.get_config_var("Py_GIL_DISABLED"):
    print("is a free-threaded build")
else:
    try:
        import ensurepip, venv
    except ImportError:
        print("cannot make virtual environments (Debian or Ubuntu: apt install python%d.%d-venv)"
              % sys.version_info[:2])
'

if [ -n "${PYTHON:-}" ]; then
    set -- "$PYTHON"
else
    # python3 first: it is the one the user means by "Python" here.
    set -- python3 python3.14 python3.13 python3.12 python3.11 python
fi

found=
for candidate in "$@"; do
    if ! wrong=$("$candidate" -c "$check" 2>/dev/null); then
        [ -z "${PYTHON:-}" ] || found="$found
  $candidate: cannot be run"
        continue
    fi
    if [ -z "$wrong" ]; then
        command -v "$candidate"
        exit 0
    fi
    found="$found
  $candidate $wrong"
done

say "wyrmling needs CPython 3.11 or newer with venv. Looked at:${found:-
  (no python3 in PATH)}"
say "Install one, or name one: make PYTHON=/path/to/python3"
exit 1
