package stream

import (
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// TestUpdateIsTheMessage: an update is put together of parts, one of which all subscribers share.
func TestUpdateIsTheMessage(t *testing.T) {
	message := tx{number: 1, slot: 9, keys: []byte{1}}.message()
	raw, err := proto.Marshal(message)
	require.NoError(t, err)
	for _, at := range []time.Time{{}, time.Unix(1_700_000_000, 0), time.UnixMilli(1_700_000_000_123), time.Unix(1<<33, 999_999_999)} {
		want := &pb.SubscribeUpdate{Filters: []string{"one", ""}, UpdateOneof: &pb.SubscribeUpdate_Transaction{Transaction: message}}
		if !at.IsZero() {
			want.CreatedAt = timestamppb.New(at)
		}
		parsed, err := parseTransaction(raw, 0, at)
		require.NoError(t, err)
		d := delivery{tx: parsed, wants: []*entry{newEntry(nil, namedFilter{"one", &filter{}}, nil), newEntry(nil, namedFilter{"", &filter{}}, nil)}}
		got := &pb.SubscribeUpdate{}
		require.NoError(t, proto.Unmarshal(parsed.update(d.names(false)).Materialize(), got))
		require.True(t, proto.Equal(want, got), got)
	}
}
