"""How much is still on its way, for whoever waits until the local pipeline is quiet; the broker only."""

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct

from infra.local.pubsub.service import COUNT_UNDELIVERED, LOCAL_SERVICE

COUNT_TIMEOUT_S = 5.0


def count_undelivered(address: str, timeout_s: float = COUNT_TIMEOUT_S) -> dict[str, int]:
    """Return the messages not acknowledged yet, by subscription name.

    `address` is HOST:PORT. Raises `grpc.RpcError` when nobody answers in time, or when Google's emulator does: it has
    no such count.
    """
    with grpc.insecure_channel(address) as channel:
        ask = channel.unary_unary(
            f"/{LOCAL_SERVICE}/{COUNT_UNDELIVERED}",
            request_serializer=Empty.SerializeToString,
            response_deserializer=Struct.FromString,
        )
        counts: Struct = ask(Empty(), timeout=timeout_s)
    return {name: int(value.number_value) for name, value in counts.fields.items()}
