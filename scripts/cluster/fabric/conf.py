"""The nodes of the cluster, and what is the same on all of them. paddle.py reads this file; see README.md beside it."""

# Where a pserver and a trainer run, one of each a node: "user@host" or "user@host:port-of-ssh". For example
# HOSTS = ["root@node-a", "root@node-b:2222"]
HOSTS = []

# Directory on every node under which a dispatched job gets a directory of its own. $HOME is the node's.
ROOT_DIR = "$HOME/paddle"

# The first port of the pservers, and the number of their shards; sparse tables are on the same ports. A host that HOSTS has
# as an address listens on that address alone, one that it has as a name on all of its own.
PADDLE_PORT = 7164
PADDLE_PORTS_NUM = 1

# The programs on the nodes; a name is looked for on the PATH of the node.
PADDLE = "paddle"
PYTHON = "python3"

# "True" needs a build that computes on GPUs.
PADDLE_USE_GPU = "False"

# Added to the environment of all processes, for example {"LD_LIBRARY_PATH": "/usr/local/lib"}.
ENVIRONMENT = {}

# A private key for ssh; "" takes what ssh itself would take (agent, ~/.ssh).
SSH_KEY = ""
