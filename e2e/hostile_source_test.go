package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
)

// updates are messages of a Geyser server that is broken or hostile.
func updates() [][]byte {
	field := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	const block, slot, transactions = 5, 3, 6 // fields of SubscribeUpdate, and of its block
	deep := []byte{}
	for len(deep) < 200<<10 {
		deep = field(1, deep)
	}
	random := make([]byte, 64<<10)
	_, _ = rand.Read(random)
	liar := protowire.AppendVarint(protowire.AppendTag(nil, block, protowire.BytesType), math.MaxInt64)
	return [][]byte{
		{}, random, deep, liar,
		field(block, nil), field(block, random), field(block, deep), field(block, liar),
		field(block, bytes.Repeat(field(transactions, nil), 200_000)),
		field(block, bytes.Repeat(field(transactions, deep[:1000]), 1000)),
		field(block, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), math.MaxUint64)),
		field(slot, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), math.MaxUint64)),
		bytes.Repeat(field(1, []byte("filter")), 50_000),
		bytes.Repeat(protowire.AppendTag(nil, 100, protowire.StartGroupType), 100_000),
		make([]byte, 3<<20),
	}
}

// hostileGeyser answers every subscription with hostile messages. Each reconnection gets the next
// one.
func hostileGeyser(t *testing.T) (address string, subscriptions *atomic.Int64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	subscriptions = new(atomic.Int64)
	messages := updates()
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var request []byte
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
		method, _ := grpc.MethodFromServerStream(stream)
		if !strings.HasSuffix(method, "/Subscribe") {
			return stream.SendMsg(&messages[1])
		}
		n := int(subscriptions.Add(1)) - 1
		return stream.SendMsg(&messages[n%len(messages)]) // then it ends the stream
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), subscriptions
}

// TestHostileGeyser: whatever a Geyser server sends, the system goes on, says that the source is
// broken, and stores nothing of it.
func TestHostileGeyser(t *testing.T) {
	address, subscriptions := hostileGeyser(t)
	up := launch(t, t.TempDir(), "--source", "geyser+http://"+address)
	want := int64(most(3*len(updates()), 4))
	for deadline := time.Now().Add(hang); subscriptions.Load() < want; time.Sleep(100 * time.Millisecond) {
		require.False(t, exited(up), up.log())
		require.True(t, time.Now().Before(deadline), "%d subscriptions\n%s", subscriptions.Load(), up.log())
	}
	until(t, func() bool { code, _ := up.get("/tokens"); return code == http.StatusOK }, 100*time.Millisecond, "the API serves")
	require.Zero(t, up.status().Registry.Tokens)
	require.NotContains(t, up.log(), "panic")
	require.Less(t, up.peakMemory(), 3000, "MiB")
	require.Zero(t, up.stop(), up.log())
}

// TestHostileUpstream: an RPC server that answers with bombs ends no room; the gateway says that it
// is away.
func TestHostileUpstream(t *testing.T) {
	bomb := gzipBomb(t, 1<<30)
	deep := []byte(`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat(`{"a":`, 1<<20))
	var n atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch n.Add(1) % 4 {
		case 0:
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		case 1:
			_, _ = w.Write(deep)
		case 2:
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":null}`))
		default:
			_, _ = w.Write([]byte("\xff\xfe"))
		}
	}))
	t.Cleanup(upstream.Close)
	up := underAttack(t, 4000, "--rpc-upstream", upstream.URL)
	for range most(100, 12) {
		response, err := hostileClient.Post(up.addresses["rpc"], "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"getSlot"}`))
		require.NoError(t, err)
		response.Body.Close()
	}
}

// TestHostileFiles: files of a source that are broken, deep, or expand to gigabytes are refused by
// name, and the others are read.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	write("100.json.gz", gzipBomb(t, most(8, 2)<<30))
	write("101.json", []byte(strings.Repeat(`{"a":`, 1<<20)))
	write("102.json", []byte(strings.Repeat(`[`, 1<<20)))
	write("103.confirmedblock.pb", updates()[2])
	write("104.confirmedblock.pb", updates()[1])
	write("105.json", []byte(`{"result":{"transactions":[`+strings.Repeat(`{},`, 100_000)+`{}]}}`))
	write("106.geyser.zst", updates()[1])
	var cut bytes.Buffer
	z := gzip.NewWriter(&cut)
	_, err := z.Write([]byte(`{"blockTime":1,"transactions":[]`))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	write("107.json.gz", cut.Bytes()[:cut.Len()-6])
	up := launch(t, t.TempDir(), "--source", "file:"+demoBlocks(t), "--source", "file:"+dir)
	s := up.awaitDone()
	require.Equal(t, 8, s.Source.FailedInputs, up.log())
	for n := range 8 {
		require.Contains(t, up.log(), fmt.Sprintf("%d.", 100+n), "the log names the file")
	}
	require.Positive(t, s.Registry.Tokens, "the other files are read")
	require.Less(t, up.peakMemory(), 4000, "MiB")
	require.Zero(t, up.stop(), up.log())
}
