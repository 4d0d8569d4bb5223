"""kafka-python with its defaults: admin, producer, consumer."""

import sys
import uuid

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

BROKER = sys.argv[1]
TOPIC = "clients.python." + uuid.uuid4().hex
GROUP = TOPIC + ".group"
COUNT = 100
COMPRESSIONS = [None, "gzip", "snappy", "lz4", "zstd"]


def produce():
    for compression in COMPRESSIONS:
        producer = KafkaProducer(bootstrap_servers=BROKER, compression_type=compression)
        sent = [producer.send(TOPIC, key=str(i).encode(), value=f"{compression} {i}".encode() * 20) for i in range(COUNT)]
        for future in sent:
            future.get(timeout=60)
        producer.close()


def consume():
    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=BROKER, group_id=GROUP, auto_offset_reset="earliest", consumer_timeout_ms=30_000
    )
    values = set()
    for record in consumer:
        values.add(record.value)
        if len(values) == COUNT * len(COMPRESSIONS):
            break
    assert len(values) == COUNT * len(COMPRESSIONS), f"{len(values)} records of {COUNT * len(COMPRESSIONS)}"
    consumer.commit()
    partitions = [TopicPartition(TOPIC, p) for p in consumer.partitions_for_topic(TOPIC)]
    assert sum(consumer.end_offsets(partitions).values()) == COUNT * len(COMPRESSIONS)
    assert sum(consumer.committed(p) for p in partitions) == COUNT * len(COMPRESSIONS)
    consumer.close()


def main():
    admin = KafkaAdminClient(bootstrap_servers=BROKER)
    admin.create_topics(
        [NewTopic(TOPIC, num_partitions=3, replication_factor=1, topic_configs={"retention.ms": "3600000", "retention.bytes": "-1"})]
    )
    try:
        produce()
        consume()
    finally:
        admin.delete_topics([TOPIC])
        admin.close()


main()
