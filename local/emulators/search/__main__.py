"""`python -m local.emulators.search`."""

import os

if __name__ == "__main__":
    # One product of a matrix and a vector is faster on one thread than on several that wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from local.emulators.search.server import main

    main()
