"""Prints the token events of chain.token-events.v1 from the first one on, a line of JSON each.

    python read_topic.py BROKER [COUNT]     COUNT: end after so many records of each partition
"""

import json
import sys
from pathlib import Path

import base58
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

sys.path.insert(0, str(Path(__file__).parent / "gen"))
from mintlake.events.v1 import events_pb2  # noqa: E402

TOPIC = "chain.token-events.v1"


def main(broker, count=None):
    # The group's name is needed and not used: partitions are assigned by hand, and no offset is committed.
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "read-topic", "enable.auto.commit": False})
    partitions = [TopicPartition(TOPIC, p, OFFSET_BEGINNING) for p in consumer.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions]
    left = {}
    for partition in partitions:
        _, high = consumer.get_watermark_offsets(partition, timeout=30)
        left[partition.partition] = min(count, high) if count is not None else -1
    consumer.assign(partitions)
    while any(left.values()):
        record = consumer.poll(1)
        if record is None:
            continue
        if record.error():
            raise SystemExit(str(record.error()))
        if left[record.partition()] == 0:
            continue
        left[record.partition()] -= 1
        event = events_pb2.TokenEvent.FromString(record.value())
        line = {
            "partition": record.partition(),
            "offset": record.offset(),
            "slot": event.position.slot,
            "mint": record.key().decode(),
            "kind": event.WhichOneof("payload") or "",
            "signature": base58.b58encode(event.signature).decode(),
        }
        print(json.dumps(line), flush=True)
    consumer.close()


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
