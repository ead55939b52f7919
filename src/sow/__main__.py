"""Runs the `sow` command for `python -m sow`."""

import sys

from sow.cli.main import main

sys.exit(main())
