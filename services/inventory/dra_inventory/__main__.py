"""`python -m dra_inventory`."""

from dra_inventory.service import main

raise SystemExit(main())
