package stream

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress, and ask for it

	"github.com/mintlake/mintlake/solana/yellowstone"
)

// compressFor chooses how a call's responses are compressed. By default gRPC compresses them as the
// client compressed its request. Most clients send plain requests, and say in grpc-accept-encoding
// which compressions they accept.
//
// zstd is used if the client accepts it. gzip is used only if deflate is not accepted as well:
// gRPC's C core and grpc-js always send both, which does not mean that the client wants
// compression.
func compressFor(ctx context.Context) {
	accepted, err := grpc.ClientSupportedCompressors(ctx)
	if err != nil {
		return // ctx is not that of a gRPC call
	}
	for i := range accepted {
		accepted[i] = strings.TrimSpace(accepted[i])
	}
	// If SetSendCompressor fails, gRPC's default remains.
	switch {
	case slices.Contains(accepted, yellowstone.Zstd):
		_ = grpc.SetSendCompressor(ctx, yellowstone.Zstd)
	case slices.Contains(accepted, "gzip") && !slices.Contains(accepted, "deflate"):
		_ = grpc.SetSendCompressor(ctx, "gzip")
	}
}
