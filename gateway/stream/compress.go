package stream

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress, and ask for it

	"github.com/mintlake/mintlake/internal/yellowstone"
)

// compressFor chooses how a call's answers are compressed. By itself gRPC answers as the client
// sends. Most clients send plain requests, and say in grpc-accept-encoding what they want.
//
// Whoever names zstd has asked for it. gzip alone was asked for, too; gzip beside deflate is what
// gRPC's C core and grpc-js always name, and says nothing.
func compressFor(ctx context.Context) {
	accepted, err := grpc.ClientSupportedCompressors(ctx)
	if err != nil {
		return // it is no call of gRPC's
	}
	for i := range accepted {
		accepted[i] = strings.TrimSpace(accepted[i])
	}
	// What SetSendCompressor refuses is answered as gRPC does by itself.
	switch {
	case slices.Contains(accepted, yellowstone.Zstd):
		_ = grpc.SetSendCompressor(ctx, yellowstone.Zstd)
	case slices.Contains(accepted, "gzip") && !slices.Contains(accepted, "deflate"):
		_ = grpc.SetSendCompressor(ctx, "gzip")
	}
}
