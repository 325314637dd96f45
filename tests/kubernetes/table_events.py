"""Which Events an agent may create, and what each rule of that policy refuses."""

from tests.kubernetes.requests import EVENTS, Object, Request, build_event, create, delete, event
from tests.kubernetes.rows import Who, allowed, refused

AGENT = Who.AGENT

ONLY_CREATE = "the gpu-report agent may only create Events"
OWN_NODE = "the gpu-report agent may only create Events about the Node that its token is bound to"
COMPONENT = "the gpu-report agent may only create Events of the component gpu-report-agent"
LENGTHS = "the gpu-report agent may not create Events with a message over 1024 characters or a reason over 128"

STANDING = "standing"
"""The name of an Event of somebody else that stands in `default`."""

NEWER_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
NEWER_EVENT = {
    "metadata": {"name": "x", "namespace": "default"},
    "eventTime": "2026-11-30T09:15:00.000000Z",
    "reportingController": "gpu-report-agent",
    "reportingInstance": "x",
    "action": "x",
    "reason": "x",
    "type": "Normal",
    "regarding": {"kind": "Node", "name": "gpu-2"},
}


def change_standing(node: Object) -> Request:
    body = build_event(node) | {"metadata": {"name": STANDING, "namespace": "default"}}
    return Request("PUT", f"{EVENTS}/{STANDING}", body)


TABLE = (
    *allowed(
        AGENT,
        ("creates an Event about its Node", event()),
        ("creates an Event of 1024 characters", event(message="é" * 1024)),
        ("creates a Warning with a reason of 128", event(type="Warning", reason="R" * 128)),
        want=201,
    ),
    *refused(
        AGENT,
        OWN_NODE,
        ("creates an Event about another Node", event(about="gpu-2")),
        ("creates an Event with another Node's uid", event(uid="0")),
        ("creates an Event about a Pod", event(kind="Pod")),
        ("creates an Event about nothing", event(involvedObject={})),
        ("creates an Event of events.k8s.io about another Node", create(NEWER_EVENTS, NEWER_EVENT)),
    ),
    *refused(Who.OTHER_AGENT, OWN_NODE, ("creates an Event about this Node", event())),
    *refused(
        Who.UNBOUND,
        OWN_NODE,
        ("creates an Event about this Node", event()),
        ("creates an Event about a Node without a name", event(about="", uid="")),
    ),
    *refused(Who.STALE_AGENT, OWN_NODE, ("creates an Event about the new Node", event())),
    *refused(
        AGENT,
        COMPONENT,
        ("creates an Event as the kubelet", event(source={"component": "kubelet"})),
        ("creates an Event as nobody", event(source={})),
    ),
    *refused(
        AGENT,
        LENGTHS,
        ("creates an Event of 1025 characters", event(message="x" * 1025)),
        ("creates an Event with a reason of 129", event(reason="R" * 129)),
    ),
    *refused(
        AGENT,
        ONLY_CREATE,
        ("changes an Event", change_standing),
        ("deletes an Event", delete(f"{EVENTS}/{STANDING}")),
    ),
)
