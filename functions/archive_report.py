"""The function behind the topic `reports`: puts the run that an event points at on record in the archive.

It acts on what the run annotation of the Node says, which policy lets only that node's agent write; the event says
where to look. How a run is archived stands in `archiving`.
"""

from functions.archiving import ArchivePorts, archive_run
from functions.clusters import FindCluster
from functions.outcomes import Answer, rejected
from functions.runs import locate_run
from gpureport.contract.events import REPORT_COLLECTED, REPORT_FAILED, Event
from gpureport.contract.fields import ContractError
from gpureport.contract.keys import Keys

TYPES = (REPORT_COLLECTED, REPORT_FAILED)


def archive_report(event: Event, find_cluster: FindCluster, keys: Keys, ports: ArchivePorts) -> Answer:
    """Archive the run that the event points at; the same event any number of times changes nothing more.

    Raises `Unavailable` or `Refused` as the ports do.
    """
    located = locate_run(event, find_cluster, keys)
    if isinstance(located, Answer):
        return located
    try:
        return archive_run(located.origin, located.run, located.served_at, ports)
    except ContractError as error:
        return rejected("foreign-manifest", str(error))
