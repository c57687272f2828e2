"""``python -m dsctl`` is ``dsctl``."""

from dsctl.cli.app import main

if __name__ == "__main__":
    main()
