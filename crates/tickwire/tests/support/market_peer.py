"""Reads the samples of `receive --publish` with the Python package cyclonedds, and prints each as a line of JSON: the
topic, then the members.

Usage: market_peer.py DOMAIN
"""

import json
import sys
import time
from dataclasses import asdict, dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final, keylist
from cyclonedds.idl.types import int32, int64, sequence, uint32, uint64
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclass
@final
class Decimal(IdlStruct, typename="tickwire.Decimal"):
    mantissa: int64
    exponent: int32


@dataclass
@final
class BookLevel(IdlStruct, typename="tickwire.BookLevel"):
    price: Decimal
    size: Decimal
    orders: uint32


@dataclass
@final
@keylist(["source", "channel", "instrument", "kind"])
class BookTop(IdlStruct, typename="tickwire.BookTop"):
    source: str
    channel: str
    instrument: str
    kind: str
    seq_num: uint64
    sending_time: uint64
    received_ns: uint64
    stale_reason: str
    has_bid: bool
    bid: BookLevel
    has_offer: bool
    offer: BookLevel


@dataclass
@final
@keylist(["source", "channel", "instrument", "kind"])
class Book(IdlStruct, typename="tickwire.Book"):
    source: str
    channel: str
    instrument: str
    kind: str
    seq_num: uint64
    sending_time: uint64
    received_ns: uint64
    stale_reason: str
    bids: sequence[BookLevel]
    offers: sequence[BookLevel]


@dataclass
@final
@keylist(["source", "channel", "instrument"])
class Trade(IdlStruct, typename="tickwire.Trade"):
    source: str
    channel: str
    instrument: str
    seq_num: uint64
    sending_time: uint64
    received_ns: uint64
    exchange_date: uint64
    has_exchange_time: bool
    exchange_time: uint64
    action: str
    has_price: bool
    price: Decimal
    has_size: bool
    size: Decimal
    id: str
    aggressor: str
    conditions: str


@dataclass
@final
@keylist(["source", "channel", "instrument"])
class Status(IdlStruct, typename="tickwire.Status"):
    source: str
    channel: str
    instrument: str
    seq_num: uint64
    sending_time: uint64
    received_ns: uint64
    code: uint64
    may_cross: bool


@dataclass
@final
@keylist(["source", "channel", "instrument"])
class Definition(IdlStruct, typename="tickwire.Definition"):
    source: str
    channel: str
    instrument: str
    seq_num: uint64
    sending_time: uint64
    received_ns: uint64
    symbol: str
    has_tick: bool
    tick: Decimal
    expiry: str


@dataclass
@final
class Done(IdlStruct, typename="MiddlewareNewsBrief.Done"):
    samples: uint64


LOOPBACK = """<CycloneDDS><Domain Id="any"><General><Interfaces>
<NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces>
<AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex>
<MaxAutoParticipantIndex>31</MaxAutoParticipantIndex>
<Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""


SAMPLES = (BookTop, Book, Trade, Status, Definition)


def main(domain_id):
    domain = Domain(domain_id, LOOPBACK)
    participant = DomainParticipant(domain_id)
    last = [Policy.Reliability.Reliable(duration(seconds=1)), Policy.Durability.TransientLocal]
    qos = Qos(*last, Policy.History.KeepAll)
    # Done is last: the publisher takes its reader for a complete subscriber.
    readers = {
        kind: DataReader(participant, Topic(participant, kind.__name__, kind), qos=qos)
        for kind in (*SAMPLES, Done)
    }
    until = time.monotonic() + 60
    is_done = False
    while time.monotonic() < until:
        count = 0
        for kind in SAMPLES:
            for sample in readers[kind].take(1024):
                count += 1
                # Invalid samples report that an instance has no writer any more.
                if isinstance(sample, kind):
                    print(json.dumps({"topic": kind.__name__, **asdict(sample)}))
        if count == 0:
            if is_done:
                break
            time.sleep(0.01)
            # Checked last: earlier samples are taken in the next iteration.
            is_done = any(isinstance(done, Done) for done in readers[Done].take(8))
    sys.stdout.flush()
    del domain


main(int(sys.argv[1]))
