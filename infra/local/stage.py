"""What `run` and `up` show: the start, the story of one report, or what to type; every failure as one line."""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from google.api_core.exceptions import GoogleAPIError

from gpureport.cli.main import main as desk
from infra.layout import REPOSITORY
from infra.local.cluster_access import ClusterError
from infra.local.demo_objects import HEALTHY_NODE, NAMESPACE, SICK_NODE, STUCK_POD
from infra.local.part import PartFailed
from infra.local.pipeline import Pipeline, Settings
from infra.local.story import StoryFailed, follow_run, read_annotations, read_archive, request_report

WORK_ROOT = REPOSITORY / "build" / "local"
RUNS_KEPT = 3
"""Work folders of earlier runs that stay to be looked at."""

LOOK_S = 0.5


class Stage:
    """Prints steps with the seconds since the start before each."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print one step."""
        print(f"{time.monotonic() - self._began:7.2f} s  {text}", flush=True)


def play(options: argparse.Namespace) -> int:
    """Start the pipeline, do what the command says, stop it; return the exit code."""
    stage = Stage()
    try:
        settings = Settings(
            work=(options.work or _make_work_folder()).resolve(),
            script=options.script,
            timeout_s=options.timeout,
            emulator=options.pubsub == "emulator",
            kubeconfig=options.kubeconfig,
        )
        with Pipeline(settings, stage.say) as pipeline:
            if os.geteuid() != 0:
                stage.say("not root: agents run the script without chroot")
            stage.say(f"starting; logs are in {settings.work / 'logs'}")
            pipeline.start()
            return _run(pipeline, stage) if options.command == "run" else _stay_up(pipeline, stage)
    except (PartFailed, StoryFailed, ClusterError, GoogleAPIError, OSError) as error:
        print(f"infra.local: {error}", file=sys.stderr)
        return 1


def _run(pipeline: Pipeline, stage: Stage) -> int:
    request_report(pipeline)
    stage.say(f"{SICK_NODE} labelled cloud.google.com/trigger-gpu-report=true")
    output = follow_run(pipeline, stage.say)
    stage.say("on record")
    print(f"\nAnnotations of {SICK_NODE}")
    for key, value in sorted(read_annotations(pipeline, SICK_NODE).items()):
        print(f"  {key}: {value}")
    archive = read_archive(pipeline)
    print("\nArchive")
    for name, size_bytes in archive.objects:
        print(f"  {size_bytes:>10} bytes  gs://archive/{name}")
    print("\nManifest")
    print("\n".join(f"  {line}" for line in archive.manifest.splitlines()))
    print(f"\nWhy does {NAMESPACE}/{STUCK_POD} not run?")
    sys.stdout.flush()
    triaged = desk(["triage", "-n", NAMESPACE, STUCK_POD, "--kubeconfig", str(pipeline.kubeconfig)])
    if output.sha256 is None:
        print(f"\nThe run has failed ({output.reason}) and left no report.")
        return 1
    same = archive.sha256 == output.sha256
    print(f"\nThe archived bytes {'have' if same else 'do NOT have'} the SHA-256 that stands on the Node.")
    return 0 if output.status == "completed" and same and triaged == 0 else 1


def _stay_up(pipeline: Pipeline, stage: Stage) -> int:
    stage.say("up; Ctrl-C stops it all")
    variables = " ".join(f"{name}={value}" for name, value in pipeline.environment.items())
    tool = os.path.relpath(Path(sys.executable).with_name("gpureport"))
    print(
        f"""
To type in another terminal, in this folder:

  export {variables}
  kubectl label node {HEALTHY_NODE} cloud.google.com/trigger-gpu-report=true
  kubectl get node {HEALTHY_NODE} -o jsonpath='{{.metadata.annotations}}'
  {tool} triage -n {NAMESPACE} {STUCK_POD}
  tail -f {pipeline.settings.work / "logs"}/*.log
""",
        flush=True,
    )
    while True:
        pipeline.revive()
        time.sleep(LOOK_S)


def _make_work_folder() -> Path:
    """Make a work folder named after this process, and remove all but the newest of those that ended."""
    WORK_ROOT.mkdir(parents=True, exist_ok=True)
    ended = [path for path in WORK_ROOT.iterdir() if path.name.isdigit() and not Path("/proc", path.name).exists()]
    for path in sorted(ended, key=lambda path: path.stat().st_mtime)[:-RUNS_KEPT]:
        shutil.rmtree(path, ignore_errors=True)
    work = WORK_ROOT / str(os.getpid())
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    return work
