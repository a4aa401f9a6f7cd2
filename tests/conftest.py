"""One thread a process, before numpy is there: xdist runs processes, and threads on top only collide."""

from confide.base.threads import one_thread_from_the_start

one_thread_from_the_start()
