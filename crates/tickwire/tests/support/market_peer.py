"""Reads BookTop and Trade samples with the Python package cyclonedds and prints them as lines of JSON.

Usage: market_peer.py DOMAIN
"""

import json
import sys
import time
from dataclasses import dataclass
from decimal import Decimal as Exact

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final, keylist
from cyclonedds.idl.types import int32, int64, uint32, uint64
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
class Done(IdlStruct, typename="MiddlewareNewsBrief.Done"):
    samples: uint64


LOOPBACK = """<CycloneDDS><Domain Id="any"><General><Interfaces>
<NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces>
<AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex>
<MaxAutoParticipantIndex>31</MaxAutoParticipantIndex>
<Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""


def exact(number):
    return format(Exact(number.mantissa).scaleb(number.exponent).normalize(), "f")


def level(has, at):
    return [exact(at.price), exact(at.size), at.orders or None] if has else None


def show(sample):
    if isinstance(sample, BookTop):
        return {
            "time": sample.received_ns,
            "instrument": sample.instrument,
            "state": "stale" if sample.stale_reason else "fresh",
            "reason": sample.stale_reason or None,
            "kind": sample.kind,
            "bid": level(sample.has_bid, sample.bid),
            "offer": level(sample.has_offer, sample.offer),
        }
    return {
        "event": "trade",
        "time": sample.received_ns,
        "instrument": sample.instrument,
        "action": sample.action,
        "price": exact(sample.price) if sample.has_price else None,
        "size": exact(sample.size) if sample.has_size else None,
        "exchange_date": sample.exchange_date or None,
        "exchange_time": sample.exchange_time if sample.has_exchange_time else None,
        "id": sample.id or None,
        "aggressor": sample.aggressor or None,
        "conditions": sample.conditions or None,
    }


def main(domain_id):
    domain = Domain(domain_id, LOOPBACK)
    participant = DomainParticipant(domain_id)
    last = [Policy.Reliability.Reliable(duration(seconds=1)), Policy.Durability.TransientLocal]
    qos = Qos(*last, Policy.History.KeepAll)
    # Readers of all topics for which the publisher waits.
    readers = {
        name: DataReader(participant, Topic(participant, name, kind), qos=qos)
        for name, kind in [("BookTop", BookTop), ("Trade", Trade), ("Done", Done)]
    }
    until = time.monotonic() + 60
    is_done = False
    while time.monotonic() < until:
        count = 0
        for name in ("BookTop", "Trade"):
            for sample in readers[name].take(1024):
                count += 1
                # Invalid samples report that an instance has no writer any more.
                if isinstance(sample, (BookTop, Trade)):
                    print(json.dumps(show(sample)))
        if count == 0:
            if is_done:
                break
            time.sleep(0.01)
            # Checked last: earlier samples are taken in the next iteration.
            is_done = any(isinstance(done, Done) for done in readers["Done"].take(8))
    sys.stdout.flush()
    del domain


main(int(sys.argv[1]))
