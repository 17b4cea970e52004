"""HyperQueue's client in a process of its own: submits the tasks that come as JSON on standard input and waits for their end.

The client waits in native code without giving the interpreter free, and a local server prints a table of itself; neither is to
hold up or stand between the lines of who asks.
"""

import json
import os
import sys
from contextlib import ExitStack

# HyperQueue draws a bar of its own.
os.environ["TQDM_DISABLE"] = "1"

from hyperqueue import Client, Job, LocalCluster  # type: ignore[import-untyped]  # noqa: E402
from hyperqueue.cluster import WorkerConfig  # type: ignore[import-untyped]  # noqa: E402


def main() -> None:
    """Carries out one job; tasks that failed or were killed are for the caller to see."""
    given = json.load(sys.stdin)
    with ExitStack() as stack:
        if given["server"]:
            client = Client(given["server"])
        else:
            cluster = stack.enter_context(LocalCluster())
            for _ in range(given["workers"]):
                cluster.start_worker(WorkerConfig(cores=1))
            client = cluster.client()
        # One killed task ends no others.
        job = Job(max_fails=None)
        for task in given["tasks"]:
            job.program(
                task["arguments"],
                stdout=task["log"],
                stderr=task["log"],
                cwd=given["directory"],
                env=dict(os.environ),
                name=task["name"],
            )
        client.wait_for_jobs([client.submit(job)], raise_on_error=False)


if __name__ == "__main__":
    main()
