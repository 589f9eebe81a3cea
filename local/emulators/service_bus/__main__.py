"""`python -m local.emulators.service_bus`."""

if __name__ == "__main__":
    from local.emulators.service_bus.server import main

    main()
