"""Which fields of Nodes and Pods triage reads, as partial structs: what is not named here is never built.

Parts without dictionaries are frozen, so that they serve as keys of caches; `gc=False` keeps 50,000 Pods out of the
cyclic collector's passes. Reading bytes into them is `decoding`; what they mean is decided elsewhere.
"""

import msgspec

Quantity = str | int | float
"""An amount as the API writes it (`"4"`, `"1k"`, `"3000m"`); hand-written objects hold bare numbers."""


class Taint(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One taint of a Node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Toleration(msgspec.Struct, frozen=True, gc=False, cache_hash=True, rename="camel"):
    """One toleration of a Pod; `tolerationSeconds` does not matter for placement and is not read."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Requirement(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One expression of a node selector term."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class SelectorTerm(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One term: all of its expressions and fields must hold."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Terms of which one must hold."""

    node_selector_terms: tuple[SelectorTerm, ...] = ()


class NodeAffinity(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Node affinity; preferences never filter a node and are not read."""

    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)


class PodAffinity(msgspec.Struct, gc=False, rename="camel"):
    """Affinity to, or against, other Pods: only whether something is required is read."""

    required: list[msgspec.Raw] = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=[])


class Affinity(msgspec.Struct, gc=False, rename="camel"):
    """The three kinds of affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Resources(msgspec.Struct, gc=False, rename="camel"):
    """What one container, or a Pod as a whole, asks for."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class Container(msgspec.Struct, gc=False, rename="camel"):
    """One container; `restartPolicy: Always` makes an init container a sidecar."""

    name: str = ""
    resources: Resources | None = None
    restart_policy: str = ""


class Named(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A scheduling gate or a resource claim, by name."""

    name: str = ""


class Spread(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One topology spread constraint."""

    when_unsatisfiable: str = ""


class VolumeClaim(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The claim behind a volume."""

    claim_name: str = ""


class Volume(msgspec.Struct, gc=False, rename="camel"):
    """One volume: only whether it needs a PersistentVolume is read."""

    persistent_volume_claim: VolumeClaim | None = None
    ephemeral: msgspec.Raw | None = None


class PodSpec(msgspec.Struct, gc=False, rename="camel"):
    """The Pod's wishes."""

    containers: list[Container] = []
    init_containers: list[Container] = []
    node_name: str = ""
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: Affinity | None = None
    overhead: dict[str, Quantity] = {}
    resources: Resources | None = None
    priority: int = 0
    scheduler_name: str = "default-scheduler"
    scheduling_gates: list[Named] = []
    resource_claims: list[Named] = []
    runtime_class_name: str = ""
    topology_spread_constraints: list[Spread] = []
    volumes: list[Volume] = []


class Condition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One condition of a Pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodStatus(msgspec.Struct, gc=False, rename="camel"):
    """What became of the Pod so far."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    conditions: list[Condition] = []


class PodMetadata(msgspec.Struct, gc=False, rename="camel"):
    """Who the Pod is; `deletion_timestamp` is set while it is terminating."""

    name: str
    namespace: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""


class Pod(msgspec.Struct, gc=False, rename="camel"):
    """One Pod."""

    metadata: PodMetadata
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class NodeMetadata(msgspec.Struct, gc=False, rename="camel"):
    """Which Node, and its labels."""

    name: str
    labels: dict[str, str] = {}


class NodeSpec(msgspec.Struct, gc=False, rename="camel"):
    """What keeps Pods away from the Node."""

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeStatus(msgspec.Struct, gc=False, rename="camel"):
    """What the Node has, and what of it the scheduler may give away."""

    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}


class Node(msgspec.Struct, gc=False, rename="camel"):
    """One Node."""

    metadata: NodeMetadata
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class DeviceClassSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The extended resource that a DeviceClass serves, if any."""

    extended_resource_name: str = ""


class DeviceClass(msgspec.Struct, gc=False, rename="camel"):
    """One DeviceClass of dynamic resource allocation."""

    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)
