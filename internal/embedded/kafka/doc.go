// Package kafka runs a Kafka-protocol broker inside this process, so that a single machine needs no
// Kafka of its own.
//
// In: a data folder that belongs to this broker alone, and a loopback address.
// Out: the address of one broker that speaks the Kafka protocol; clients talk to it as to any
// cluster of one node.
// Guarantees: a record is on disk (fsync) before it is acknowledged, so a kill of the process loses
// none; committed offsets likewise. Topics are never created by accident, and each one says how
// long it keeps its records: a topic without retention.ms and retention.bytes, or with compaction,
// is refused. One process owns the folder at a time. Nothing but loopback can reach it, and no
// request that the broker cannot parse reaches it.
//
// The broker is kfake of the franz-go project. It was written for tests; what makes it fit for
// keeping data is in this package: the guard in front of the listener (guard.go), the rules for
// topics (policy.go), the ownership of the folder (datadir.go) and retention that also runs after a
// restart (broker.go). It is not a replicated log: the disk is the only copy.
package kafka
