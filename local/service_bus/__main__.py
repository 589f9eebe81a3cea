"""`python -m local.service_bus`."""

if __name__ == "__main__":
    from local.service_bus.server import main

    main()
