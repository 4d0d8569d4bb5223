"""confluent-kafka (librdkafka) with its defaults: admin, producer, consumer. Fails at any error that librdkafka reports."""

import sys
import time
import uuid

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

BROKER = sys.argv[1]
TOPIC = "clients.confluent." + uuid.uuid4().hex
GROUP = TOPIC + ".group"
COUNT = 100
COMPRESSIONS = ["none", "gzip", "snappy", "lz4", "zstd"]
problems = []


def settings(**more):
    # Telemetry (enable.metrics.push) is on, as it is by default.
    return {"bootstrap.servers": BROKER, "error_cb": lambda error: problems.append(str(error)), **more}


def produce():
    for compression in COMPRESSIONS:
        producer = Producer(settings(**{"compression.type": compression, "enable.idempotence": compression == "zstd"}))
        for i in range(COUNT):
            producer.produce(TOPIC, key=str(i), value=f"{compression} {i}".encode() * 20, on_delivery=delivered)
        assert producer.flush(60) == 0, "records were not acknowledged"


def delivered(error, message):
    if error is not None:
        problems.append(f"produce: {error}")


def consume():
    consumer = Consumer(settings(**{"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False}))
    consumer.subscribe([TOPIC])
    values = set()
    end = time.monotonic() + 60
    while len(values) < COUNT * len(COMPRESSIONS) and time.monotonic() < end:
        message = consumer.poll(1)
        if message is None:
            continue
        assert message.error() is None, message.error()
        values.add(message.value())
    assert len(values) == COUNT * len(COMPRESSIONS), f"{len(values)} records of {COUNT * len(COMPRESSIONS)}"
    consumer.commit(asynchronous=False)
    low, high = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=30)
    assert low == 0 and high > 0, (low, high)
    # Some seconds of nothing: telemetry, heartbeats and idle fetches must not lose the connection either.
    until = time.monotonic() + 6
    while time.monotonic() < until:
        assert consumer.poll(1) is None
    consumer.close()


def main():
    admin = AdminClient(settings())
    config = {"retention.ms": "3600000", "retention.bytes": "-1"}
    admin.create_topics([NewTopic(TOPIC, num_partitions=3, replication_factor=1, config=config)])[TOPIC].result(60)
    try:
        assert len(admin.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions) == 3
        resource = ConfigResource(ResourceType.TOPIC, TOPIC)
        assert admin.describe_configs([resource])[resource].result(60)["retention.ms"].value == "3600000"
        produce()
        consume()
        partition = TopicPartition(TOPIC, 0)
        assert admin.list_offsets({partition: OffsetSpec.latest()})[partition].result(60).offset > 0
        assert GROUP in {group.group_id for group in admin.list_consumer_groups().result(60).valid}
        admin.delete_consumer_groups([GROUP])[GROUP].result(60)
        # What the embedded broker does not serve is an error at once, and no lost connection.
        try:
            admin.describe_user_scram_credentials(["nobody"])["nobody"].result(60)
            problems.append("SCRAM users were described")
        except Exception as error:  # noqa: BLE001
            code = error.args[0].code()
            if code not in (KafkaError._UNSUPPORTED_FEATURE, KafkaError.UNSUPPORTED_VERSION):
                problems.append(f"SCRAM users: {error}")
    finally:
        admin.delete_topics([TOPIC])[TOPIC].result(60)
    assert not problems, problems


main()
