// Package kafka runs a Kafka-protocol broker inside this process, so that a single machine needs no
// Kafka of its own.
//
// In: a data folder that belongs to this broker alone, and a loopback address. Out: the address of
// one broker that speaks the Kafka protocol; for clients it is a cluster of one node. Guarantees:
// records and committed offsets are on disk (fsync) before they are acknowledged, so a kill of the
// process loses none. A topic is only created on request, and says how long it keeps its records: a
// topic that lacks retention.ms or retention.bytes, or asks for compaction, is refused. One process
// owns the folder at a time. Only this machine can reach the broker. kfake gets no request whose
// length, kind or version it cannot handle.
//
// The broker is kfake of the franz-go project (third_party/kfake), which was written for tests.
// This package adds what a broker needs that keeps data: the guard in front of the listener
// (guard.go), the rules for topics (policy.go), the ownership of the folder (datadir.go), syncs
// (durable.go), the check of the log (segments) and retention that also runs after a restart
// (broker.go). It is not a replicated log: the disk has the only copy.
package kafka
