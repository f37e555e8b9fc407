"""`python -m steinquad` is the command."""

from steinquad.cli import main

if __name__ == "__main__":
    main()
