"""`python -m local.models`."""

from local.models.server import main

if __name__ == "__main__":
    main()
