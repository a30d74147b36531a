"""`python -m slipstream`."""

import sys

from slipstream.cli.main import main

sys.exit(main())
