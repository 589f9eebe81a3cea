"""`python -m local.stack.parent_death MODULE ARGUMENTS…`: run a module that stops when its parent is gone.

The parent (`local.stack.process`) holds the other end of the pipe on standard input; the kernel closes it even when the
parent is killed. SIGTERM then lets the module stop in order, and a deadline ends it if it does not.
"""

import os
import runpy
import signal
import sys
import threading
import time

SECONDS_TO_STOP = 10.0


def _follow_parent() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_STOP)
    os._exit(1)


def main() -> None:
    """Run the module named on the command line as `__main__`, with the rest as its arguments."""
    del sys.argv[0]
    threading.Thread(target=_follow_parent, name="follow-parent", daemon=True).start()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
