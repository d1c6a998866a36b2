"""`python -m dra_allocator`."""

from dra_allocator.service import main

raise SystemExit(main())
