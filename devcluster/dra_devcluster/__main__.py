"""``python -m dra_devcluster``."""

import sys

from dra_devcluster.command import main

sys.exit(main(sys.argv[1:]))
