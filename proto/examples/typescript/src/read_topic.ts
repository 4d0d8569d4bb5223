// Prints the token events of chain.token-events.v1 from the first one on, a line of JSON each.
//
//   node dist/read_topic.js BROKER [COUNT]     COUNT: end after so many records of each partition
import { randomUUID } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import bs58 from "bs58";
import { decompress } from "fzstd";
import kafkajs from "kafkajs";
import { TokenEventSchema } from "./gen/mintlake/events/v1/events_pb.js";

const TOPIC = "chain.token-events.v1";
const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs;

// Mintlake compresses with zstd by default, and kafkajs leaves that to its users.
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async () => {
    throw new Error("this program only reads");
  },
  decompress: async (data: Buffer) => Buffer.from(decompress(data)),
});

const [broker, count] = process.argv.slice(2);
if (broker === undefined) {
  console.error("usage: read_topic BROKER [COUNT]");
  process.exit(2);
}
const limit = count === undefined ? Infinity : Number(count);

const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.ERROR });
const admin = kafka.admin();
await admin.connect();
const left = new Map<number, number>();
for (const { partition, high } of await admin.fetchTopicOffsets(TOPIC)) {
  left.set(partition, Math.min(limit, limit === Infinity ? limit : Number(high)));
}

// A new name: every run begins at the first record. To go on where it ended, a reader keeps its name.
const groupId = `read-topic-${randomUUID()}`;
const consumer = kafka.consumer({ groupId });
await consumer.connect();
await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
const done = new Promise<void>((resolve) => {
  const check = () => [...left.values()].every((n) => n === 0) && resolve();
  check();
  void consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      const wanted = left.get(partition) ?? 0;
      if (wanted === 0 || message.value === null) return;
      const event = fromBinary(TokenEventSchema, message.value);
      console.log(
        JSON.stringify({
          partition,
          offset: Number(message.offset),
          slot: Number(event.position?.slot ?? 0n),
          mint: message.key?.toString(),
          kind: (event.payload.case ?? "").replace(/[A-Z]/g, (c) => "_" + c.toLowerCase()),
          signature: bs58.encode(event.signature),
        }),
      );
      left.set(partition, wanted - 1);
      check();
    },
  });
});
await done;
await consumer.disconnect();
await admin.deleteGroups([groupId]);
await admin.disconnect();
