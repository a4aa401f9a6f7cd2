"""One thread per process, before numpy is there: xdist runs processes, and threads on top only collide.

Hypothesis sets no time limits: they measure how busy the machine is.
"""

from hypothesis import settings

from confide.base.threads import one_thread_from_the_start

one_thread_from_the_start()
settings.register_profile("confide", deadline=None)
settings.load_profile("confide")
