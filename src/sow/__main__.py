"""`python -m sow` is the same as `sow`."""

import sys

from sow.cli.main import main

sys.exit(main())
