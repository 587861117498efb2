"""Echoes MarketData for a test: takes samples from topic There and writes each to topic Back.

Usage: python_peer.py WIRE_ID COUNT
"""

import sys
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final, keylist
from cyclonedds.idl.types import float64, int32, sequence, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclass
@final
class MarketDataEntry(IdlStruct, typename="MiddlewareNewsBrief.MarketDataEntry"):
    mdUpdateAction: uint32
    mdPriceLevel: uint32
    mdEntryType: str
    openCloseSettleFlag: uint32
    securityIDSource: uint32
    securityID: uint32
    rptSeq: uint32
    mdEntryPx: float64
    mdEntryTime: uint32
    mdEntrySize: int32
    numberOfOrders: uint32
    tradingSessionID: str
    netChgPrevDay: float64
    tradeVolume: uint32
    tradeCondition: str
    tickDirection: str
    quoteCondition: str
    aggressorSide: uint32
    matchEventIndicator: str


@dataclass
@final
@keylist(["securityID"])
class MarketData(IdlStruct, typename="MiddlewareNewsBrief.MarketData"):
    securityID: uint32
    applVersionID: str
    messageType: str
    senderCompID: str
    msgSeqNum: uint32
    sendingTime: uint32
    tradeDate: uint32
    mdEntries: sequence[MarketDataEntry]


LOOPBACK = """<CycloneDDS><Domain Id="any"><General><Interfaces>
<NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces>
<AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex>
<MaxAutoParticipantIndex>31</MaxAutoParticipantIndex>
<Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""


def main(wire_id: int, count: int) -> None:
    domain = Domain(wire_id, LOOPBACK)
    participant = DomainParticipant(wire_id)
    qos = Qos(
        Policy.Reliability.Reliable(duration(seconds=1)),
        Policy.Durability.TransientLocal,
        Policy.History.KeepLast(8),
    )
    writer = DataWriter(participant, Topic(participant, "Back", MarketData, qos=qos), qos=qos)
    reader = DataReader(participant, Topic(participant, "There", MarketData, qos=qos), qos=qos)
    echoed = 0
    for sample in reader.take_iter(timeout=duration(seconds=20)):
        writer.write(sample)
        echoed += 1
        if echoed == count:
            break
    # The test closes the standard input when it has all samples.
    sys.stdin.read()
    del domain


main(int(sys.argv[1]), int(sys.argv[2]))
