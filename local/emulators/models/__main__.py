"""`python -m local.emulators.models`."""

from local.emulators.models.server import main

if __name__ == "__main__":
    main()
