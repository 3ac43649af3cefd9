"""An independent computation of everything the command line prints, to compare it with."""

import os

# Matrices here are tiny: more threads only wait for one another. Has to come before numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
