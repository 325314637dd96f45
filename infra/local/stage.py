"""What `run` and `up` show: the start, the story of one report, or what to type; every failure as one line."""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from google.api_core.exceptions import GoogleAPIError

from gpureport.cli.main import main as desk
from gpureport.contract.outputs import Output
from gpureport.contract.reasons import REASONS
from gpureport.contract.statuses import COMPLETED
from infra.layout import REPOSITORY
from infra.local.cluster_access import ClusterError
from infra.local.demo_objects import HEALTHY_NODE, NAMESPACE, SICK_NODE, STUCK_POD
from infra.local.part import PartFailed
from infra.local.pipeline import Pipeline, Settings
from infra.local.story import StoryFailed, follow_run, read_annotations, read_archive, request_report
from infra.parts.commands import CannotBring

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
            cluster=options.cluster,
            kubeconfig=options.kubeconfig,
        )
        with Pipeline(settings, stage.say) as pipeline:
            is_root = os.geteuid() == 0
            stage.say("root: agents run the script by chroot" if is_root else "not root: agents run it without chroot")
            stage.say(f"starting; logs are in {settings.work / 'logs'}")
            try:
                pipeline.start()
                return _run(pipeline, stage) if options.command == "run" else _stay_up(pipeline, stage)
            finally:
                stage.say("stopping everything")
    except (PartFailed, StoryFailed, CannotBring, ClusterError, GoogleAPIError, OSError) as error:
        print(f"infra.local: {error}", file=sys.stderr)
        return 1
    finally:
        stage.say("stopped")


def _run(pipeline: Pipeline, stage: Stage) -> int:
    request_report(pipeline)
    stage.say(f"{SICK_NODE} labelled cloud.google.com/trigger-gpu-report=true")
    output = follow_run(pipeline, stage.say)
    stage.say("the run is on record in the archive, and the Node says so")
    print(f"\nAnnotations of {SICK_NODE}")
    for key, value in sorted(read_annotations(pipeline, SICK_NODE).items()):
        print(f"  {key}: {value}")
    archive = read_archive(pipeline)
    print("\nArchive")
    for name, size_bytes in archive.objects:
        print(f"  {size_bytes:>10} bytes  gs://archive/{name}")
    is_good = _say_verdict(output, archive.sha256)
    print("\nManifest")
    print("\n".join(f"  {line}" for line in archive.manifest.splitlines()))
    print(f"\nA Pod is stuck because of that node: why does {NAMESPACE}/{STUCK_POD} not run?")
    sys.stdout.flush()
    triaged = desk(["triage", "-n", NAMESPACE, STUCK_POD, "--kubeconfig", str(pipeline.desk_kubeconfig)])
    print()
    return 0 if is_good and triaged == 0 else 1


def _say_verdict(output: Output, archived_sha256: str) -> bool:
    """Say in a sentence what the run has come to; return whether it is what was asked for."""
    reason = None if output.reason is None else REASONS.get(output.reason)
    if output.reason is not None:
        print(f"\nThe run has failed: {output.reason}.", *([] if reason is None else [reason.sentence, reason.remedy]))
    if output.sha256 is None:
        return False
    same = archived_sha256 == output.sha256
    print(f"\nThe archived bytes {'have' if same else 'do NOT have'} the SHA-256 that stands on the Node.")
    return same and output.status == COMPLETED


def _stay_up(pipeline: Pipeline, stage: Stage) -> int:
    stage.say("up; Ctrl-C stops it all")
    variables = " ".join(f"{name}={value}" for name, value in pipeline.environment.items())
    tool = os.path.relpath(Path(sys.executable).with_name("gpureport"))
    print(
        f"""
To type in another terminal, in this folder:

  export {variables}
  kubectl label node {HEALTHY_NODE} cloud.google.com/trigger-gpu-report=true
  kubectl wait node {HEALTHY_NODE} --timeout=2m \\
    --for=jsonpath='{{.metadata.annotations.cloud\\.google\\.com/gpu-report-status}}'=completed
  kubectl get node {HEALTHY_NODE} -o jsonpath='{{.metadata.annotations}}'
  {tool} triage -n {NAMESPACE} {STUCK_POD} --kubeconfig {pipeline.desk_kubeconfig}
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
