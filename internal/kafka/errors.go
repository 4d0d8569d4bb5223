package kafka

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Retryable reports whether the same request may succeed later without anyone changing anything. It
// decides by error code and type, never by text, and it is the only place that decides. Unknown
// errors are permanent: it is better to stop and be noticed than to retry for ever.
//
// The codes are those marked retriable in https://kafka.apache.org/protocol#protocol_error_codes,
// and those that mean "this member must join its group again". UNKNOWN_SERVER_ERROR is added: the
// embedded broker answers it if a write failed, for example because the disk is full, and kafka-go
// returns it in place of a network error when it splits one ListOffsets into several.
func Retryable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var security *SecurityError
	if errors.As(err, &security) {
		return false // somebody must change a setting
	}
	var credentials *CredentialsError
	if errors.As(err, &credentials) {
		return credentials.Transient
	}
	var code kafkago.Error
	if errors.As(err, &code) {
		return retryableCode(code) || groupCode(code)
	}
	// The client's metadata is older than the topic, or the partition's leader is being elected.
	if errors.Is(err, protocol.ErrNoTopic) || errors.Is(err, protocol.ErrNoPartition) || errors.Is(err, protocol.ErrNoLeader) {
		return true
	}
	return networkError(err)
}

func networkError(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.ErrNoProgress) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func retryableCode(code kafkago.Error) bool {
	switch code {
	case kafkago.Unknown,
		kafkago.InvalidMessage, // a batch damaged on the way
		kafkago.UnknownTopicOrPartition,
		kafkago.LeaderNotAvailable,
		kafkago.NotLeaderForPartition,
		kafkago.RequestTimedOut,
		kafkago.BrokerNotAvailable,
		kafkago.ReplicaNotAvailable,
		kafkago.NetworkException,
		kafkago.GroupLoadInProgress,
		kafkago.GroupCoordinatorNotAvailable,
		kafkago.NotCoordinatorForGroup,
		kafkago.NotEnoughReplicas,
		kafkago.NotEnoughReplicasAfterAppend,
		kafkago.NotController,
		kafkago.KafkaStorageError,
		kafkago.FencedLeaderEpoch,
		kafkago.UnknownLeaderEpoch,
		kafkago.OffsetNotAvailable,
		kafkago.PreferredLeaderNotAvailable,
		kafkago.UnstableOffsetCommit,
		kafkago.ThrottlingQuotaExceeded,
		kafkago.UnknownTopicID,
		kafkago.InconsistentTopicID,
		kafkago.FetchSessionIDNotFound,
		kafkago.InvalidFetchSessionEpoch:
		return true
	default:
		return false
	}
}

// groupCode reports whether the code means that a member of a consumer group must join again.
func groupCode(code kafkago.Error) bool {
	switch code {
	case kafkago.IllegalGeneration, kafkago.UnknownMemberId, kafkago.RebalanceInProgress, kafkago.MemberIDRequired:
		return true
	default:
		return false
	}
}

// mustRejoin reports whether err means that the member must join its group again.
func mustRejoin(err error) bool {
	var code kafkago.Error
	return errors.As(err, &code) && groupCode(code)
}

func isCode(err error, want kafkago.Error) bool {
	var code kafkago.Error
	return errors.As(err, &code) && code == want
}

// errorKind is the metric label of err.
func errorKind(err error) string {
	if Retryable(err) {
		return "retryable"
	}
	return "permanent"
}
