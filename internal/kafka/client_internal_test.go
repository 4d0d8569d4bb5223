package kafka

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
)

// TestOnlyTheFirstRejoinIsAtOnce: a coordinator that answers every join with "join again" is asked
// with longer and longer pauses.
func TestOnlyTheFirstRejoinIsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b rejoinBackoff
		waited := func(err error) time.Duration {
			began := time.Now()
			b.waitAfter(t.Context(), err)
			return time.Since(began)
		}
		require.Zero(t, waited(kafkago.UnknownMemberId))
		require.Equal(t, retryMin, waited(kafkago.UnknownMemberId))
		require.Equal(t, 2*retryMin, waited(kafkago.RebalanceInProgress))
		b.reset()
		require.Equal(t, retryMin, waited(errors.New("connection refused")))
		require.Equal(t, 2*retryMin, waited(kafkago.UnknownMemberId), "not at once after a wait")
		b.reset()
		require.Zero(t, waited(kafkago.UnknownMemberId))
	})
}
