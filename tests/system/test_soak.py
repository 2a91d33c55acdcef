"""A short soak: the same as `make soak`, in seconds."""
import os
import random

from soak import Soak


def test_a_short_soak_ends_with_a_clean_audit():
    seed = int(os.environ.get("QUELL_SOAK_SEED", random.randrange(1 << 30)))
    print("QUELL_SOAK_SEED =", seed)
    Soak(int(os.environ.get("QUELL_SOAK_SECONDS", "12")), seed).run()
