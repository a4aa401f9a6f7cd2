"""Cases that go wrong in every way, for the test of what runs cases."""

import os
import time

from fuzz.verdict import ANSWERED, Verdict


def attempt(case):
    if case == 1:
        os._exit(3)
    if case == 2:
        time.sleep(600)
    if case == 3:
        raise KeyError("an error of the fuzzer")
    if case == 4:
        return Verdict("memory", ANSWERED, str(len(bytearray(8 * 2**30))))
    return Verdict("fine", ANSWERED)
