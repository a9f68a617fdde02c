"""What a call imports, seen in a process that has imported nothing yet."""

import subprocess
import sys


def loads_none_of(libraries, module, arguments):
    """`main(arguments)` of a module of `pivotlab` leaves these libraries alone."""
    code = f"""
import sys
from {module} import main
try:
    main({arguments})
except SystemExit:
    pass
sys.exit(bool(set({sorted(libraries)}) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    return done.returncode == 0
