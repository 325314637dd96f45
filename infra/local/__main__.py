"""The whole pipeline on this machine.

  python -m infra.local run     request, collect and archive one report, show each step, stop everything
  python -m infra.local up      keep it all running to play with, until Ctrl-C

Nothing of it is left when it ends, however it ends. Exit code 0: done; 1: something failed; 2: wrong use;
130: ended by Ctrl-C; 143: ended by SIGTERM.
"""

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from google.api_core.exceptions import GoogleAPIError

from infra.layout import REPOSITORY
from infra.local.cluster_access import ClusterError
from infra.local.guard import run_guarded
from infra.local.part import PartFailed
from infra.local.pipeline import STAND_IN_SCRIPT, Pipeline, Settings, is_root
from infra.local.story import StoryFailed, follow_run, read_annotations, read_archive, request_report

WORK_ROOT = REPOSITORY / "build" / "local"
RUNS_KEPT = 3
"""Work folders of earlier runs that stay to be looked at."""

LOOK_S = 0.5


class Stopped(BaseException):
    """A signal asked for the end; not an Exception, so that nothing on the way takes it for a failure."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number
        super().__init__(signal.Signals(number).name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run under the guard."""
    options = _parse(arguments)
    return run_guarded(lambda: _supervise(options), with_parent=options.with_parent)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m infra.local", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "up"])
    parser.add_argument("--script", type=Path, default=STAND_IN_SCRIPT, help="the bug report script to run")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="time the script has (default: 60)")
    parser.add_argument("--pubsub", choices=["broker", "emulator"], default="broker", help="ours, or Google's emulator")
    parser.add_argument("--kubeconfig", type=Path, help="use this cluster in place of the stand-in")
    parser.add_argument("--work", type=Path, help=f"folder for logs and data (default: a new one in {WORK_ROOT})")
    parser.add_argument("--with-parent", action="store_true", help="end when the process that started this ends")
    options = parser.parse_args(arguments)
    if not options.script.is_file():
        parser.error(f"--script {options.script}: no such file")
    return options


def _supervise(options: argparse.Namespace) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    stage = Stage()
    settings = Settings(
        work=options.work or _make_work_folder(),
        script=options.script,
        timeout_s=options.timeout,
        emulator=options.pubsub == "emulator",
        kubeconfig=options.kubeconfig,
    )
    try:
        if not is_root():
            stage.say("not root: agents run the script without chroot")
        with Pipeline(settings, stage.say) as pipeline:
            stage.say(f"starting; logs are in {settings.work / 'logs'}")
            pipeline.start()
            return _run(pipeline, stage) if options.command == "run" else _stay_up(pipeline, stage)
    except Stopped as stopped:
        return stopped.exit_code
    except (PartFailed, StoryFailed, ClusterError, GoogleAPIError, OSError) as error:
        print(f"infra.local: {error}", file=sys.stderr)
        return 1


def _stop(number: int, _frame: FrameType | None) -> None:
    # A second signal must not interrupt the stopping that the first one began.
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    raise Stopped(number)


class Stage:
    """Prints steps with the seconds since the start before each."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print one step."""
        print(f"{time.monotonic() - self._began:7.2f} s  {text}", flush=True)


def _run(pipeline: Pipeline, stage: Stage) -> int:
    from infra.local.demo_objects import NAMESPACE, SICK_NODE, STUCK_POD

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
        print(f"  {size_bytes:>10} bytes  {name}")
    print("\nManifest")
    print("\n".join(f"  {line}" for line in archive.manifest.splitlines()))
    print(f"\nWhy does {NAMESPACE}/{STUCK_POD} not run?")
    sys.stdout.flush()
    from gpureport.cli.main import main as desk

    triaged = desk(["triage", "-n", NAMESPACE, STUCK_POD, "--kubeconfig", str(pipeline.kubeconfig)])
    same = archive.sha256 == output.sha256
    print(f"\nThe archived bytes {'have' if same else 'do NOT have'} the SHA-256 that stands on the Node.")
    return 0 if output.status == "completed" and same and triaged == 0 else 1


def _stay_up(pipeline: Pipeline, stage: Stage) -> int:
    from infra.local.demo_objects import HEALTHY_NODE, NAMESPACE, STUCK_POD

    stage.say("up; Ctrl-C stops it all")
    variables = " ".join(f"{name}={value}" for name, value in pipeline.environment.items())
    desk = os.path.relpath(Path(sys.executable).with_name("gpureport"))
    print(f"""
To type in another terminal, in this folder:

  export {variables}
  kubectl label node {HEALTHY_NODE} cloud.google.com/trigger-gpu-report=true
  kubectl get node {HEALTHY_NODE} -o jsonpath='{{.metadata.annotations}}'
  {desk} triage -n {NAMESPACE} {STUCK_POD}
  tail -f {pipeline.settings.work / "logs"}/*.log
""")
    while True:
        pipeline.supervisor.revive()
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


if __name__ == "__main__":
    raise SystemExit(main())
