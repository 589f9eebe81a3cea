"""`python -m local.emulators.key_vault`."""

from local.emulators.key_vault.server import main

if __name__ == "__main__":
    main()
