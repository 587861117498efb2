"""Echoes Quote and MarketData for a test: takes samples from the topics Quote/There and MarketData/There
and writes each to Quote/Back and MarketData/Back.

Usage: python_peer.py WIRE_ID COUNT
"""

import sys
import time
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final, keylist
from cyclonedds.idl.types import char, float64, int32, sequence, uint16, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclass
@final
class Quote(IdlStruct, typename="MiddlewareNewsBrief.Quote"):
    MessageType: uint16
    SequenceNumber: uint32
    Timestamp: uint32
    OrderId: uint32
    Volume: uint32
    Price: uint32
    SecurityId: uint16
    ExchangeId: char
    SecurityType: char
    SessionId: char


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

    def made(name, kind):
        there = Topic(participant, f"{name}/There", kind, qos=qos)
        back = Topic(participant, f"{name}/Back", kind, qos=qos)
        return DataReader(participant, there, qos=qos), DataWriter(participant, back, qos=qos)

    ways = [made("Quote", Quote), made("MarketData", MarketData)]
    echoed = 0
    until = time.monotonic() + 30
    while echoed < count and time.monotonic() < until:
        for reader, writer in ways:
            for sample in reader.take_iter(timeout=duration(milliseconds=10)):
                writer.write(sample)
                echoed += 1
    # The test closes the standard input when it has all samples.
    sys.stdin.read()
    del domain


main(int(sys.argv[1]), int(sys.argv[2]))
