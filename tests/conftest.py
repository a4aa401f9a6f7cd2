"""One thread per process, before numpy is there: xdist runs processes, and threads on top only collide.

Hypothesis sets no time limits: they measure how busy the machine is. It draws the same examples each time, so that a
test that passed does so again; HYPOTHESIS_PROFILE=explore draws others, as `make test-long` does.
"""

import os

from hypothesis import settings

from confide.base.threads import one_thread_from_the_start

one_thread_from_the_start()
settings.register_profile("confide", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "confide"))
