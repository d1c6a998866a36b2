"""`python -m dra_node_agent` runs the agent; `--help` lists its settings."""

import sys

from dra_node_agent import __doc__ as about
from dra_node_agent.service import run
from dra_node_agent.settings import AgentSettings
from dra_shared.runtime.process import main

sys.exit(main(AgentSettings, "node-agent", about or "", run))
