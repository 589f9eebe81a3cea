"""`python -m local.key_vault`."""

from local.key_vault.server import main

if __name__ == "__main__":
    main()
