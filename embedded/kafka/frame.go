package kafka

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kversion"
)

// maxFrameBytes bounds one request: 100 MiB, the default of Apache Kafka's
// socket.request.max.bytes.
const maxFrameBytes = 100 << 20

const (
	lengthBytes = 4
	// headerBytes is the size of the fields that begin every request header in all versions: api
	// key, api version, correlation id.
	headerBytes = 2 + 2 + correlationBytes
	// correlationBytes is the size of the correlation id, which the answer repeats.
	correlationBytes = 4
)

var (
	errFrameTooLong  = errors.New("frame is longer than the limit")
	errFrameTooShort = errors.New("frame is shorter than a request header")
	errUnknownKey    = errors.New("unknown api key")
	errBadVersion    = errors.New("version out of range")
	errUnreadable    = errors.New("request cannot be decoded")
)

// frameHead is the part of a request that parseFrameHead checks.
type frameHead struct {
	length  uint32
	key     int16
	version int16
}

// parseFrameHead reads the first 8 bytes of a request: length, api key and version. It returns an
// error if the broker must not get the request: kfake allocates as many bytes as the length says
// without a check, and an unknown key makes kfake panic, which ends this process.
func parseFrameHead(b [lengthBytes + 4]byte, maxFrame uint32) (frameHead, error) {
	head := frameHead{
		length:  binary.BigEndian.Uint32(b[:4]),
		key:     int16(binary.BigEndian.Uint16(b[4:6])),
		version: int16(binary.BigEndian.Uint16(b[6:8])),
	}
	switch {
	case head.length > maxFrame:
		return head, errFrameTooLong
	case head.length < headerBytes:
		return head, errFrameTooShort
	}
	highest, known := allowedRequests[head.key]
	if !known {
		return head, errUnknownKey
	}
	// ApiVersions may come in any version: the broker answers with the versions that it knows.
	if head.version < 0 || (head.version > highest && head.key != keyAPIVersions) {
		return head, errBadVersion
	}
	return head, nil
}

// Keys of requests, as https://kafka.apache.org/protocol numbers them.
const (
	keyProduce                 int16 = 0
	keyFetch                   int16 = 1
	keyOffsetCommit            int16 = 8
	keyInitProducerID          int16 = 22
	keyDeleteGroups            int16 = 42
	keyOffsetDelete            int16 = 47
	keyCreateTopics            int16 = 19
	keyDeleteTopics            int16 = 20
	keyAPIVersions             int16 = 18
	keyIncrementalAlterConfigs int16 = 44
)

// allowedRequests has the requests that reach the broker, each with its highest allowed version:
// what clients need to produce, consume, commit and administer topics. ApiVersions announces only
// these, and any other key is answered with UNSUPPORTED_VERSION. Transactions, share groups,
// quotas, access control and cluster administration are left out on purpose: Mintlake does not use
// them, and each is code that bytes from outside would reach. DeleteRecords is left out because the
// new start of a partition is not on disk: a restart undoes it, or takes the log for damaged.
var allowedRequests = map[int16]int16{
	keyProduce:      12, // version 13 has topic IDs, but the guard needs the names
	keyFetch:        18,
	2:               10, // ListOffsets
	3:               13, // Metadata
	keyOffsetCommit: 10,
	9:               10, // OffsetFetch
	10:              6,  // FindCoordinator
	11:              9,  // JoinGroup
	12:              4,  // Heartbeat
	13:              5,  // LeaveGroup
	14:              5,  // SyncGroup
	15:              6,  // DescribeGroups
	16:              5,  // ListGroups
	keyAPIVersions:  4,
	// From version 5 on the broker answers with settings of source -1, which kafka-python refuses.
	keyCreateTopics:            4,
	keyDeleteTopics:            6,
	keyInitProducerID:          5, // idempotent producers of other clients
	23:                         4, // OffsetForLeaderEpoch
	32:                         4, // DescribeConfigs
	35:                         5, // DescribeLogDirs
	keyDeleteGroups:            2,
	keyIncrementalAlterConfigs: 1,
	keyOffsetDelete:            0,
	60:                         2, // DescribeCluster
	75:                         0, // DescribeTopicPartitions
}

// allowedVersions returns allowedRequests in the form of kfake, which announces them in
// ApiVersions. Clients use what is announced: librdkafka, for example, sends
// GetTelemetrySubscriptions if that is announced.
func allowedVersions() *kversion.Versions {
	versions := new(kversion.Versions)
	for key, highest := range allowedRequests {
		versions.SetMaxKeyVersion(key, highest)
	}
	return versions
}
