// Package livekeys gives tests keys that can be issued, changed and revoked, without a Kafka.
//
// In: nothing. Out: a keys.Live that runs until the test ends, and the issuer of its keys.
package livekeys

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/keystest"
)

// Start runs a keys.Live without keys until the test ends. It returns the Live once it is loaded,
// and the issuer of its keys.
func Start(t testing.TB) (*keys.Live, *keys.Issuer) {
	t.Helper()
	topic := keystest.New()
	live, err := keys.NewLive(keys.Deps{Offsets: topic, OpenTail: func(_ []string, start map[kafka.TopicPartition]int64) (keys.Tailer, error) {
		return topic.Tail(start), nil
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- live.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-live.Loaded()
	return live, keys.NewIssuer(live, nil, topic)
}
