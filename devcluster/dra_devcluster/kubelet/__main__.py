"""``python -m dra_devcluster.kubelet``: the stand-in alone, against any API server."""

import sys

from dra_devcluster.kubelet.command import main

sys.exit(main(sys.argv[1:]))
