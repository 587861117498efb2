"""Reads a topic of any type with the Python package cyclonedds, without an IDL file: it obtains the type from
the publisher.
Prints samples as lines of JSON.

Usage: generic_peer.py DOMAIN TOPIC
"""

import dataclasses
import json
import sys
import time

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.dynamic import get_types_for_typeid
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final
from cyclonedds.idl.types import uint64
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclasses.dataclass
@final
class Done(IdlStruct, typename="MiddlewareNewsBrief.Done"):
    samples: uint64


LOOPBACK = """<CycloneDDS><Domain Id="any"><General><Interfaces>
<NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces>
<AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex>
<MaxAutoParticipantIndex>31</MaxAutoParticipantIndex>
<Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""


def found(participant, topic):
    """Returns the type of the samples on a topic."""
    publications = BuiltinDataReader(participant, BuiltinTopicDcpsPublication)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        for publication in publications.take_iter(timeout=duration(milliseconds=100)):
            if publication.topic_name == topic:
                return get_types_for_typeid(participant, publication.type_id, duration(seconds=10))[0]
    sys.exit(f"nobody publishes {topic}")


def plain(value):
    if dataclasses.is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return value


def main(domain_id, topic):
    domain = Domain(domain_id, LOOPBACK)
    participant = DomainParticipant(domain_id)
    kind = found(participant, topic)
    last = [Policy.Reliability.Reliable(duration(seconds=1)), Policy.Durability.TransientLocal]
    xcdr2 = Policy.DataRepresentation(use_cdrv0_representation=False, use_xcdrv2_representation=True)
    any_qos = Qos(*last, Policy.History.KeepAll, xcdr2)
    reader = DataReader(participant, Topic(participant, topic, kind, qos=Qos(xcdr2)), qos=any_qos)
    done = DataReader(participant, Topic(participant, "Done", Done), qos=Qos(*last))
    until = time.monotonic() + 60
    is_done = False
    while time.monotonic() < until:
        count = 0
        for sample in reader.take(1024):
            count += 1
            # Invalid samples report that an instance has no writer any more.
            if isinstance(sample, kind):
                print(json.dumps(plain(sample)))
        if count == 0:
            if is_done:
                break
            time.sleep(0.01)
            # Checked last: earlier samples are taken in the next iteration.
            is_done = any(isinstance(one, Done) for one in done.take(8))
    sys.stdout.flush()
    del domain


main(int(sys.argv[1]), sys.argv[2])
