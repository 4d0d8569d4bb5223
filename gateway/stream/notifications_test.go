package stream

import (
	"encoding/json"
	"os"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/txwire"
)

// TestNotificationsForSolders writes notifications to the file that MINTLAKE_NOTIFICATIONS names,
// for tools/clients/notifications: all vectors of version 1 and some transactions of the rewritten
// blocks, in all shapes that Rust has types for.
func TestNotificationsForSolders(t *testing.T) {
	path := os.Getenv("MINTLAKE_NOTIFICATIONS")
	if path == "" {
		t.Skip("MINTLAKE_NOTIFICATIONS names no file")
	}
	var list []*pb.SubscribeUpdateTransaction
	for _, v := range vectors(t, "valid") {
		list = append(list, v.update)
	}
	for _, slot := range rewritten {
		for i, m := range geyserBlock(t, slot) {
			if i%8 == 0 {
				list = append(list, m)
			}
		}
	}
	file, err := os.Create(path)
	require.NoError(t, err)
	out := json.NewEncoder(file)
	for _, tx := range parsed(t, list) {
		parts := tx.split()
		wire, _, err := appendWire(nil, parts.tx)
		require.NoError(t, err)
		for _, s := range []shape{{"base58", "full"}, {"base64", "full"}, {"json", "full"}, {"jsonParsed", "full"}, {"base64", "accounts"}} {
			if s.encoding == "base58" && tx.version > txwire.V0 {
				continue // refused
			}
			result, err := tx.notification(s)
			require.NoError(t, err)
			var message []byte
			for _, part := range [][]byte{notificationHead, []byte("1"), notificationMiddle, result, notificationTail} {
				message = append(message, part...)
			}
			require.NoError(t, out.Encode(map[string]any{
				"encoding": s.encoding, "details": s.details, "version": tx.version.String(), "bytes": wire, "message": json.RawMessage(message),
			}))
		}
	}
	require.NoError(t, file.Close())
}
