"""`python -m dra_api_bridge`."""

from dra_api_bridge.service import main

raise SystemExit(main())
