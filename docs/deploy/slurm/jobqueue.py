"""A SLURM job for each worker: python jobqueue.py --shared FOLDER [--jobs N] [--interface eth0].

The scheduler runs where this program does, on a login node or in a job of its own, so that host
must be reachable from the compute nodes. FOLDER is one that they see under the same name, and that
nobody else can read. Jobs may come and go; the result is that of one core.
"""

import argparse
import os
import shutil
import sys

from dask_jobqueue import SLURMCluster
from distributed import Client
from distributed.security import Security

import speedcube as sc

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--shared", required=True)
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--cores", type=int, default=8)
parser.add_argument("--memory", default="16 GB")
parser.add_argument("--walltime", default="01:00:00")
parser.add_argument("--interface", default=None, help="the network that the nodes share")
parser.add_argument("--rows", type=int, default=1_000_000)

if __name__ == "__main__":
    asked = parser.parse_args()
    if not shutil.which("sbatch"):
        sys.exit(
            f"{os.uname().nodename} has no sbatch, so no SLURM: run this on a login node (PATH may "
            "need a module load), or take ssh/cluster.py or on='cores' where there is none"
        )
    os.makedirs(asked.shared, mode=0o700, exist_ok=True)
    cluster = SLURMCluster(
        cores=asked.cores,
        processes=1,
        memory=asked.memory,
        walltime=asked.walltime,
        interface=asked.interface,
        security=Security.temporary(),  # a certificate for this cluster alone
        shared_temp_directory=asked.shared,  # where the jobs find it
        log_directory=os.path.join(asked.shared, "logs"),
        scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        worker_extra_args=["--no-dashboard", "--dashboard-address", "127.0.0.1:0"],
    )
    with cluster, Client(cluster) as client:
        cluster.scale(jobs=asked.jobs)
        client.wait_for_workers(1, timeout=600)  # the others join when the queue lets them
        x = sc.random.default_rng(0).normal(size=(asked.rows, 1_000))
        print(f"{asked.rows} rows: {float(x.mean().compute()).hex()}")
