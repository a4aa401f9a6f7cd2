"""One BLAS thread a process, before numpy is there: xdist runs processes, and threads on top only collide."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
