"""Which requests are refused for want of a right: those without a token. There is no RBAC: who is known may do all."""

from infra.local.apiserver.failures import Failure, build_forbidden
from infra.local.apiserver.routes import Target, parse_target
from infra.local.apiserver.tokens import ANONYMOUS

OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version")
"""What everybody may read. Source: the ClusterRole system:public-info-viewer."""

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def check_rights(user: str, method: str, url: str) -> None:
    """Refuse a request without a token; raises `Failure` (403)."""
    path = url.partition("?")[0]
    if user != ANONYMOUS or path.rstrip("/") in OPEN_PATHS:
        return
    try:
        target = parse_target(url)
    except Failure:
        raise build_forbidden(user, f'{_VERBS.get(method, "get")} path "{path}"', {}) from None
    raise build_forbidden(user, _describe_deed(method, target), _name_object(target))


def _describe_deed(method: str, target: Target) -> str:
    reading = "get" if target.name else "watch" if target.is_watch else "list"
    resource = f"{target.resource.plural}/{target.subresource}".rstrip("/")
    group = target.resource.group_version.rpartition("/")[0]
    where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    return f'{_VERBS.get(method, reading)} resource "{resource}" in API group "{group}" {where}'


def _name_object(target: Target) -> dict[str, str]:
    group = target.resource.group_version.rpartition("/")[0]
    named = {"name": target.name, "group": group, "kind": target.resource.plural}
    return {member: value for member, value in named.items() if value}
