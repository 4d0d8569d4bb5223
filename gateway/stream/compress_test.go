package stream

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// wire counts what a client receives, before and after decompression, and how it is compressed.
type wire struct {
	received, bytes atomic.Int64
	encoding        atomic.Value
}

func (w *wire) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (w *wire) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (w *wire) HandleConn(context.Context, stats.ConnStats)                       {}

func (w *wire) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.InHeader:
		w.encoding.Store(s.Compression)
	case *stats.InPayload:
		w.received.Add(int64(s.CompressedLength))
		w.bytes.Add(int64(s.Length))
	}
}

// TestGRPCIsCompressedForThoseWhoAsk: in the way that they send, or that they say they want.
// Clients of the C core name gzip and deflate in each call, and have asked for nothing.
func TestGRPCIsCompressedForThoseWhoAsk(t *testing.T) {
	f := start(t, Config{})
	long := strings.Repeat("Program log: the same again. ", 300)
	number := 0
	for name, c := range map[string]struct {
		want    string
		accepts []string
		also    string // what grpc-accept-encoding names besides
		sends   string
	}{
		"as the C core": {"", []string{"gzip"}, "identity, deflate", ""},
		"accepts zstd":  {"zstd", []string{"zstd"}, "identity, deflate", ""},
		"accepts both":  {"zstd", []string{"gzip", "zstd"}, "identity", ""},
		"accepts gzip":  {"gzip", []string{"gzip"}, "identity", ""},
		"sends gzip":    {"gzip", []string{"gzip"}, "identity, deflate", "gzip"},
		"sends zstd":    {"zstd", []string{"zstd"}, "identity", "zstd"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &wire{}
			options := []grpc.CallOption{experimental.AcceptCompressors(c.accepts...)}
			if c.sends != "" {
				options = append(options, grpc.UseCompressor(c.sends))
			}
			client := f.grpcClient(t, grpc.WithStatsHandler(seen), grpc.WithDefaultCallOptions(options...))
			stream, err := client.Subscribe(metadata.AppendToOutgoingContext(f.context(t), "grpc-accept-encoding", c.also))
			require.NoError(t, err)
			f.setFilters(t, stream, filters{"one": {AccountInclude: []string{text(1)}}})
			received, bytes := seen.received.Load(), seen.bytes.Load()
			number++
			f.publish(tx{number: number, keys: []byte{1}, log: long})
			update, err := stream.Recv()
			require.NoError(t, err)
			require.Equal(t, long, update.GetTransaction().Transaction.Meta.LogMessages[0])
			require.Equal(t, c.want, seen.encoding.Load())
			received, bytes = seen.received.Load()-received, seen.bytes.Load()-bytes
			require.Greater(t, bytes, int64(len(long)))
			if c.want == "" {
				require.Equal(t, bytes, received)
			} else {
				require.Less(t, received, bytes/5, "compressed on the wire")
			}
		})
	}
}

// TestACompressedRequestThatGrowsIsRefused: gRPC stops at the largest message, whatever the bytes
// on the wire were.
func TestACompressedRequestThatGrowsIsRefused(t *testing.T) {
	f := start(t, Config{})
	for _, name := range []string{"gzip", "zstd"} {
		client := f.grpcClient(t, grpc.WithDefaultCallOptions(grpc.UseCompressor(name)))
		stream, err := client.Subscribe(f.context(t))
		require.NoError(t, err)
		require.NoError(t, stream.Send(&pb.SubscribeRequest{Transactions: filters{strings.Repeat("n", maxRequestBytes+1): {}}}))
		_, err = stream.Recv()
		require.Equal(t, codes.ResourceExhausted, status.Code(err), name)
		require.ErrorContains(t, err, "larger than max", name)
	}
}

// grpcClient is a client with options of its own.
func (f *fixture) grpcClient(t *testing.T, options ...grpc.DialOption) pb.GeyserClient {
	t.Helper()
	conn, err := grpc.NewClient(f.Addr(), append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return pb.NewGeyserClient(conn)
}

// context is that of a call with the key.
func (f *fixture) context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "x-token", f.key)
}
